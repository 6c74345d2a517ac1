"""Streams as windows on tapes: static data, statistics and mini-batches of a window, and pooling for central training.

A stream's state is ``lo [C]`` and ``hi [C]``: client ``c`` has the samples ``lo[c] .. hi[c]-1`` of its tape, so that
``hi`` counts all that it has seen. Streams differ in the rule that moves the window (:meth:`Window.arrive`) and in
where it starts; everything else is here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from fedradio.core.contracts import Batches, Clock, Fetch, Law, Picks, Slots, Stream, Tapes, TestSet
from fedradio.core.registry import register
from fedradio.core.rng import Rng
from fedradio.data.draw import Ints, Segments, draw_epochs


@register("stream", "static")
def static(tapes: Tapes, rng: Rng, /) -> Stream:
    """Static data sets: all samples are available from the start and never change."""
    return Window(tapes)


class Window:
    """A :class:`Stream` of one window per tape; here the window is the whole tape, for ever."""

    def __init__(self, tapes: Tapes) -> None:
        self.clients = tapes.clients
        self.shape = tapes.shape
        self.classes = tapes.classes
        self.target = tapes.target
        self.sample_bits = tapes.sample_bits
        self.tapes = tapes
        labelled = tapes.labelled.cpu().numpy()
        index = tapes.index.cpu().numpy()
        self._offset: Ints = tapes.offset.cpu().numpy()
        # labelled samples before each position of the tapes: those of a window are a contiguous segment of `_labelled`
        self._before: Ints = np.concatenate([[0], np.cumsum(labelled)])
        self._labelled: Ints = index[labelled] if labelled.any() else index[:1]
        self._unlabelled: Ints = index[~labelled] if not labelled.all() else index[:1]
        self._labels: Ints = tapes.class_numbers.cpu().numpy()[labelled]
        self._counted: tuple[Slots, Slots] | None = None

    def start(self) -> Slots:
        size = self.tapes.offset.diff()
        return {"lo": torch.zeros_like(size), "hi": size}

    def lasts(self, rounds: int, exchanges: int = 1) -> str:
        return ""

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        return state

    def stats(self, state: Slots) -> Slots:
        """Sizes and label counts of every window; kept while the state is the same object, as of static data."""
        if self._counted is None or self._counted[0] is not state:
            self._counted = state, self._count(state)
        return self._counted[1]

    def _count(self, state: Slots) -> Slots:
        start, end = self._window(state)
        first, last = self._before[start], self._before[end]
        size = last - first
        owner = np.repeat(np.arange(self.clients), size)
        place = np.arange(len(owner)) + np.repeat(first - (np.cumsum(size) - size), size)
        bins = self.clients * self.classes
        counts = np.bincount(owner * self.classes + self._labels[place], minlength=bins)
        return {
            "samples": self._tensor(end - start),
            "seen": state["hi"],
            "labelled": self._tensor(size),
            "label_counts": self._tensor(counts.reshape(self.clients, self.classes)),
        }

    def draw(
        self, state: Slots, clients: Tensor, updates: Tensor, batch: int, rng: Rng, unlabelled_batch: int = 0
    ) -> Batches:
        start, end = self._window(state)
        first, last = self._before[start], self._before[end]
        ids, counts = clients.cpu().numpy(), updates.cpu().numpy()
        labelled = draw_epochs(Segments(self._labelled, first, last - first), ids, counts, batch, rng)
        if unlabelled_batch == 0:
            return Batches(self._picks(labelled), None, self.tapes.fetch)
        segments = Segments(self._unlabelled, start - first, (end - start) - (last - first))
        unlabelled = draw_epochs(segments, ids, counts, unlabelled_batch, rng.child("unlabelled"))
        return Batches(self._picks(labelled), self._picks(unlabelled), self.tapes.fetch)

    def test(self) -> TestSet:
        return self.tapes.test

    def validation(self) -> TestSet | None:
        return self.tapes.validation

    def reference(self, state: Slots) -> dict[str, float]:
        return dict(self.tapes.reference)

    @property
    def law(self) -> Law | None:
        return self.tapes.law

    @property
    def fetch(self) -> Fetch:
        return self.tapes.fetch

    @property
    def request_rate(self) -> Tensor:
        """Probabilities ``[C]`` to use a slot: 0, nothing arrives."""
        return torch.zeros(self.clients, dtype=torch.float64)

    def chances_at(self, clock: Clock) -> Tensor:
        return torch.zeros(self.clients, dtype=torch.int64)

    def ahead(self, state: Slots) -> Tensor:
        place = state["hi"].cpu().numpy()
        there = place < np.diff(self._offset)
        numbers = self.tapes.index.cpu().numpy()[self._offset[:-1] + np.where(there, place, 0)]
        return torch.from_numpy(np.where(there, numbers, -1))

    def asked(self, before: Slots, after: Slots) -> list[Tensor]:
        first, last = before["hi"].cpu().numpy(), after["hi"].cpu().numpy()
        index = self.tapes.index.cpu()
        return [index[start + torch.arange(a, b)] for start, a, b in zip(self._offset[:-1], first, last, strict=True)]

    def _window(self, state: Slots) -> tuple[Ints, Ints]:
        """Start and end of every window on the concatenated tapes, ``[C]`` each."""
        return self._offset[:-1] + state["lo"].cpu().numpy(), self._offset[:-1] + state["hi"].cpu().numpy()

    def _tensor(self, values: Ints) -> Tensor:
        return torch.from_numpy(values).to(self.tapes.index.device)

    def _picks(self, batches: tuple[Ints, Ints]) -> Picks:
        index, count = batches
        return Picks(self._tensor(index), self._tensor(count))


def arrivals_rng(run: Rng, clock: Clock) -> Rng:
    """Randomness of the samples that arrive before an edge round."""
    return run.child("arrive", clock.t, clock.e)


class Pooled:
    """The union of all clients' data as a single client's stream, for central training.

    Its round lasts as long as ``exchanges`` edge rounds, and as many arrivals come before it, drawn from ``run``.
    """

    def __init__(self, stream: Stream, run: Rng, exchanges: int = 1) -> None:
        self.run = run
        self.exchanges = exchanges
        self.clients = 1
        self.shape = stream.shape
        self.classes = stream.classes
        self.target = stream.target
        self.sample_bits = stream.sample_bits
        self.stream = stream
        self._counted: tuple[Slots, Slots] | None = None

    def start(self) -> Slots:
        return self.stream.start()

    def lasts(self, rounds: int, exchanges: int = 1) -> str:
        return self.stream.lasts(rounds, exchanges * self.exchanges)

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        for e in range(self.exchanges):
            within = Clock(clock.t, e, clock.t * self.exchanges + e, clock.now_s)
            state = self.stream.arrive(state, within, arrivals_rng(self.run, within))
        return state

    def stats(self, state: Slots) -> Slots:
        """Sums over all clients, kept as theirs are."""
        each = self.stream.stats(state)
        if self._counted is None or self._counted[0] is not each:
            self._counted = each, {name: values.sum(dim=0, keepdim=True) for name, values in each.items()}
        return self._counted[1]

    def draw(
        self, state: Slots, clients: Tensor, updates: Tensor, batch: int, rng: Rng, unlabelled_batch: int = 0
    ) -> Batches:
        # one batch of the largest size holds all samples of a client
        whole = max(int(self.stream.stats(state)["samples"].max()), 1)
        members = torch.arange(self.stream.clients, device=clients.device)
        once = torch.ones_like(members)
        unlabelled_whole = whole if unlabelled_batch else 0
        batches = self.stream.draw(state, members, once, whole, rng.child("members"), unlabelled_whole)
        labelled = _union(batches.labelled, clients, updates, batch, rng)
        if batches.unlabelled is None:
            return Batches(labelled, None, batches.fetch)
        unlabelled = _union(batches.unlabelled, clients, updates, unlabelled_batch, rng.child("unlabelled"))
        return Batches(labelled, unlabelled, batches.fetch)

    def test(self) -> TestSet:
        """The test set of all clients, in the same evaluation groups, for the one pooled client."""
        return replace(self.stream.test(), per_client=False)

    def validation(self) -> TestSet | None:
        validation = self.stream.validation()
        return None if validation is None else replace(validation, group=torch.zeros_like(validation.group), groups=1)

    def reference(self, state: Slots) -> dict[str, float]:
        return self.stream.reference(state)


def _union(members: Picks, clients: Tensor, updates: Tensor, batch: int, rng: Rng) -> Picks:
    """Mini-batches from the union of all clients' samples, given as one whole batch per client, ``[C, 1, N]``."""
    real = torch.arange(members.index.shape[2], device=members.index.device) < members.count[:, :, None]
    samples = members.index[real]
    pool = (samples if len(samples) else members.index.flatten()[:1]).cpu().numpy()
    segment = Segments(pool, np.zeros(1, np.int64), np.array([len(samples)]))
    index, count = draw_epochs(segment, clients.cpu().numpy(), updates.cpu().numpy(), batch, rng)
    return Picks(torch.from_numpy(index).to(members.index.device), torch.from_numpy(count).to(members.index.device))

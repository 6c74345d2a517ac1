"""Windows on tapes: how samples arrive and how mini-batches are drawn from what is there.

A stream's state is ``lo [C]`` and ``hi [C]``: client ``c`` holds the samples ``lo[c] .. hi[c]-1`` of its tape, so that
``hi`` counts all that it has seen. Streams differ by the rule that moves the window (:meth:`Window.arrive`) and by
where it starts; the rest is here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from fedradio.core.contracts import Batches, Clock, Picks, Slots, Stream, Tapes, TestSet
from fedradio.core.registry import register
from fedradio.core.rng import Rng
from fedradio.data.draw import Ints, Runs, draw_epochs


@register("stream", "static")
def static(tapes: Tapes, rng: Rng, /) -> Stream:
    """All samples are there from the start and stay."""
    return Window(tapes)


class Window:
    """A :class:`Stream` that holds a window of every tape: here the whole tape, for ever."""

    def __init__(self, tapes: Tapes) -> None:
        self.clients = tapes.clients
        self.shape = tapes.shape
        self.classes = tapes.classes
        self.sample_bits = tapes.sample_bits
        self.tapes = tapes
        labelled = tapes.labelled.cpu().numpy()
        index = tapes.index.cpu().numpy()
        self._offset: Ints = tapes.offset.cpu().numpy()
        # the labelled samples before each place of the tapes: a window's labelled samples are a run of `_with`
        self._before: Ints = np.concatenate([[0], np.cumsum(labelled)])
        self._with: Ints = index[labelled] if labelled.any() else index[:1]
        self._without: Ints = index[~labelled] if not labelled.all() else index[:1]
        self._labels: Ints = tapes.label.cpu().numpy()[labelled]

    def start(self) -> Slots:
        size = self.tapes.offset.diff()
        return {"lo": torch.zeros_like(size), "hi": size}

    def lasts(self, rounds: int, exchanges: int = 1) -> str:
        return ""

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        return state

    def stats(self, state: Slots) -> Slots:
        begin, end = self._window(state)
        first, last = self._before[begin], self._before[end]
        size = last - first
        owner = np.repeat(np.arange(self.clients), size)
        place = np.arange(len(owner)) + np.repeat(first - (np.cumsum(size) - size), size)
        cells = self.clients * self.classes
        counts = np.bincount(owner * self.classes + self._labels[place], minlength=cells)
        return {
            "samples": self._tensor(end - begin),
            "seen": state["hi"],
            "labelled": self._tensor(size),
            "label_counts": self._tensor(counts.reshape(self.clients, self.classes)),
        }

    def draw(
        self, state: Slots, clients: Tensor, updates: Tensor, batch: int, rng: Rng, unlabelled_batch: int = 0
    ) -> Batches:
        begin, end = self._window(state)
        first, last = self._before[begin], self._before[end]
        who, often = clients.cpu().numpy(), updates.cpu().numpy()
        labelled = draw_epochs(Runs(self._with, first, last - first), who, often, batch, rng)
        if unlabelled_batch == 0:
            return Batches(self._picks(labelled), None, self.tapes.fetch)
        without = Runs(self._without, begin - first, (end - begin) - (last - first))
        unlabelled = draw_epochs(without, who, often, unlabelled_batch, rng.child("unlabelled"))
        return Batches(self._picks(labelled), self._picks(unlabelled), self.tapes.fetch)

    def test(self) -> TestSet:
        return self.tapes.test

    def validation(self) -> TestSet | None:
        return self.tapes.validation

    def reference(self, state: Slots) -> dict[str, float]:
        return dict(self.tapes.reference)

    def _window(self, state: Slots) -> tuple[Ints, Ints]:
        """Where the windows begin and end on the tapes laid end to end, ``[C]`` each."""
        return self._offset[:-1] + state["lo"].cpu().numpy(), self._offset[:-1] + state["hi"].cpu().numpy()

    def _tensor(self, values: Ints) -> Tensor:
        return torch.from_numpy(values).to(self.tapes.index.device)

    def _picks(self, drawn: tuple[Ints, Ints]) -> Picks:
        index, count = drawn
        return Picks(self._tensor(index), self._tensor(count))


class Pooled:
    """All windows of a stream as those of a single client: central training on the union.

    A round of it lasts as long as ``exchanges`` edge rounds, so as many arrivals come before it.
    """

    def __init__(self, stream: Stream, exchanges: int = 1) -> None:
        self.exchanges = exchanges
        self.clients = 1
        self.shape = stream.shape
        self.classes = stream.classes
        self.sample_bits = stream.sample_bits
        self.stream = stream

    def start(self) -> Slots:
        return self.stream.start()

    def lasts(self, rounds: int, exchanges: int = 1) -> str:
        return self.stream.lasts(rounds, exchanges * self.exchanges)

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        for e in range(self.exchanges):
            state = self.stream.arrive(state, Clock(clock.t, e), rng.sibling(e))
        return state

    def stats(self, state: Slots) -> Slots:
        return {name: values.sum(dim=0, keepdim=True) for name, values in self.stream.stats(state).items()}

    def draw(
        self, state: Slots, clients: Tensor, updates: Tensor, batch: int, rng: Rng, unlabelled_batch: int = 0
    ) -> Batches:
        # one batch of the largest size is all that a client has
        whole = max(int(self.stream.stats(state)["samples"].max()), 1)
        everybody = torch.arange(self.stream.clients, device=clients.device)
        once = torch.ones_like(everybody)
        unlabelled = whole if unlabelled_batch else 0
        validation = self.stream.draw(state, everybody, once, whole, rng.child("members"), unlabelled)
        labelled = _union(validation.labelled, clients, updates, batch, rng)
        if validation.unlabelled is None:
            return Batches(labelled, None, validation.fetch)
        rest = _union(validation.unlabelled, clients, updates, unlabelled_batch, rng.child("unlabelled"))
        return Batches(labelled, rest, validation.fetch)

    def test(self) -> TestSet:
        """The same groups, which are nobody's own any more."""
        return replace(self.stream.test(), per_client=False)

    def validation(self) -> TestSet | None:
        validation = self.stream.validation()
        return None if validation is None else replace(validation, group=torch.zeros_like(validation.group), groups=1)

    def reference(self, state: Slots) -> dict[str, float]:
        return self.stream.reference(state)


def _union(validation: Picks, clients: Tensor, updates: Tensor, batch: int, rng: Rng) -> Picks:
    """Mini-batches of the union of one whole batch per client, ``held.index [C, 1, N]``."""
    real = torch.arange(validation.index.shape[2], device=validation.index.device) < validation.count[:, :, None]
    has = validation.index[real]
    pool = (has if len(has) else validation.index.flatten()[:1]).cpu().numpy()
    runs = Runs(pool, np.zeros(1, np.int64), np.array([len(has)]))
    index, count = draw_epochs(runs, clients.cpu().numpy(), updates.cpu().numpy(), batch, rng)
    return Picks(
        torch.from_numpy(index).to(validation.index.device), torch.from_numpy(count).to(validation.index.device)
    )

"""Bounded buffers in which new samples replace older ones between rounds (OSAFL)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.contracts import Batches, Clock, Picks, Slots, Stream, Tapes
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.data.draw import Ints, Segments, draw_epochs
from fedradio.data.removal import REMOVE, Removal, Remove
from fedradio.data.requests import Floats
from fedradio.data.streams import Window

Arrivals = Literal["single", "block"]
AtEnd = Literal["refuse", "repeat"]


@register("stream", "fifo", paper="OSAFL, section II-A and eq. (36)")
def fifo(
    tapes: Tapes,
    rng: Rng,
    /,
    *,
    capacity: Annotated[
        tuple[int, int], Arg("range of a client's buffer size in samples, drawn uniformly", ge=1, le=10**9)
    ] = (320, 640),
    activity: Annotated[
        tuple[float, float], Arg("range of a client's probability of using a slot, drawn uniformly", ge=0, le=1)
    ] = (0.3, 0.8),
    slots: Annotated[int, Arg("chances of a new sample between two rounds; see scaled", ge=0, le=10**6)] = 32,
    scaled: Annotated[
        bool, Arg("give a client that uses slots with probability p only ceil(slots * p) of them")
    ] = True,
    arrivals: Annotated[
        Arrivals, Arg("whether slots are used independently of each other, or all or none of them")
    ] = "single",
    spread_rounds: Annotated[
        int | None, Arg("rounds that a tape must last; clients whose tape is too short get fewer slots", ge=1, le=10**9)
    ] = None,
    at_end: Annotated[
        AtEnd, Arg("if a tape may be too short for the run: refuse the run, or start the tape again")
    ] = "refuse",
    removal: Annotated[
        Removal, Arg("which samples are removed: the oldest, random ones, or the oldest of the most frequent class")
    ] = "fifo",
) -> Stream:
    """Bounded first-in-first-out buffers: full at the start; between rounds, new samples replace the oldest.

    The buffer of client ``c`` holds ``D_c`` samples, initially the first ``D_c`` of its tape. Before every round except
    the first, ``Binomial(E_c, p_c)`` samples arrive; with ``block``, ``E_c`` arrive with probability ``p_c`` and none
    otherwise. Buffers never change within a round, however many edge rounds it has. ``E_c`` is ``ceil(slots * p_c)``,
    or ``slots``; with ``spread_rounds`` no more than ``floor((n_c - D_c) / spread_rounds)`` for a tape of ``n_c``
    samples.

    Tapes that may be too short for the run are refused before it starts. With ``repeat`` a tape has no end: its first
    sample follows its last one.

    The paper removes the oldest samples and leaves other rules open. ``random`` removes old samples at random.
    ``balanced`` makes room for one new sample at a time by removing the oldest sample of the most frequent class in the
    buffer. Arrivals are the same under every rule.
    """
    problems = _range_problems(capacity, activity)
    if problems:
        raise SpecError(problems)
    buffer = rng.child("capacity").numpy().integers(*capacity, size=tapes.clients, endpoint=True)
    probability = activity[0] + (activity[1] - activity[0]) * rng.child("activity").numpy().random(tapes.clients)
    size = tapes.offset.diff().cpu().numpy()
    chances = chances_of(size - buffer, probability, slots, scaled, spread_rounds)
    problems = _buffer_problems(size, buffer, chances)
    if problems:
        raise SpecError(problems)
    if removal == "fifo":
        return Fifo(tapes, buffer, probability, chances, arrivals, at_end)
    return Buffers(tapes, buffer, probability, chances, arrivals, at_end, REMOVE[removal])


def chances_of(room: Ints, activity: Floats, most: int, scaled: bool, spread_rounds: int | None) -> Ints:
    """Chances ``E [C]`` of a new sample between two rounds; ``room [C]`` samples of a tape follow the first buffer.

    With ``most=5``, not scaled, and the run's rounds this is OSAFL's eq. (36).
    """
    # the small term undoes products like 25 * .28 = 7.000000000000001
    chances = np.ceil(most * activity - 1e-9).astype(np.int64) if scaled else np.full(len(room), most)
    return chances if spread_rounds is None else np.minimum(chances, room // spread_rounds)


class Fifo(Window):
    """FIFO buffers as windows of ``capacity [C]`` samples, each moved by its arrivals, at most ``chances [C]`` a round.

    ``lo`` and ``hi`` count from the beginning of a tape and go on past its end where it repeats.
    """

    def __init__(
        self,
        tapes: Tapes,
        capacity: Ints,
        activity: Floats,
        chances: Ints,
        arrivals: Arrivals,
        at_end: AtEnd,
    ) -> None:
        super().__init__(_twice(tapes) if at_end == "repeat" else tapes)
        self.capacity = capacity
        self.activity = activity
        self.chances = chances
        self.arrivals = arrivals
        self.at_end = at_end
        self._size: Ints = tapes.offset.diff().cpu().numpy()

    def start(self) -> Slots:
        full = self._tensor(self.capacity)
        return {"lo": torch.zeros_like(full), "hi": full}

    def lasts(self, rounds: int, exchanges: int = 1) -> str:
        moves = (self.chances > 0) & (self.activity > 0)
        if self.at_end == "repeat" or not moves.any():
            return ""
        enough = np.where(moves, (self._size - self.capacity) // np.maximum(self.chances, 1), np.iinfo(np.int64).max)
        worst = int(enough.argmin())
        times = rounds - 1  # nothing arrives before the first round
        if times <= int(enough[worst]):
            return ""
        need = int(self.capacity[worst]) + times * int(self.chances[worst])
        return (
            f"client {worst} has {self._size[worst]} samples, but {rounds} rounds may need {need}: increase "
            "data.source.requests (or samples), reduce data.stream.capacity, data.stream.slots or the rounds, or set "
            "data.stream.spread_rounds or data.stream.at_end=repeat"
        )

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        if clock.t == 0 or clock.e > 0:
            return state
        new = self._tensor(self._arrivals(rng))
        lo, hi = state["lo"] + new, state["hi"] + new
        over = hi > self._tensor(self._size)
        if self.at_end == "refuse" and bool(over.any()):  # the next client's samples would follow
            reason = f"the samples of client {int(over.nonzero()[0])} ran out in round {clock.t}"
            remedy = "use fewer rounds, more samples per client, or data.stream.at_end=repeat"
            raise SpecError(Problem("data.stream", reason, remedy))
        return state | {"lo": lo, "hi": hi}

    @property
    def request_rate(self) -> Tensor:
        return torch.from_numpy(self.activity)

    def chances_at(self, clock: Clock) -> Tensor:
        """Slots ``[C]`` before a round; none before the first one, and none within a round."""
        return torch.from_numpy(np.where(clock.t == 0 or clock.e > 0, 0, self.chances))

    def ahead(self, state: Slots) -> Tensor:
        place = state["hi"].cpu().numpy()
        there = (place < self._size) | (self.at_end == "repeat")
        numbers = self.tapes.index.cpu().numpy()[self._offset[:-1] + place % self._size]
        return torch.from_numpy(np.where(there, numbers, -1))

    def asked(self, before: Slots, after: Slots) -> list[Tensor]:
        first, last = before["hi"].cpu().numpy(), after["hi"].cpu().numpy()
        tapes, index = zip(self._offset[:-1], self._size, first, last, strict=True), self.tapes.index.cpu()
        return [index[start + torch.arange(a, b) % size] for start, size, a, b in tapes]

    def _arrivals(self, rng: Rng) -> Ints:
        """Numbers ``[C]`` of new samples between two rounds."""
        if self.arrivals == "single":
            return np.asarray(rng.numpy().binomial(self.chances, self.activity))
        return np.where(rng.numpy().random(self.clients) < self.activity, self.chances, 0)

    def _window(self, state: Slots) -> tuple[Ints, Ints]:
        lo: Ints = state["lo"].cpu().numpy()
        hi: Ints = state["hi"].cpu().numpy()
        start: Ints = self._offset[:-1] + lo % self._size
        return start, start + (hi - lo)


class Buffers(Fifo):
    """Buffers from which another rule than age removes samples: ``held [C, D]`` are places of the tapes, oldest first,
    -1 behind a client's capacity. ``lo`` and ``hi`` go on counting, so that ``seen`` stays what it is."""

    def __init__(
        self,
        tapes: Tapes,
        capacity: Ints,
        activity: Floats,
        chances: Ints,
        arrivals: Arrivals,
        at_end: AtEnd,
        remove: Remove,
    ) -> None:
        super().__init__(tapes, capacity, activity, chances, arrivals, at_end)
        self.remove = remove
        self._index: Ints = self.tapes.index.cpu().numpy()
        # a class of its own for samples whose labels the client does not know
        self._label: Ints = np.where(self.tapes.labelled.cpu().numpy(), self.tapes.class_numbers.cpu().numpy(), -1)

    def start(self) -> Slots:
        place = np.arange(int(self.capacity.max()))
        held = np.where(place < self.capacity[:, None], place, -1)
        return super().start() | {"held": self._tensor(held)}

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        after = super().arrive(state, clock, rng)
        if after is state:
            return state
        held: Ints = state["held"].cpu().numpy().copy()
        before, now = (slots["hi"].cpu().numpy() for slots in (state, after))
        keys = rng.child("removal").numpy().random(held.shape)
        for c in np.flatnonzero(now > before):
            size = int(self.capacity[c])
            new = np.arange(before[c], now[c]) % self._size[c]
            label = self._label[self._offset[c] : self._offset[c] + self._size[c]]
            held[c, :size] = self.remove(held[c, :size], new, label, keys[c, :size])
        return after | {"held": self._tensor(held)}

    def _places(self, state: Slots) -> tuple[Ints, Ints]:
        """Owners and places of all samples that are held, on the concatenated tapes, client after client."""
        held: Ints = state["held"].cpu().numpy()
        owner, column = np.nonzero(held >= 0)
        return owner, self._offset[owner] + held[owner, column]

    def _count(self, state: Slots) -> Slots:
        owner, place = self._places(state)
        label = self._label[place]
        known = label >= 0
        bins = self.clients * self.classes
        counts = np.bincount(owner[known] * self.classes + label[known], minlength=bins)
        return {
            "samples": self._tensor(np.bincount(owner, minlength=self.clients)),
            "seen": state["hi"],
            "labelled": self._tensor(np.bincount(owner[known], minlength=self.clients)),
            "label_counts": self._tensor(counts.reshape(self.clients, self.classes)),
        }

    def draw(
        self, state: Slots, clients: Tensor, updates: Tensor, batch: int, rng: Rng, unlabelled_batch: int = 0
    ) -> Batches:
        owner, place = self._places(state)
        known = self._label[place] >= 0
        ids, counts = clients.cpu().numpy(), updates.cpu().numpy()

        def picks(chosen: NDArray[np.bool_], batch: int, rng: Rng) -> Picks:
            size = np.bincount(owner[chosen], minlength=self.clients)
            pool = self._index[place[chosen]] if chosen.any() else self._index[:1]
            return self._picks(draw_epochs(Segments(pool, np.cumsum(size) - size, size), ids, counts, batch, rng))

        unlabelled = picks(~known, unlabelled_batch, rng.child("unlabelled")) if unlabelled_batch else None
        return Batches(picks(known, batch, rng), unlabelled, self.tapes.fetch)


def _twice(tapes: Tapes) -> Tapes:
    """Every tape followed by itself, so that a window across its end is contiguous."""
    order = torch.cat([torch.arange(a, b).repeat(2) for a, b in pairwise(tapes.offset.tolist())])
    order = order.to(tapes.index.device)
    return replace(
        tapes,
        index=tapes.index[order],
        offset=2 * tapes.offset,
        label=tapes.label[order],
        labelled=tapes.labelled[order],
    )


def _range_problems(capacity: tuple[int, int], activity: tuple[float, float]) -> list[Problem]:
    problems = []
    if not 1 <= capacity[0] <= capacity[1]:
        reason = "must be the lowest and highest number of samples that a client keeps, at least 1"
        problems.append(Problem("data.stream.capacity", reason, "such as [320, 640]", capacity))
    if not 0 <= activity[0] <= activity[1] <= 1:
        reason = "must be the lowest and highest probability"
        problems.append(Problem("data.stream.activity", reason, "such as [0.3, 0.8]", activity))
    return problems


def _buffer_problems(size: Ints, capacity: Ints, chances: Ints) -> list[Problem]:
    """Buffers that cannot be full at the start, and arrivals that could be dropped before they are trained on."""
    problems = []
    if (size < capacity).any():
        c = int((capacity - size).argmax())
        reason = f"client {c} has only {size[c]} samples"
        remedy = f"use at most {size.min()}, or more samples per client"
        problems.append(Problem("data.stream.capacity", reason, remedy, int(capacity[c])))
    if (chances > capacity).any():
        c = int((chances - capacity).argmax())
        reason = f"client {c} keeps only {capacity[c]} samples, but {chances[c]} may arrive at once"
        problems.append(Problem("data.stream.slots", reason, "use fewer slots, or a larger data.stream.capacity"))
    return problems

"""Streams: the vectorised draw against a plain loop, and what the contract promises."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from fedradio.core.contracts import Clock, Picks, RequestStream, Samples, Slots, Tapes
from fedradio.core.rng import Rng
from fedradio.data.streams import Pooled, Window, arrivals_rng, static
from fedradio.data.tapes import make_tapes

Make = Callable[..., Samples]


SIZES = (7, 1, 40, 16, 3)


@pytest.fixture
def tapes(images: Make) -> Tapes:
    return make_tapes(images(sum(SIZES)), list(torch.arange(sum(SIZES)).split(SIZES)), Rng(0))


@pytest.fixture
def dim(images: Make) -> Tapes:
    """Half unlabelled: 3, 0, 20, 8 and 1 labelled samples."""
    return make_tapes(images(sum(SIZES)), list(torch.arange(sum(SIZES)).split(SIZES)), Rng(0), unlabelled=0.5)


def whole(tapes: Tapes, client: int) -> set[int]:
    return set(tapes.index[tapes.offset[client] : tapes.offset[client + 1]].tolist())


def real(picks: Picks, row: int) -> list[list[int]]:
    """The real sample numbers of every batch of a row."""
    return [picks.index[row, t, : picks.count[row, t]].tolist() for t in range(picks.count.shape[1])]


def flat(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]


def test_padding_is_fetchable(dim: Tapes) -> None:
    stream = Window(dim)
    batches = stream.draw(stream.start(), torch.arange(5), torch.tensor([0, 3, 1, 9, 2]), 4, Rng(0), 5)
    for picks in (batches.labelled, batches.unlabelled):
        assert picks is not None
        x, y = batches.fetch(picks.index)
        assert x.shape == (*picks.index.shape, 1, 2, 2)
        assert y.shape == picks.index.shape
        assert picks.index.min() >= 0
        assert picks.index.max() < sum(SIZES)


def test_labelled_and_unlabelled_apart(dim: Tapes) -> None:
    stream = Window(dim)
    batches = stream.draw(stream.start(), torch.arange(5), torch.full((5,), 8), 4, Rng(0), 3)
    assert batches.unlabelled is not None
    known = set(dim.index[dim.labelled].tolist())
    for client in range(5):
        mine = whole(dim, client)
        labelled = set(flat(real(batches.labelled, client)))
        rest = set(flat(real(batches.unlabelled, client)))
        assert labelled == mine & known
        assert rest == mine - known
    assert (batches.labelled.count[1] == 1).all()  # client 1 has one sample, which keeps its label
    assert (batches.unlabelled.count[1] == 0).all()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_nothing_of_one_kind(images: Make, share: float) -> None:
    tapes = make_tapes(images(20), [torch.arange(8), torch.arange(8, 20)], Rng(0), unlabelled=share)
    stream = Window(tapes)
    batches = stream.draw(stream.start(), torch.tensor([0, 1]), torch.tensor([2, 3]), 4, Rng(0), 4)
    assert batches.unlabelled is not None
    empty, full = (batches.labelled, batches.unlabelled) if share else (batches.unlabelled, batches.labelled)
    assert not empty.count.any()
    assert full.count.tolist() == [[4, 4, 0], [4, 4, 4]]
    batches.fetch(empty.index)
    assert stream.stats(stream.start())["labelled"].tolist() == ([0, 0] if share else [8, 12])
    assert int(stream.stats(stream.start())["label_counts"].sum()) == (0 if share else 20)


def test_stats(dim: Tapes) -> None:
    stream = Window(dim)
    state: Slots = {"lo": torch.tensor([2, 0, 5, 0, 3]), "hi": torch.tensor([7, 1, 30, 0, 3])}
    stats = stream.stats(state)
    assert stats["samples"].tolist() == [5, 1, 25, 0, 0]
    for client in range(5):
        start = int(dim.offset[client])
        window = slice(start + int(state["lo"][client]), start + int(state["hi"][client]))
        kept = dim.index[window][dim.labelled[window]]
        assert stats["labelled"][client] == len(kept)
        assert stats["label_counts"][client].equal(torch.bincount(dim.fetch(kept)[1], minlength=10))


def test_moved_windows_are_respected(dim: Tapes) -> None:
    """What growing and first-in-first-out streams need: the draw sees the window, not the tape."""
    stream = Window(dim)
    state: Slots = {"lo": torch.tensor([2, 0, 5, 0, 3]), "hi": torch.tensor([7, 1, 30, 0, 3])}
    batches = stream.draw(state, torch.arange(5), torch.full((5,), 30), 4, Rng(0), 4)
    assert batches.unlabelled is not None
    for client in range(5):
        start = int(dim.offset[client])
        window = dim.index[start + int(state["lo"][client]) : start + int(state["hi"][client])]
        drawn = flat(real(batches.labelled, client) + real(batches.unlabelled, client))
        assert set(drawn) == set(window.tolist())


def test_static_never_moves(tapes: Tapes) -> None:
    stream = static(tapes, Rng(0))
    state = stream.start()
    assert stream.arrive(state, Clock(3), Rng(0)) is state
    assert state["lo"].tolist() == [0] * 5
    assert state["hi"].tolist() == list(SIZES)
    assert stream.reference(state) == {}
    assert stream.test() is tapes.test
    assert (stream.clients, stream.shape, stream.classes, stream.sample_bits) == (5, (1, 2, 2), 10, 32)


def test_pooled_is_the_union(dim: Tapes) -> None:
    inner = Window(dim)
    stream = Pooled(inner, Rng(0))
    state = stream.start()
    assert stream.clients == 1
    assert {name: tuple(v.shape) for name, v in stream.stats(state).items()} == {
        "samples": (1,),
        "seen": (1,),
        "labelled": (1,),
        "label_counts": (1, 10),
    }
    known = dim.index[dim.labelled].tolist()
    per_epoch = math.ceil(len(known) / 8)
    zero, updates = torch.zeros(1, dtype=torch.long), torch.tensor([2 * per_epoch])
    batches = stream.draw(state, zero, updates, 8, Rng(0), 8)
    first = flat(real(batches.labelled, 0)[:per_epoch])
    assert sorted(first) == sorted(known)
    assert first != sorted(first)
    assert batches.unlabelled is not None
    assert set(flat(real(batches.unlabelled, 0))) <= set(dim.index[~dim.labelled].tolist())
    assert stream.draw(state, zero, updates, 8, Rng(0)).unlabelled is None


def test_pooled_keeps_groups_but_not_owners(images: Make) -> None:
    tapes = make_tapes(images(30), list(torch.arange(30).split(10)), Rng(0), test="client")
    test = Pooled(Window(tapes), Rng(0)).test()
    assert test.groups == 3
    assert not test.per_client


def test_pooled_follows_the_window_of_a_growing_stream(tapes: Tapes) -> None:
    class Growing(Window):
        """One sample arrives at every client in every round: the rule is all there is to write."""

        def start(self) -> Slots:
            whole = super().start()
            return whole | {"hi": torch.zeros_like(whole["hi"])}

        def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
            end: Tensor = self.tapes.offset.diff()
            return state | {"hi": torch.minimum(state["hi"] + 1, end)}

    stream = Pooled(Growing(tapes), Rng(0))
    state = stream.start()
    ask = (torch.zeros(1, dtype=torch.long), torch.tensor([1]), 100)
    assert not stream.draw(state, *ask, Rng(0)).labelled.count.any()
    for t in range(3):
        state = stream.arrive(state, Clock(t), Rng(0))
    assert stream.stats(state)["samples"].tolist() == [3 + 1 + 3 + 3 + 3]
    assert stream.draw(state, *ask, Rng(0)).labelled.count.tolist() == [[13]]


def test_counts_are_kept_for_the_very_state_alone(images: Callable[..., Samples]) -> None:
    stream = static(make_tapes(images(12), [torch.arange(5), torch.arange(5, 12)], Rng(0)), Rng(0))
    state = stream.start()
    assert stream.stats(state) is stream.stats(state)
    fewer = state | {"hi": state["hi"] - 1}
    assert stream.stats(fewer)["samples"].tolist() == [4, 6]
    assert stream.stats(state)["samples"].tolist() == [5, 7]


def test_pooled_arrivals_are_those_of_the_run(tapes: Tapes) -> None:
    """Three edge rounds in one: every arrival has the clock and the generator that it would have in the network."""
    asked: list[tuple[Clock, Rng]] = []

    class Asking(Window):
        def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
            asked.append((clock, rng))
            return state

    Pooled(Asking(tapes), Rng(4), exchanges=3).arrive({}, Clock(2, 0, 2, 1.5), Rng(99))
    clocks = [Clock(2, e, 6 + e, 1.5) for e in range(3)]
    assert asked == [(clock, arrivals_rng(Rng(4), clock)) for clock in clocks]
    assert arrivals_rng(Rng(4), clocks[1]) == Rng(4).child("arrive", 2, 1)


def test_nothing_is_requested_of_static_data(tapes: Tapes) -> None:
    stream = Window(tapes)
    state = stream.start()
    assert stream.law is None
    assert stream.chances_at(Clock(1)).tolist() == stream.request_rate.tolist() == [0] * 5
    assert stream.ahead(state).tolist() == [-1] * 5
    assert [len(numbers) for numbers in stream.asked(state, state)] == [0] * 5
    assert stream.fetch is tapes.fetch
    assert isinstance(stream, RequestStream)
    assert not isinstance(Pooled(stream, Rng(0)), RequestStream)

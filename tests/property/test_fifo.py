"""Bounded buffers against a plain queue, whatever the tapes, capacities and arrivals."""

from __future__ import annotations

from collections import deque
from itertools import cycle, islice

import torch
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from fedradio.core.contracts import Clock, Slots, Tapes, TestSet
from fedradio.core.rng import Rng
from fedradio.data.fifo import Fifo, fifo


def tapes_of(sizes: list[int]) -> Tapes:
    """Sample numbers that are not their places; labels are numbers modulo 3."""
    offset = torch.tensor([0, *sizes]).cumsum(0)
    index = torch.arange(int(offset[-1])).flip(0)

    def fetch(numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return numbers[..., None].float(), numbers % 3

    test = TestSet(index[:1], torch.zeros(1).long(), 1, False, fetch)
    return Tapes(index, offset, index % 3, torch.ones(len(index), dtype=torch.bool), fetch, test, (1,), 3, 32.0)


def buffer_of(stream: Fifo, state: Slots, client: int) -> list[int]:
    """What a client holds, oldest first: a batch of everything is not shuffled."""
    picks = stream.draw(state, torch.tensor([client]), torch.tensor([1]), 10**6, Rng(0)).labelled
    return [int(number) for number in picks.index[0, 0, : picks.count[0, 0]]]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Tapes, Fifo]:
    sizes = draw(st.lists(st.integers(4, 30), min_size=1, max_size=4))
    low = draw(st.integers(1, min(sizes)))
    high = draw(st.integers(low, min(sizes)))
    ends = sorted(draw(st.tuples(st.floats(0, 1), st.floats(0, 1))))
    tapes = tapes_of(sizes)
    stream = fifo(
        tapes,
        Rng(draw(st.integers(0, 10**6))),
        capacity=(low, high),
        activity=(ends[0], ends[1]),
        slots=draw(st.integers(0, low)),
        scaled=draw(st.booleans()),
        arrivals=draw(st.sampled_from(["single", "block"])),
        spread_rounds=draw(st.none() | st.integers(1, 10)),
        at_end=draw(st.sampled_from(["refuse", "repeat"])),
    )
    assert isinstance(stream, Fifo)
    return tapes, stream


@examples(80)
@given(world=worlds(), rounds=st.integers(1, 12), exchanges=st.integers(1, 3), seed=st.integers(0, 1000))
def test_buffers_are_queues(world: tuple[Tapes, Fifo], rounds: int, exchanges: int, seed: int) -> None:
    """Always full, in order, nothing skipped, nothing lost before its turn, untouched within a round."""
    tapes, stream = world
    if stream.lasts(rounds):
        size, need = tapes.offset.diff().numpy(), stream.capacity + stream.chances * (rounds - 1)
        assert stream.at_end == "refuse"
        assert (need > size).any()
        return
    to_come = [cycle(tape.tolist()) for tape in tapes.index.split(tapes.offset.diff().tolist())]
    queues = [deque(islice(tape, int(d)), maxlen=int(d)) for tape, d in zip(to_come, stream.capacity, strict=True)]
    state = stream.start()
    for t in range(rounds):
        for e in range(exchanges):
            before = state["hi"]
            state = stream.arrive(state, Clock(t, e), Rng(seed).child("arrive", t, e))
            new = (state["hi"] - before).numpy()
            assert (new >= 0).all()
            assert (new <= stream.chances).all()
            if t == 0 or e > 0:
                assert not new.any()
            if stream.arrivals == "block":
                assert ((new == 0) | (new == stream.chances)).all()
            for queue, tape, arrived in zip(queues, to_come, new, strict=True):
                queue.extend(islice(tape, int(arrived)))
            assert [buffer_of(stream, state, client) for client in range(stream.clients)] == [list(q) for q in queues]
            stats = stream.stats(state)
            assert stats["samples"].tolist() == stats["labelled"].tolist() == stream.capacity.tolist()
            assert stats["seen"].equal(state["hi"])
            assert stats["label_counts"].tolist() == [[sum(n % 3 == k for n in q) for k in range(3)] for q in queues]


@examples(40)
@given(world=worlds(), stop=st.integers(0, 5), seed=st.integers(0, 1000))
def test_the_state_is_all_there_is(world: tuple[Tapes, Fifo], stop: int, seed: int) -> None:
    """A stored state goes on as if nothing had happened, on a stream that has seen none of it."""
    tapes, stream = world
    if stream.lasts(8):
        return
    again = Fifo(tapes, stream.capacity, stream.activity, stream.chances, stream.arrivals, stream.at_end)
    state = other = stream.start()
    for t in range(8):
        state = stream.arrive(state, Clock(t), Rng(seed).child("arrive", t, 0))
        if t == stop:
            other = {name: rows.clone() for name, rows in state.items()}
        if t > stop:
            other = again.arrive(other, Clock(t), Rng(seed).child("arrive", t, 0))
    assert state.keys() == other.keys()
    assert all(state[name].equal(other[name]) for name in state)
    assert [buffer_of(stream, state, c) for c in range(stream.clients)] == [
        buffer_of(again, other, c) for c in range(stream.clients)
    ]

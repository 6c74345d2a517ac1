"""The growing stream: what arrives, what is refused, what it is without arrivals."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.worlds import tiny

from fedradio.core.contracts import Clock, Samples, Slots, Tapes
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.growing import Growing, growing
from fedradio.data.sources import synthetic_images
from fedradio.data.streams import Pooled, static
from fedradio.data.tapes import make_tapes
from fedradio.data.video import videos
from fedradio.rounds.round import begin, run_round

SIZES = (30, 12, 50)


def tapes_of(sizes: tuple[int, ...]) -> Tapes:
    n = sum(sizes)
    samples: Samples = synthetic_images(1, Rng(0), samples=n, test_samples=5, height=2, width=2)
    return make_tapes(samples, list(torch.arange(n).split(sizes)), Rng(0))


@pytest.fixture(scope="module")
def tapes() -> Tapes:
    return tapes_of(SIZES)


def after(stream: Growing, exchanges: int, seed: int = 0) -> Slots:
    state = stream.start()
    for t in range(exchanges):
        state = stream.arrive(state, Clock(t), Rng(seed).child("arrive", t))
    return state


def make(tapes: Tapes, **keywords: object) -> Growing:
    stream = growing(tapes, Rng(1), **keywords)  # type: ignore[arg-type]
    assert isinstance(stream, Growing)
    return stream


def test_begins_with_the_history_and_grows(tapes: Tapes) -> None:
    stream = make(tapes, history=10, slots=2, activity=(1.0, 1.0))
    state = stream.start()
    assert (state["lo"].tolist(), state["hi"].tolist()) == ([0] * 3, [10] * 3)
    new = stream.arrive(state, Clock(0), Rng(0))
    assert state["hi"].tolist() == [10] * 3  # the old state is still there
    assert new["hi"].tolist() == [12] * 3
    assert stream.stats(new)["samples"].tolist() == [12] * 3
    window = [tapes.index[tapes.offset[c] : tapes.offset[c] + 12] for c in range(3)]
    drawn = stream.draw(new, torch.arange(3), torch.full((3,), 4), 5, Rng(0)).labelled
    for client in range(3):
        real = {int(i) for t in range(3) for i in drawn.index[client, t, : drawn.count[client, t]]}
        assert real == set(window[client].tolist())


@examples(40)
@given(
    sizes=st.lists(st.integers(3, 40), min_size=1, max_size=5),
    history=st.integers(0, 3),
    slots=st.integers(0, 4),
    ends=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    exchanges=st.integers(0, 12),
    seed=st.integers(0, 100),
)
def test_windows_only_grow_and_stay_on_their_tapes(
    sizes: list[int], history: int, slots: int, ends: tuple[float, float], exchanges: int, seed: int
) -> None:
    tapes = tapes_of(tuple(sizes))
    stream = make(tapes, history=history, slots=slots, activity=(min(ends), max(ends)))
    if stream.lasts(exchanges):
        assert history + slots * exchanges > min(sizes)
        return
    state = stream.start()
    for t in range(exchanges):
        grown = stream.arrive(state, Clock(t), Rng(seed).child(t))
        new = grown["hi"] - state["hi"]
        assert int(new.min()) >= 0
        assert int(new.max()) <= slots
        assert not grown["lo"].any()
        state = grown
    assert bool((state["hi"] <= tapes.offset.diff()).all())
    assert stream.stats(state)["samples"].equal(state["hi"])


def test_arrivals_are_those_of_the_generator(tapes: Tapes) -> None:
    stream = make(tapes, history=5, slots=1)
    one, again, other = (after(stream, 6, seed)["hi"].tolist() for seed in (0, 0, 1))
    assert one == again
    assert one != other
    assert make(tapes, history=5).activity.tolist() == make(tapes, history=9, slots=3).activity.tolist()


def test_arrivals_are_binomial() -> None:
    """400 edge rounds of 3 slots: means within four deviations, variance of all within 15 per cent."""
    stream = make(tapes_of((1300,) * 6), history=100, slots=3)
    assert ((stream.activity >= 0.2) & (stream.activity <= 0.8)).all()
    states = [stream.start()["hi"].numpy()]
    state = stream.start()
    for t in range(400):
        state = stream.arrive(state, Clock(t), Rng(3).child(t))
        states.append(state["hi"].numpy())
    new = np.diff(np.stack(states), axis=0)  # [400, 6]
    p = stream.activity
    deviation = np.sqrt(3 * p * (1 - p) / 400)
    assert (np.abs(new.mean(axis=0) - 3 * p) < 4 * deviation).all()
    assert new.var(axis=0).mean() == pytest.approx((3 * p * (1 - p)).mean(), rel=0.15)


def test_activity_is_uniform_in_its_range() -> None:
    p = make(tapes_of((1,) * 2000), history=0, activity=(0.2, 0.8)).activity
    deviation = 0.6 / math.sqrt(12)
    assert p.mean() == pytest.approx(0.5, abs=4 * deviation / math.sqrt(2000))
    assert p.std() == pytest.approx(deviation, rel=0.05)


@pytest.mark.parametrize("never", [{"slots": 0}, {"activity": (0.0, 0.0)}])
def test_without_arrivals_it_is_static(tapes: Tapes, never: dict[str, object]) -> None:
    stream = make(tapes, history=12, **never)
    state = after(stream, 5)
    assert stream.lasts(10**40) == ""
    short = tapes_of((12, 12, 12))
    whole = static(short, Rng(0))
    ask = (torch.tensor([0, 2]), torch.tensor([9, 4]), 5, Rng(0))
    mine, theirs = stream.draw(state, *ask).labelled, whole.draw(whole.start(), *ask).labelled
    assert mine.count.equal(theirs.count)
    for row, client in enumerate((0, 2)):  # the same places of the tapes
        assert _places(tapes, client, mine.index[row]).equal(_places(short, client, theirs.index[row]))


def _places(tapes: Tapes, client: int, index: torch.Tensor) -> torch.Tensor:
    mine = tapes.index[tapes.offset[client] : tapes.offset[client + 1]]
    return (index[..., None] == mine).int().argmax(dim=-1)


def test_a_run_without_arrivals_is_a_static_run() -> None:
    """The past of longer tapes is the shorter tape: nothing that will arrive later has any influence."""
    world = partial(videos, genres=3, contents_per_genre=4, test_requests=40)
    still = tiny(source=partial(world, requests=50))
    never = partial(growing, history=50, activity=(0, 0))
    grows = tiny(source=partial(world, requests=90), stream=never)
    w = []
    for sim in (still, grows):
        state = begin(sim)
        for _ in range(2):
            state, record, _ = run_round(sim, state)
        w.append(state.memory.shared["w"])
        assert {"bayes", "top_popular", "accuracy_spread"} <= set(record.metrics)
    assert torch.equal(w[0], w[1])


def test_lasts_names_the_client_and_what_to_raise(tapes: Tapes) -> None:
    stream = make(tapes, history=10, slots=1)
    assert stream.lasts(2) == ""
    refusal = stream.lasts(3)
    assert "client 1 has 12 samples" in refusal
    assert "may need 13" in refusal
    for word in ("data.source.requests", "data.stream.history", "data.stream.slots"):
        assert word in refusal
    assert make(tapes, history=0, slots=10**6).lasts(10**40)


def test_running_out_is_said_and_never_reads_on(tapes: Tapes) -> None:
    stream = make(tapes, history=11, activity=(1.0, 1.0))
    state = stream.arrive(stream.start(), Clock(0), Rng(0))
    with pytest.raises(SpecError, match="client 1 ran out in round 7"):
        stream.arrive(state, Clock(7), Rng(0))


def test_refusals(tapes: Tapes) -> None:
    with pytest.raises(SpecError) as caught:
        growing(tapes, Rng(0), history=13, activity=(0.8, 0.2))
    assert [problem.path for problem in caught.value.problems] == ["data.stream.activity", "data.stream.history"]
    assert "client 1 has only 12 samples" in str(caught.value)
    with pytest.raises(SpecError, match="highest probability"):
        growing(tapes, Rng(0), history=1, activity=(0.5, 1.2))


def test_nothing_before_the_first_arrival(tapes: Tapes) -> None:
    stream = make(tapes, history=0, activity=(1.0, 1.0))
    assert not stream.draw(stream.start(), torch.arange(3), torch.ones(3).long(), 4, Rng(0)).labelled.count.any()
    assert stream.stats(after(stream, 3))["samples"].tolist() == [3] * 3


def test_all_in_one_place(tapes: Tapes) -> None:
    inner = make(tapes, history=4, activity=(1.0, 1.0))
    stream = Pooled(inner, Rng(0))
    state = stream.arrive(stream.start(), Clock(0), Rng(0))
    assert stream.stats(state)["samples"].tolist() == [15]
    assert stream.lasts(9) == inner.lasts(9) != ""


def test_requests_ahead_and_asked_for(tapes: Tapes) -> None:
    """What is ahead is asked for first; a client at the end of its tape has nothing ahead."""
    stream = make(tapes, history=10, slots=2, activity=(0.5, 1.0))
    assert stream.chances_at(Clock(0)).tolist() == stream.chances_at(Clock(3, 1)).tolist() == [2] * 3
    assert stream.request_rate.tolist() == stream.activity.tolist()
    before = stream.start()
    after = before | {"hi": torch.tensor([13, 12, 10])}
    assert stream.ahead(before).tolist() == [int(tapes.index[offset + 10]) for offset in (0, 30, 42)]
    asked = stream.asked(before, after)
    assert [numbers.tolist() for numbers in asked] == [
        tapes.index[10:13].tolist(),
        tapes.index[40:42].tolist(),
        [],
    ]
    assert stream.ahead(after).tolist() == [int(tapes.index[13]), -1, int(tapes.index[52])]

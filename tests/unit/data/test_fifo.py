"""Bounded buffers: what arrives and leaves when, slots by hand, refusals, tapes that repeat, all in one place."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binom, chi2
from support.worlds import cells

from fedradio.core.contracts import Clock, Samples, Slots, Tapes
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.fifo import Fifo, chances_of, fifo
from fedradio.data.sources import synthetic_images
from fedradio.data.streams import Pooled, static
from fedradio.data.tapes import make_tapes
from fedradio.rounds.round import begin, run_round

SIZES = (30, 12, 50)
SURE: dict[str, Any] = {"activity": (1.0, 1.0), "scaled": False}
SIGNIFICANCE = 1e-3
"""p values below this are failures; seeds are fixed."""


def tapes_of(sizes: tuple[int, ...]) -> Tapes:
    n = sum(sizes)
    samples: Samples = synthetic_images(1, Rng(0), samples=n, test_samples=5, height=2, width=2)
    return make_tapes(samples, list(torch.arange(n).split(sizes)), Rng(0))


@pytest.fixture(scope="module")
def tapes() -> Tapes:
    return tapes_of(SIZES)


def make(tapes: Tapes, seed: int = 1, **keywords: Any) -> Fifo:
    stream = fifo(tapes, Rng(seed), **keywords)
    assert isinstance(stream, Fifo)
    return stream


def run(stream: Fifo, rounds: int, seed: int = 0) -> Slots:
    """The state in the last of so many rounds."""
    state = stream.start()
    for t in range(rounds):
        state = stream.arrive(state, Clock(t), Rng(seed).child("arrive", t, 0))
    return state


def held(stream: Fifo, state: Slots, client: int) -> set[int]:
    """The sample numbers that a client may draw."""
    picks = stream.draw(state, torch.tensor([client]), torch.tensor([1]), 10**6, Rng(0)).labelled
    numbers = picks.index[0, 0, : picks.count[0, 0]].tolist()
    assert len(numbers) == len(set(numbers))
    return set(numbers)


def places(tapes: Tapes, client: int, where: list[int]) -> set[int]:
    mine = tapes.index[tapes.offset[client] : tapes.offset[client + 1]]
    return set(mine[where].tolist())


def test_by_hand(tapes: Tapes) -> None:
    """Buffers of five, two arrivals a round: full at first, then the two oldest leave."""
    stream = make(tapes, capacity=(5, 5), slots=2, **SURE)
    state = stream.start()
    assert (state["lo"].tolist(), state["hi"].tolist()) == ([0] * 3, [5] * 3)
    assert stream.arrive(state, Clock(0), Rng(0)) is state  # nothing arrives before the first round
    first = stream.arrive(state, Clock(1), Rng(0))
    assert (first["lo"].tolist(), first["hi"].tolist()) == ([2] * 3, [7] * 3)
    assert state["lo"].tolist() == [0] * 3  # the old state is still there
    assert stream.arrive(first, Clock(1, 1), Rng(0)) is first  # nor within a round
    second = stream.arrive(first, Clock(2), Rng(0))
    for client in range(3):
        assert held(stream, state, client) == places(tapes, client, [0, 1, 2, 3, 4])
        assert held(stream, first, client) == places(tapes, client, [2, 3, 4, 5, 6])
        assert held(stream, second, client) == places(tapes, client, [4, 5, 6, 7, 8])
    stats = stream.stats(second)
    assert stats["samples"].tolist() == stats["labelled"].tolist() == [5] * 3
    assert stats["seen"].tolist() == [9] * 3
    offset = tapes.offset[:-1]
    window = torch.stack([tapes.label[a + 4 : a + 9].bincount(minlength=10) for a in offset])
    assert stats["label_counts"].equal(window)


def test_slots_by_hand() -> None:
    """ceil(32 p); the same for all; and eq. (36), min(floor((n - D) / T), 5)."""
    room, p = np.array([700, 480, 90, 0]), np.array([0.3, 0.75, 0.8, 0.5])
    assert chances_of(room, p, 32, True, None).tolist() == [10, 24, 26, 16]
    assert chances_of(room, p, 5, False, None).tolist() == [5] * 4
    assert chances_of(room, p, 5, False, 100).tolist() == [5, 4, 0, 0]
    assert chances_of(np.array([10]), np.array([0.28]), 25, True, None).tolist() == [7]  # 25 * .28 is above 7 in floats
    assert chances_of(np.array([10]), np.array([0.0]), 25, True, None).tolist() == [0]


def test_the_papers_buffers() -> None:
    """400 clients: D in 320..640, p in [.3, .8], both uniform; E = ceil(32 p)."""
    stream = make(tapes_of((640,) * 400))
    assert stream.capacity.min() >= 320
    assert stream.capacity.max() <= 640
    spread = 320 / math.sqrt(12)
    assert stream.capacity.mean() == pytest.approx(480, abs=4 * spread / 20)
    assert stream.capacity.std() == pytest.approx(spread, rel=0.1)
    assert stream.activity.mean() == pytest.approx(0.55, abs=4 * 0.5 / math.sqrt(12) / 20)
    assert ((stream.activity >= 0.3) & (stream.activity <= 0.8)).all()
    assert stream.chances.tolist() == [math.ceil(32 * p) for p in stream.activity]
    assert stream.stats(stream.start())["samples"].tolist() == stream.capacity.tolist()


def test_both_ends_of_the_capacities_occur() -> None:
    drawn = make(tapes_of((3,) * 200), capacity=(2, 3), slots=0).capacity
    assert set(drawn.tolist()) == {2, 3}


def arrivals(stream: Fifo, rounds: int) -> np.ndarray:
    """New samples before every round but the first, ``[rounds - 1, C]``."""
    state, found = stream.start(), []
    for t in range(rounds):
        state = stream.arrive(state, Clock(t), Rng(3).child("arrive", t, 0))
        found.append(state["hi"].numpy())
        assert (state["hi"] - state["lo"]).tolist() == stream.capacity.tolist()
    return np.diff(np.stack(found), axis=0)


def test_single_arrivals_are_binomial() -> None:
    """500 rounds of six clients: chi-square of each against Binomial(E, p)."""
    stream = make(tapes_of((60,) * 6), capacity=(40, 60), slots=8, at_end="repeat")
    new = arrivals(stream, 501)
    for client in range(6):
        e, p = int(stream.chances[client]), stream.activity[client]
        expected = 500 * binom.pmf(np.arange(e + 1), e, p)
        seen = np.bincount(new[:, client], minlength=e + 1)
        big = expected >= 5
        rest = expected[~big].sum()
        statistic = ((seen[big] - expected[big]) ** 2 / expected[big]).sum()
        statistic += (seen[~big].sum() - rest) ** 2 / rest if rest > 0 else 0
        assert chi2.sf(statistic, big.sum() - (rest == 0)) > SIGNIFICANCE


def test_block_arrivals_are_all_or_nothing() -> None:
    stream = make(tapes_of((60,) * 6), capacity=(40, 60), slots=5, scaled=False, arrivals="block", at_end="repeat")
    new = arrivals(stream, 501)
    assert set(new.ravel().tolist()) == {0, 5}
    p = stream.activity
    assert (np.abs((new > 0).mean(axis=0) - p) < 4 * np.sqrt(p * (1 - p) / 500)).all()


def test_arrivals_are_those_of_the_generator(tapes: Tapes) -> None:
    stream = make(tapes, capacity=(8, 10), slots=4, at_end="repeat")
    one, again, other = (run(stream, 9, seed)["hi"].tolist() for seed in (0, 0, 1))
    assert one == again
    assert one != other
    assert make(tapes, capacity=(4, 4), slots=1).activity.tolist() == stream.activity.tolist()


def test_a_tape_that_repeats() -> None:
    """Ten samples, a buffer of four, three arrivals a round: places 9..12 are 9, 0, 1, 2."""
    tapes = tapes_of((10, 4))
    stream = make(tapes, capacity=(4, 4), slots=3, at_end="repeat", **SURE)
    assert stream.lasts(10**40) == ""
    state = run(stream, 4)
    assert (state["lo"].tolist(), state["hi"].tolist()) == ([9, 9], [13, 13])
    assert held(stream, state, 0) == places(tapes, 0, [9, 0, 1, 2])
    assert held(stream, state, 1) == places(tapes, 1, [0, 1, 2, 3])  # a buffer as long as its tape holds all of it
    stats = stream.stats(state)
    assert stats["seen"].tolist() == [13, 13]
    assert stats["label_counts"][0].equal(tapes.label[torch.tensor([9, 0, 1, 2])].bincount(minlength=10))
    assert held(stream, run(stream, 104), 0) == places(tapes, 0, [9, 0, 1, 2])  # 300 samples later


def test_unlabelled_samples_repeat_too() -> None:
    n = 20
    samples: Samples = synthetic_images(1, Rng(0), samples=n, test_samples=5, height=2, width=2)
    tapes = make_tapes(samples, list(torch.arange(n).split(10)), Rng(0), unlabelled=0.4)
    stream = make(tapes, capacity=(6, 6), slots=3, at_end="repeat", **SURE)
    state = run(stream, 3)  # places 6..11
    where = torch.tensor([6, 7, 8, 9, 0, 1])
    both = stream.draw(state, torch.arange(2), torch.ones(2).long(), 50, Rng(0), 50)
    assert both.unlabelled is not None
    for client in range(2):
        at = where + 10 * client
        for picks, mask in ((both.labelled, tapes.labelled[at]), (both.unlabelled, ~tapes.labelled[at])):
            numbers = picks.index[client, 0, : picks.count[client, 0]].tolist()
            assert set(numbers) == set(tapes.index[at[mask]].tolist())


def test_without_arrivals_it_is_static(tapes: Tapes) -> None:
    short = tapes_of((12, 12, 12))
    whole = static(short, Rng(0))
    ask = (torch.tensor([0, 2]), torch.tensor([9, 4]), 5, Rng(0))
    theirs = whole.draw(whole.start(), *ask).labelled
    for never in ({"slots": 0}, {"activity": (0.0, 0.0)}, {"spread_rounds": 100}):
        stream = make(tapes, capacity=(12, 12), **never)
        assert stream.lasts(10**40) == ""
        mine = stream.draw(run(stream, 5), *ask).labelled
        assert mine.count.equal(theirs.count)
        for row, client in enumerate((0, 2)):  # the same places of the tapes
            ours, other = (t.index[t.offset[client] : t.offset[client] + 12] for t in (tapes, short))
            place, same = (
                (i[row][..., None] == o).int().argmax(-1) for i, o in ((mine.index, ours), (theirs.index, other))
            )
            assert place.equal(same)


def test_lasts_names_the_client_and_what_to_change(tapes: Tapes) -> None:
    stream = make(tapes, capacity=(10, 10), slots=2, scaled=False)
    assert stream.lasts(1) == stream.lasts(2) == ""  # 10 and 10 + 2 of the 12 samples of client 1
    refusal = stream.lasts(3)
    assert "client 1 has 12 samples" in refusal
    assert "may need 14" in refusal
    for word in ("data.source.requests", "data.stream.capacity", "data.stream.slots", "at_end=repeat"):
        assert word in refusal
    assert stream.lasts(10**40)


def test_spread_tapes_last_for_their_rounds(tapes: Tapes) -> None:
    """E = floor((n - D) / T) for the three tapes and T = 2: 11, 2 and 21; they last for one round more."""
    stream = make(tapes, capacity=(8, 8), slots=8, spread_rounds=2, **SURE)
    assert stream.chances.tolist() == [8, 2, 8]
    assert stream.lasts(3) == ""
    run(stream, 3)
    assert stream.lasts(4)


def test_running_out_is_said_and_never_reads_on(tapes: Tapes) -> None:
    stream = make(tapes, capacity=(11, 11), slots=1, **SURE)
    state = stream.arrive(stream.start(), Clock(1), Rng(0))
    with pytest.raises(SpecError, match="client 1 ran out in round 7"):
        stream.arrive(state, Clock(7), Rng(0))


@pytest.mark.parametrize(
    ("keywords", "path", "words"),
    [
        ({"capacity": (0, 0)}, "capacity", "at least 1"),
        ({"capacity": (0, 9)}, "capacity", "at least 1"),
        ({"capacity": (9, 8)}, "capacity", "lowest"),
        ({"capacity": (13, 13)}, "capacity", "client 1 has only 12 samples (given 13) -> use at most 12"),
        ({"capacity": (13, 13), "at_end": "repeat"}, "capacity", "client 1 has only 12 samples"),
        ({"activity": (0.8, 0.3)}, "activity", "highest probability"),
        ({"activity": (-0.1, 0.3)}, "activity", "highest probability"),
        ({"activity": (0.5, 1.2)}, "activity", "highest probability"),
        ({"activity": (float("nan"), 1.0)}, "activity", "highest probability"),
        ({"slots": 11, "scaled": False}, "slots", "keeps only 10 samples, but 11 may arrive at once"),
    ],
)
def test_refusals(tapes: Tapes, keywords: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        fifo(tapes, Rng(0), **{"capacity": (10, 10), "slots": 2} | keywords)
    assert [problem.path for problem in caught.value.problems] == [f"data.stream.{path}"]
    assert words in str(caught.value)


def test_all_refusals_at_once(tapes: Tapes) -> None:
    with pytest.raises(SpecError) as caught:
        fifo(tapes, Rng(0), capacity=(0, 1), activity=(1.0, 0.0))
    assert len(caught.value.problems) == 2
    with pytest.raises(SpecError) as caught:
        fifo(tapes, Rng(0), capacity=(13, 13), slots=14, scaled=False)
    assert len(caught.value.problems) == 2


def test_all_in_one_place(tapes: Tapes) -> None:
    """The genie's round of three edge rounds: the union of the buffers, which move once."""
    inner = make(tapes, capacity=(4, 6), slots=2, at_end="repeat", **SURE)
    stream = Pooled(inner, Rng(0), exchanges=3)
    state = stream.start()
    for t in range(8):
        state = stream.arrive(state, Clock(t), Rng(0).child("arrive", t, 0))
    total = int(inner.capacity.sum())
    stats = stream.stats(state)
    assert stats["samples"].tolist() == [total]
    assert stats["seen"].tolist() == [total + 3 * 7 * 2]
    union = set().union(*(held(inner, state, client) for client in range(3)))
    picks = stream.draw(state, torch.zeros(1).long(), torch.tensor([1]), 1000, Rng(0)).labelled
    assert set(picks.index[0, 0, : picks.count[0, 0]].tolist()) == union


def test_what_has_been_seen(tapes: Tapes) -> None:
    whole = static(tapes, Rng(0))
    assert whole.stats(whole.start())["seen"].tolist() == list(SIZES)


def test_buffers_in_a_run() -> None:
    """Two edge rounds a round: four rounds move every buffer three times, before their first edge round."""
    sim = cells(stream=partial(fifo, capacity=(50, 60), slots=7, scaled=False, activity=(1, 1)))
    assert sim.stream.lasts(4, 2) == ""
    state, seen = begin(sim), []
    for _ in range(4):
        state, _, _ = run_round(sim, state)
        seen.append(state.signals["seen"] - state.signals["samples"])
    assert [rows.tolist() for rows in seen] == [[7 * t] * 6 for t in range(4)]
    assert re.match(r"client \d has 2\d\d samples, but 40 rounds may need", sim.stream.lasts(40, 2))


@pytest.mark.parametrize("removal", ["fifo", "random"])
def test_requests_ahead_and_asked_for_go_round_a_tape_that_repeats(tapes: Tapes, removal: Any) -> None:
    stream = make(tapes, capacity=(10, 10), slots=3, at_end="repeat", removal=removal, **SURE)
    assert stream.chances_at(Clock(0)).tolist() == stream.chances_at(Clock(2, 1)).tolist() == [0] * 3
    assert stream.chances_at(Clock(2)).tolist() == [3] * 3
    assert stream.request_rate.tolist() == [1.0] * 3
    before, after = run(stream, 1), run(stream, 2)
    asked = [numbers.tolist() for numbers in stream.asked(before, after)]
    assert asked[1] == [int(tapes.index[30 + place]) for place in (10, 11, 0)]  # client 1 has 12 samples
    assert asked[0] == tapes.index[10:13].tolist()
    assert stream.ahead(before).tolist() == [numbers[0] for numbers in asked]
    assert stream.ahead(after).tolist() == [int(tapes.index[offset]) for offset in (13, 31, 55)]


def test_nothing_is_ahead_at_the_end_of_a_tape(tapes: Tapes) -> None:
    stream = make(tapes, capacity=(10, 10), slots=2, **SURE)
    assert stream.ahead(run(stream, 2)).tolist() == [int(tapes.index[12]), -1, int(tapes.index[54])]

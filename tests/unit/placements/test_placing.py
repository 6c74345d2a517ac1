"""The placing rule against every possible set."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fedradio.placements.service import placed


def worth(score: list[float], held: set[int], chosen: set[int], price: float) -> float:
    return sum(score[n] for n in sorted(chosen)) - price * len(chosen - held)


def test_by_hand() -> None:
    score, held = np.array([0.5, 0.4, 0.3]), np.array([False, False, True])
    assert placed(score, held, 1, 0.1).tolist() == [True, False, False]
    assert placed(score, held, 1, 0.3).tolist() == [False, False, True]
    assert placed(score, held, 1, 0.2).tolist() == [False, False, True]  # as good: what is there stays
    assert placed(score, held, 2, 0.2).tolist() == [True, False, True]
    assert placed(score, held, 3, 0.45).tolist() == [True, False, True]  # the second is not worth its way
    assert placed(score, held, 1, None) is held


def test_ties_and_room() -> None:
    even, nothing = np.full(4, 0.2), np.zeros(4, np.bool_)
    assert placed(even, nothing, 2, 0.0).tolist() == [True, True, False, False]  # lower numbers
    assert placed(even, nothing, 2, 0.2).tolist() == [False] * 4
    held = np.array([False, False, True, True])
    assert placed(np.zeros(4), held, 2, 0.0).tolist() == held.tolist()  # worthless files stay where there is room


def test_equals_enumeration() -> None:
    """1000 random cases: the same value to 1e-12, never more files than fit."""
    draw = np.random.default_rng(7)
    for _ in range(1000):
        files, capacity = int(draw.integers(1, 10)), int(draw.integers(1, 5))
        score = draw.random(files).round(int(draw.integers(1, 4)))  # ties too
        held = np.zeros(files, np.bool_)
        held[draw.permutation(files)[: draw.integers(0, capacity + 1)]] = True
        price = float(draw.choice([0.0, 0.1, 0.3, 1.0]))
        chosen = set(np.flatnonzero(placed(score, held, capacity, price)).tolist())
        before = set(np.flatnonzero(held).tolist())
        every = [set(c) for size in range(capacity + 1) for c in combinations(range(files), size)]
        best = max(worth(score.tolist(), before, each, price) for each in every)
        assert len(chosen) <= capacity
        assert worth(score.tolist(), before, chosen, price) == pytest.approx(best, abs=1e-12)

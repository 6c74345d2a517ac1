"""Serving: which missed files stay, against a plain list for recency, and the queue of the backhaul."""

from __future__ import annotations

import numpy as np
import pytest

from fedradio.placements.service import delivery_s, serve


def test_a_missed_file_stays_if_it_is_worth_more() -> None:
    held = np.array([[True, False, False]])
    value = np.array([[0.2, 0.3, 0.3]])
    hit = serve(held, value, 1, np.zeros(3, np.int64), np.array([1, 1, 2]))
    assert hit.tolist() == [False, True, False]
    assert held.tolist() == [[False, True, False]]  # file 2 is worth no more


def test_of_equals_the_lower_number_leaves() -> None:
    held = np.array([[True, False, True]])
    serve(held, np.array([[0.1, 0.2, 0.1]]), 2, np.zeros(1, np.int64), np.array([1]))
    assert held.tolist() == [[False, True, True]]


def test_room_is_filled_whatever_the_value_and_edges_are_apart() -> None:
    held = np.zeros((2, 3), np.bool_)
    hit = serve(held, np.zeros((2, 3)), 2, np.array([0, 1, 0, 1]), np.array([0, 0, 1, 0]))
    assert hit.tolist() == [False, False, False, True]
    assert held.tolist() == [[True, True, False], [True, False, False]]


@pytest.mark.parametrize("capacity", [1, 3, 5])
def test_recency_equals_a_plain_list(capacity: int) -> None:
    draw = np.random.default_rng(capacity)
    file = draw.integers(0, 8, 400)
    kept: list[int] = []
    expected = []
    for n in file.tolist():
        expected.append(n in kept)
        kept = [*(m for m in kept if m != n), n][-capacity:]
    held, value = np.zeros((1, 8), np.bool_), np.full((1, 8), -1.0)
    hit = serve(held, value, capacity, np.zeros(400, np.int64), file, np.arange(400))
    assert hit.tolist() == expected
    assert set(np.flatnonzero(held[0])) == set(kept)


def test_seconds_by_hand() -> None:
    hit = np.array([False, True, False, False])
    edge, bits = np.array([0, 0, 0, 1]), np.full(4, 2.0)
    assert delivery_s(hit, edge, bits, 2.0, 1.0, 0.5).tolist() == [3.5, 1.0, 5.5, 3.5]


@pytest.mark.parametrize("misses", [1, 2, 7])
def test_equal_misses_of_a_slot_queue(misses: int) -> None:
    """``j core_s + j(j+1)/2 L/backhaul_bps`` beside the access link's seconds."""
    seconds = delivery_s(np.zeros(misses, np.bool_), np.zeros(misses, np.int64), np.full(misses, 6e6), 1e6, 2e6, 0.25)
    assert seconds.sum() == pytest.approx(misses * 6 + misses * 0.25 + misses * (misses + 1) / 2 * 3)

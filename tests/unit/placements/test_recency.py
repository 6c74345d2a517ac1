"""Placement by recency."""

from __future__ import annotations

from support.caches import view_of

from fedradio.placements.kinds import lru


def test_the_last_request_counts() -> None:
    assert lru().recency
    assert lru().move_cost is None
    assert lru().scores(view_of()).tolist() == [[6, 3, 0], [0, 0, 0]]
    assert lru(name="old").name == "old"

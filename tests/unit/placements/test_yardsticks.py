"""The placement that knows the law, and the one that knows nothing."""

from __future__ import annotations

from support.caches import view_of

from fedradio.placements.kinds import oracle, random


def test_the_true_law_and_the_true_activity() -> None:
    assert oracle().scores(view_of()).tolist() == [[0, 0, 1.5], [0, 0.5, 0]]
    assert (oracle().needs, oracle().move_cost) == (frozenset({"law"}), 0.0)


def test_by_lot() -> None:
    first, again, other = (random().scores(view_of(seed=seed)) for seed in (1, 1, 2))
    assert first.equal(again)
    assert not first.equal(other)
    assert first.shape == (2, 3)
    assert not random().needs

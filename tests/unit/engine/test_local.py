"""What every kernel shares: groups of clients and the optimisers' arithmetic."""

from __future__ import annotations

from fedradio.engine.local import order


def test_groups_are_even_and_sorted() -> None:
    updates = [2, 5, 0, 5, 1, 3, 4]
    assert order(updates, 10) == [[1, 3, 6, 5, 0, 4]]
    assert order(updates, 4) == [[1, 3, 6], [5, 0, 4]]
    assert order(updates, 2) == [[1], [3, 6], [5], [0, 4]]
    assert order(updates, 1) == [[1], [3], [6], [5], [0], [4]]
    assert order([0, 0], 4) == []

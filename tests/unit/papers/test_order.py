"""Order of cost, and the time that is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.reproductions import made

from fedradio.papers.items import Item
from fedradio.papers.order import Pace, cheapest, left_s
from fedradio.papers.plan import plan_reproduction


def test_the_pace_by_hand() -> None:
    """10 expected seconds took 15, so that 90 more take 135; without experience expectations stand."""
    assert Pace().factor == 1.0
    assert 90 * Pace().after(10, 15).factor == pytest.approx(135)
    assert Pace().after(10, 15).after(30, 5).factor == pytest.approx(0.5)
    assert Pace().after(0.0, 3.0).factor == 1.0


def test_the_item_of_which_least_is_left_comes_first(make: Callable[..., Item], tmp_path: Path) -> None:
    item = make()
    more, less = plan_reproduction(item, "quick", (2, 3), tmp_path), plan_reproduction(item, "quick", (1,), tmp_path)
    assert cheapest([more, less]) is less
    assert cheapest([less, more]) is less


def test_what_is_shared_counts_once_and_what_is_done_not_at_all(make: Callable[..., Item], tmp_path: Path) -> None:
    """One seed is expected to take four minutes for two runs."""
    item = make()
    both, first = plan_reproduction(item, "quick", (1, 2), tmp_path), plan_reproduction(item, "quick", (1,), tmp_path)
    assert left_s([both, first], Pace()) == pytest.approx(2 * 240)
    assert left_s([first], Pace(1.0, 3.0)) == pytest.approx(3 * 240)
    made(first)
    assert left_s([first], Pace()) == 0.0

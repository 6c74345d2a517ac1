"""Order of cost, and the time that is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.reproductions import made

from fedradio.papers import costs
from fedradio.papers.items import Item
from fedradio.papers.order import Pace, Work, cheapest, work_left
from fedradio.papers.plan import group, plan_reproduction


def test_the_pace_by_hand() -> None:
    """10 expected seconds took 15, so that 90 more take 135; without experience expectations stand."""
    assert Pace().factor == 1.0
    assert 90 * Pace().after(10, 15).factor == pytest.approx(135)
    assert Pace().after(10, 15).after(30, 5).factor == pytest.approx(0.5)
    assert Pace().after(0.0, 3.0).factor == 1.0


def test_runs_share_the_cores_and_studies_do_not() -> None:
    assert Work(30.0, 5.0).wall_s(2) == 20.0
    assert Work(30.0, 5.0).wall_s(1) == Work(30.0, 5.0).cpu_s == 35.0


@pytest.fixture
def item(make: Callable[..., Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Item:
    """An item of two runs, of 90 and 30 CPU seconds a seed."""
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))
    item = make()
    labels = [group(row.runs[1]) for row in plan_reproduction(item, "quick", 1, tmp_path).rows]
    monkeypatch.setattr(costs, "shipped_costs", lambda: dict(zip(labels, (90.0, 30.0), strict=True)))
    return item


def test_the_item_of_which_least_is_left_comes_first(item: Item, tmp_path: Path) -> None:
    more, less = plan_reproduction(item, "quick", (2, 3), tmp_path), plan_reproduction(item, "quick", (1,), tmp_path)
    assert cheapest([more, less]) is less
    assert cheapest([less, more]) is less


def test_what_is_shared_counts_once_and_what_is_done_not_at_all(item: Item, tmp_path: Path) -> None:
    both, first = plan_reproduction(item, "quick", (1, 2), tmp_path), plan_reproduction(item, "quick", (1,), tmp_path)
    assert work_left([both, first]) == Work(240.0, 0.0)
    assert work_left([first]) == Work(120.0, 0.0)
    made(first)
    assert work_left([first]) == Work()

"""What can be reproduced, and at what cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.results import table4
from support.terminal import shown

from fedradio.papers.items import Item
from fedradio.papers.make import Trouble
from fedradio.papers.plan import Cost, Reproduction, expected, make_plan
from fedradio.report.terminal.reproducible import list_view, plan_view, rough


@pytest.fixture
def item() -> Item:
    return table4()


def test_the_list_shows_costs_and_what_is_there(item: Item, tmp_path: Path) -> None:
    costs = {"quick": Cost(4, 4, 200.0, 0.0), "paper": Cost(40, 10, 3600.0 * 30, 3600.0 * 20)}
    text = shown(list_view([(item, costs)], tmp_path), width=200)
    for words in ("RawHFL", "table4", "3 min, 2 seeds", "done", "30 h, 10 seeds", "10 of 40, 20 h left"):
        assert words in text


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (89, "89 s"), (100, "2 min"), (5400, "2 h"), (1e5, "28 h"), (1e6, "12 days")]
)
def test_rough_durations(seconds: float, words: str) -> None:
    assert rough(seconds) == words


def test_a_dry_run_lists_everything(item: Item, tmp_path: Path) -> None:
    plan: Reproduction = make_plan(item, "quick", None, tmp_path)
    first = plan.units[0].path
    text = shown(plan_view(plan, expected(plan), {first: Trouble("no data: fedradio data fetch mnist", 4)}), width=200)
    assert "demo rounds=6 seed 1" in text
    assert "study energy of demo rounds=6 seed 2" in text
    assert "no data: fedradio data fetch mnist" in text
    assert "in one place: not run at quick: does not fit into minutes" in text
    assert "3 to be made, about 3 min" in text  # four units share four minutes

"""Results beside published numbers, in words."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from support.costing import each_takes
from support.results import TEXT, result, table4
from support.terminal import shown

from fedradio.papers.absence import Absence, Reason
from fedradio.papers.items import Item, parse_item
from fedradio.papers.plan import Cost, Reproduction, expected, plan_reproduction
from fedradio.report.terminal.reproduction import (
    list_view,
    reproduction_view,
    result_markdown,
    result_text,
    result_view,
)


@pytest.fixture
def item() -> Item:
    return table4()


def test_cells_show_paper_ours_interval_and_difference(item: Item, tmp_path: Path) -> None:
    words = result_text(result(item, tmp_path, {1: 0.45, 2: 0.47}, {1: 2200.0}))
    assert words.header == ("", "quantity", "paper", "ours", "95 % interval", "difference")
    _, quantity, paper, ours, between, difference = words.rows[0]
    assert (quantity, paper, ours) == ("accuracy (1)", "0.4500 ± 0.2000", "0.4600 ± 0.0141")
    assert (between, difference) == ("0.3329 to 0.5871", "+0.0100")
    assert words.rows[1] == ("", "energy [J]", "2000", "2200", "-", "+200 (+10 %)")
    assert words.notes[0] == "read off a picture"


def test_disagreement_is_marked_and_counted(item: Item, tmp_path: Path) -> None:
    words = result_text(result(item, tmp_path, {1: 0.6}, {1: 2000.0}))
    assert [row[-1] for row in words.rows] == ["!", "", ""]
    assert words.verdict.startswith("1 of 2 published numbers agree")
    assert "accuracy within 0.02" in words.verdict
    assert "energy within 15 %" in words.verdict
    assert words.verdict.endswith("1 more cannot be compared")


def test_skipped_rows_keep_their_published_numbers_and_say_why(item: Item, tmp_path: Path) -> None:
    words = result_text(result(item, tmp_path, {1: 0.45}, {1: 2000.0}))
    assert words.rows[2][:4] == ("in one place", "accuracy", "0.5000", "not run at quick scale (2)")
    assert len(words.rows) == 3  # its energy was not published
    assert words.notes[1] == "does not fit into minutes"


def test_lost_seeds_and_missing_data_are_said(item: Item, tmp_path: Path) -> None:
    partly = result_text(result(item, tmp_path, {1: 0.45}, {1: 2000.0}, {2: Absence(Reason.DIVERGED, "round 3")}))
    assert "1 of 2 seeds (2)" in partly.rows[0][3]
    assert partly.notes[1] == "seed 2: diverged: round 3"
    whole = result(item, tmp_path, {}, {})
    for why, text, notes in (
        (Absence(Reason.NO_DATA, "fedradio data fetch mnist"), "no data: fedradio data fetch mnist", 2),
        (Absence(Reason.DIVERGED, "round 3: NaN"), "diverged (2)", 3),
        (Absence(Reason.UNFINISHED), "unfinished", 2),
    ):
        cells = {
            **whole.entries[0],
            "accuracy": dataclasses.replace(whole.entries[0]["accuracy"], lost={1: why, 2: why}),
        }
        words = result_text(dataclasses.replace(whole, entries=(cells, whole.entries[1])))
        assert words.rows[0][3] == text
        assert len(words.notes) == notes


def test_an_item_of_which_nothing_is_run_says_how_to_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXT.replace("{spec: demo, set: [rounds=6]}", "{skip: takes hours}")
    one = result(parse_item(text, "rawhfl", "table4"), tmp_path, {}, {})
    each_takes(monkeypatch, [one.item], 3600.0)  # ten seeds of two runs and a study
    words = result_text(one)
    assert words.header == ("", "quantity", "paper", "ours")
    assert words.verdict == "none of 3 published numbers can be compared"
    for page in (shown(result_view(one, []), width=200), result_markdown(one, [])):
        assert "`fedradio reproduce rawhfl table4 --scale paper` takes 30 h of CPU time" in page
    assert "nothing left to make" in shown(reproduction_view(one.reproduction, {}, {}), width=200)


def test_terminal_and_markdown_say_the_same(item: Item, tmp_path: Path) -> None:
    one = result(item, tmp_path, {1: 0.6}, {1: 2000.0})
    page = result_markdown(one, [tmp_path / "table4.png", tmp_path / "table4.pdf"])
    text = shown(result_view(one, [tmp_path / "table4.md"]), width=200)
    for words in (
        "RawHFL table4",
        "six rounds",
        "0.4500 ± 0.2000",
        "+0.1500",
        "a step is one mini-batch",
        "not run at",
    ):
        assert words in page
        assert words in text
    assert "| everybody | accuracy (1) | 0.4500 ± 0.2000 | 0.6000 | +0.1500 | ! |" in page
    assert page.count("![") == 1
    assert "table4.md" in text


def test_the_list_shows_costs_and_what_is_there(item: Item, tmp_path: Path) -> None:
    costs = {"quick": Cost(2, 4, 4, 200.0, 0.0), "paper": Cost(10, 40, 10, 3600.0 * 30, 3600.0 * 20)}
    text = shown(list_view([(item, costs)], tmp_path), width=200)
    for words in ("RawHFL", "table4", "3 min, 2 seeds", "done", "30 h, 10 seeds", "10 of 40, 20 h left"):
        assert words in text


def test_a_dry_run_lists_everything(item: Item, tmp_path: Path) -> None:
    plan: Reproduction = plan_reproduction(item, "quick", None, tmp_path)
    blocked = {plan.units[0].path: Absence(Reason.NO_DATA, "fedradio data fetch mnist", 4)}
    cpu_s = dict.fromkeys(expected(plan), 60.0)
    text = shown(reproduction_view(plan, cpu_s, blocked), width=200)
    assert "demo rounds=6 seed 1" in text
    assert "study energy of demo rounds=6 seed 2" in text
    assert "no data: fedradio data fetch mnist" in text
    assert "in one place: not run at quick scale: does not fit into minutes" in text
    assert "3 to make, about 3 min of CPU time" in text
    shared = shown(reproduction_view(plan, cpu_s, blocked, {plan.units[1].work.path}), width=200)
    assert "2 to make, about 2 min of CPU time, 1 counted above" in shared

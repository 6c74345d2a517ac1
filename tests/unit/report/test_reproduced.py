"""Results in words and pictures."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from rich.console import Console, RenderableType

from fedradio.papers.collect import Entry, Result, RowResult
from fedradio.papers.items import Item, parse_item
from fedradio.papers.make import Trouble
from fedradio.papers.plan import Cost, Reproduction, expected, plan_reproduction
from fedradio.report.figures.published import draw, looks, save_picture
from fedradio.report.style import style
from fedradio.report.terminal.reproduction import (
    list_view,
    reproduction_view,
    result_markdown,
    result_text,
    result_view,
    rough,
)

TEXT = """
title: Accuracy and energy
source: a paper, Table IV
show: table
columns:
  accuracy: {title: accuracy, measure: accuracy, within: 0.02}
  energy: {title: energy, study: energy, measure: total_j, unit: J, digits: 0, within_share: 0.15}
rows:
  - label: everybody
    published: {accuracy: [0.45, 0.2], energy: [2000]}
    quick: {spec: demo, set: [rounds=6]}
    paper: {spec: demo}
    notes: {accuracy: read off a picture}
  - label: in one place
    algorithm: central
    published: {accuracy: [0.5]}
    quick: {skip: does not fit into minutes}
    paper: {spec: digits_central}
footnotes: ["a step is one mini-batch"]
scales:
  quick: {seeds: 2, minutes: 4, about: six rounds}
  paper: {seeds: 10, minutes: 1800, about: as published}
"""


@pytest.fixture
def item() -> Item:
    return parse_item(TEXT, "rawhfl", "table4")


def result(
    item: Item, tmp_path: Path, accuracy: dict[int, float], energy: dict[int, float], lost: dict[int, str] | None = None
) -> Result:
    plan = plan_reproduction(item, "quick", None, tmp_path)
    found = tuple(RowResult(row, {}, {}, {}) for row in plan.rows)
    values = ({"accuracy": accuracy, "energy": energy}, {"accuracy": {}, "energy": {}})
    entries = tuple(
        {
            key: Entry(column, row.published.get(key), mine[key], (lost or {}) if mine[key] else {}, row.notes.get(key))
            for key, column in item.columns.items()
        }
        for row, mine in zip(item.rows, values, strict=True)
    )
    return Result(plan, found, entries)


def shown(what: RenderableType) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(what)
    return capture.get()


def test_entries_show_paper_ours_interval_and_difference(item: Item, tmp_path: Path) -> None:
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
    assert words.rows[2][:4] == ("in one place", "accuracy", "0.5000", "not run at quick (2)")
    assert len(words.rows) == 3  # its energy was not published
    assert words.notes[1] == "does not fit into minutes"


def test_lost_seeds_and_missing_data_are_said(item: Item, tmp_path: Path) -> None:
    partly = result_text(result(item, tmp_path, {1: 0.45}, {1: 2000.0}, {2: "diverged: round 3"}))
    assert "1 of 2 seeds (2)" in partly.rows[0][3]
    assert partly.notes[1] == "seed 2: diverged: round 3"
    whole = result(item, tmp_path, {}, {})
    for why, text, notes in (
        ("no data: fedradio data fetch mnist", "no data: fedradio data fetch mnist", 2),
        ("diverged: round 3: NaN", "diverged (2)", 3),
        ("unfinished", "unfinished", 2),
    ):
        entries = {
            **whole.entries[0],
            "accuracy": dataclasses.replace(whole.entries[0]["accuracy"], lost={1: why, 2: why}),
        }
        words = result_text(dataclasses.replace(whole, entries=(entries, whole.entries[1])))
        assert words.rows[0][3] == text
        assert len(words.notes) == notes


def test_an_item_of_which_nothing_is_run_says_how_to_run_it(tmp_path: Path) -> None:
    text = TEXT.replace("{spec: demo, set: [rounds=6]}", "{skip: takes hours}")
    one = result(parse_item(text, "rawhfl", "table4"), tmp_path, {}, {})
    words = result_text(one)
    assert words.header == ("", "quantity", "paper", "ours")
    assert words.verdict == "none of 3 published numbers can be compared"
    for page in (shown(result_view(one, [])), result_markdown(one, [])):
        assert "fedradio reproduce rawhfl table4 --scale paper takes 30 h" in page
    assert "nothing to be made" in shown(reproduction_view(one.reproduction, {}, {}))


def test_terminal_and_markdown_say_the_same(item: Item, tmp_path: Path) -> None:
    one = result(item, tmp_path, {1: 0.6}, {1: 2000.0})
    page = result_markdown(one, [tmp_path / "table4.png", tmp_path / "table4.pdf"])
    text = shown(result_view(one, [tmp_path / "table4.md"]))
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
    costs = {"quick": Cost(4, 4, 200.0, 0.0), "paper": Cost(40, 10, 3600.0 * 30, 3600.0 * 20)}
    text = shown(list_view([(item, costs)], tmp_path))
    for words in ("RawHFL", "table4", "3 min, 2 seeds", "done", "30 h, 10 seeds", "10 of 40, 20 h left"):
        assert words in text


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (89, "89 s"), (100, "2 min"), (5400, "2 h"), (1e5, "28 h"), (1e6, "12 days")]
)
def test_rough_durations(seconds: float, words: str) -> None:
    assert rough(seconds) == words


def test_a_dry_run_lists_everything(item: Item, tmp_path: Path) -> None:
    plan: Reproduction = plan_reproduction(item, "quick", None, tmp_path)
    first = plan.units[0].path
    text = shown(reproduction_view(plan, expected(plan), {first: Trouble("no data: fedradio data fetch mnist", 4)}))
    assert "demo rounds=6 seed 1" in text
    assert "study energy of demo rounds=6 seed 2" in text
    assert "no data: fedradio data fetch mnist" in text
    assert "in one place: not run at quick: does not fit into minutes" in text
    assert "3 to be made, about 3 min" in text  # four units share four minutes


X = list(range(1, 11))

SERIES: dict[str, dict[str, Any]] = {
    "curves": {
        "seeds": [1, 2],
        "x": X,
        "mean": [0.1 * x for x in X],
        "low": [0.1 * x - 0.05 for x in X],
        "high": [0.1 * x + 0.05 for x in X],
        "points": [[5.0, 0.5], [50.0, 0.9]],
        "level": 0.9,
    },
    "top": {"seeds": [1], "mean": [0.4, 0.6], "low": [0.4, 0.6], "high": [0.4, 0.6], "spread": [0.1, 0.1]},
    "cdf": {"unit": "energy [J]", "samples": X, "median": 4.0},
    "bound": {"x": X, "y": [10.0**-x for x in X]},
    "bars": {
        "bars": {
            "a": {"title": "a", "unit": "bit", "mean": 3.0, "half": None, "published": 2.0},
            "b": {"title": "b", "unit": "bit", "mean": None, "half": None, "published": None},
        }
    },
    "counts": {"eligible": [4, 5, 6], "selected": [1, 2, 0]},
    "labels": {"shares": [[0.5, 0.5], [0.1, 0.9]], "at": [1, 100]},
    "map": {
        "network": {
            "positions": [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0]], [[2.0, 2.0]]],
            "parents": [[0, 0], [0]],
        }
    },
}


def drawing(show: str, rows: int = 2) -> dict[str, Any]:
    series = [{"label": f"row {n}", "algorithm": "fedavg", "row": n, **SERIES[show]} for n in range(rows)]
    return {"show": show, "title": "t", "x": "rounds", "y": "accuracy", "series": series}


@pytest.mark.parametrize("show", SERIES)
def test_every_kind_of_picture_is_drawn_at_column_width(show: str, tmp_path: Path) -> None:
    files = save_picture(drawing(show), tmp_path / "fig1")
    assert [file.name for file in files] == ["fig1.pdf", "fig1.png"]
    assert all(file.stat().st_size > 1000 for file in files)
    assert draw(drawing(show)).get_figwidth() == pytest.approx(3.5)


def test_a_flat_network_has_no_edges_on_its_map() -> None:
    picture = drawing("map", 1)
    picture["series"][0]["network"] = {"positions": [[[0.0, 1.0]], [[0.0, 0.0]]], "parents": [[0]]}
    labels = [text.get_text() for text in draw(picture).legends[0].get_texts()]
    assert labels == ["client (1)", "server (1)"]


def test_nothing_is_drawn_without_data(tmp_path: Path) -> None:
    assert save_picture(drawing("curves", 0), tmp_path / "fig1") == []
    assert list(tmp_path.iterdir()) == []


def test_published_points_are_hollow_and_lie_inside() -> None:
    axes = draw(drawing("curves", 1)).axes[0]
    hollow = [np.array(line.get_data()).tolist() for line in axes.lines if line.get_markerfacecolor() == "none"]
    assert hollow == [[[5.0], [50.0]], [[], []]]  # round 50 was not run; the second is that of the legend
    levels = [line for line in axes.lines if list(line.get_ydata()) == [90.0, 90.0]]
    assert len(levels) == 1
    assert {"published", "published, at the end"} <= {text.get_text() for text in axes.figure.legends[0].get_texts()}


def test_rows_of_one_algorithm_look_different_and_algorithms_keep_their_colour() -> None:
    series = drawing("curves", 20)["series"]
    series[1]["algorithm"] = "central"
    found = looks(series)
    assert found[0] == style("fedavg")
    assert found[1] == style("central")
    assert len(set(found)) == 20
    assert to_hex(found[2].colour) != to_hex(found[0].colour)

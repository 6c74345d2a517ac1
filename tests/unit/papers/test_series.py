"""Numbers of pictures, from studies and runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.reproductions import made, row

from fedradio.papers import make as making
from fedradio.papers.items import Item
from fedradio.papers.plan import plan_reproduction
from fedradio.papers.series import picture
from fedradio.papers.studies import STUDIES
from fedradio.spec.spec import Spec

Make = Callable[..., Item]


def test_another_item_uses_the_same_runs(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(plan_reproduction(make(), "quick", None, tmp_path / "out"))
    curves = make(
        show="curves",
        axes={"x": "rounds", "y": "accuracy"},
        columns={},
        rows=[row(tmp_path, "one", published={}), row(tmp_path, "two", "rule.lr=0.05", published={})],
    )
    monkeypatch.setattr(making, "run_batch", lambda *_, **__: pytest.fail("nothing is to be run"))
    result, _ = made(plan_reproduction(curves, "quick", None, tmp_path / "out"))
    drawn = picture(result)
    assert drawn is not None
    assert [one["x"] for one in drawn["series"]] == [[1.0, 2.0]] * 2


@pytest.mark.parametrize(("show", "key", "value"), [("bound", "y", [1.5, 1.0]), ("cdf", "unit", "m")])
def test_pictures_from_studies(
    make: Make, tmp_path: Path, calls: list[int], show: str, key: str, value: object
) -> None:
    item = make(show=show, study="heights", columns={}, rows=[row(tmp_path, "one", published={})])
    drawn = picture(made(plan_reproduction(item, "quick", 2, tmp_path / "out"))[0])
    assert drawn is not None
    assert drawn["series"][0][key] == value


def test_pictures_from_runs(make: Make, tmp_path: Path) -> None:
    columns = {
        "early": {"title": "after one", "measure": "accuracy@1", "within": 0.1},
        "last": {"title": "at the end", "measure": "accuracy", "within": 0.1},
    }
    rows = [row(tmp_path, "one", published={"early": [0.2], "last": [0.6]}), row(tmp_path, "two", published={})]
    item = make(show="curves", axes={"x": "rounds", "y": "accuracy"}, columns=columns, rows=rows)
    result, _ = made(plan_reproduction(item, "quick", 2, tmp_path / "out"))
    drawn = picture(result)
    assert drawn is not None
    first, second = drawn["series"]
    assert [one["label"] for one in drawn["series"]] == ["one", "two"]
    assert (first["points"], first["level"]) == ([[1.0, 0.2]], 0.6)
    assert (second["points"], second["level"]) == ([], None)
    assert first["seeds"] == [1, 2]
    ends = [run.evaluations[-1].metrics["accuracy"] for run in result.rows[0].runs.values()]
    assert first["mean"][-1] == pytest.approx(sum(ends) / 2)
    axes = {"x": "rounds", "y": "accuracy", "legend": "last"}
    legend = make(show="curves", axes=axes, columns=columns, rows=rows)
    named = picture(made(plan_reproduction(legend, "quick", 2, tmp_path / "out"))[0])
    assert named is not None
    assert named["series"][0]["label"] == f"one ({sum(ends) / 2:.4f})"
    assert result.entries[0]["early"].values.keys() == {1, 2}


def test_edge_rounds_put_different_periods_side_by_side(make: Make, tmp_path: Path, cells: Callable[..., Spec]) -> None:
    (tmp_path / "one.yaml").write_text(cells().yaml(), encoding="utf-8")
    rows = [row(tmp_path, "one", published={}), row(tmp_path, "two", published={})]
    item = make(show="curves", axes={"x": "edge_rounds", "y": "accuracy"}, columns={}, rows=rows)
    drawn = picture(made(plan_reproduction(item, "quick", None, tmp_path / "out"))[0])
    assert drawn is not None
    assert [one["x"] for one in drawn["series"]] == [[2.0, 4.0], [1.0, 2.0]]


def test_rows_without_data_are_left_out_of_pictures(make: Make, tmp_path: Path) -> None:
    item = make(
        show="curves", axes={"x": "joules", "y": "accuracy"}, columns={}, rows=[row(tmp_path, "one", published={})]
    )
    drawn = picture(made(plan_reproduction(item, "quick", None, tmp_path / "out"))[0])
    assert drawn is not None
    assert drawn["series"] == []  # this network has no joules


def test_top_guesses_of_a_row_that_a_study_knows(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row whose published numbers are all a study's is not run, and drawn as the study found; others are runs."""
    found = {"top_popular": 0.2, "top": [0.2, 0.3], "top_spread": [0.1, 0.05]}
    monkeypatch.setitem(STUDIES, "reference", lambda *_: found)
    columns = {
        "first": {"title": "top-1", "measure": "top@1", "within": 0.1},
        "popular": {"title": "most popular", "study": "reference", "measure": "top_popular", "within": 0.1},
    }
    rows = [row(tmp_path, "one", published={"first": [0.5]}), row(tmp_path, "two", published={"popular": [0.1]})]
    item = make(show="top", columns=columns, rows=rows)
    result, _ = made(plan_reproduction(item, "quick", 1, tmp_path / "out"))
    assert [len(one.runs) for one in result.rows] == [1, 0]
    drawn = picture(result)
    assert drawn is not None
    run, known = drawn["series"]
    assert run["mean"][0] == pytest.approx(result.entries[0]["first"].values[1])
    assert (known["mean"], known["spread"], known["seeds"]) == ([0.2, 0.3], [0.1, 0.05], [1])
    assert result.entries[1]["popular"].values == {1: 0.2}
    assert result.entries[1]["first"].values == {}

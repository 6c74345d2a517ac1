"""What was found beside what was published."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.reproductions import made, row

from fedradio.papers.absence import Absence, Reason
from fedradio.papers.collect import collect, plain_result
from fedradio.papers.items import Item
from fedradio.papers.pairs import differences, ratios
from fedradio.papers.plan import plan_reproduction
from fedradio.spec.spec import Spec

Make = Callable[..., Item]


def test_a_seed_that_is_lost_leaves_the_others(make: Make, tmp_path: Path) -> None:
    plan = plan_reproduction(make(), "quick", 2, tmp_path / "out")
    made(plan)
    lost = plan.rows[0].runs[2].path
    failed = Absence(Reason.FAILED, "no luck", 1)
    cell = collect(plan, {lost: failed}).entries[0]["accuracy"]
    assert list(cell.values) == [1]
    assert cell.lost == {2: failed}
    assert str(failed) == "failed: no luck"


def test_runs_of_another_spec_are_not_used(make: Make, tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    plan = plan_reproduction(make(), "quick", None, tmp_path / "out")
    made(plan)
    (tmp_path / "one.yaml").write_text(tiny("name=one", "rounds=3").yaml(), encoding="utf-8")
    result, trouble = made(plan)
    changed, same = (cells["accuracy"] for cells in result.entries)
    assert changed.values == {}
    assert changed.lost[1].reason is Reason.FAILED
    assert "a different rounds" in changed.lost[1].detail
    assert len(same.values) == 1
    assert [one.exit_code for one in trouble.values()] == [5]


def test_rows_are_skipped_with_their_reason(make: Make, tmp_path: Path) -> None:
    rows = [row(tmp_path, "one", quick={"skip": "days"}), row(tmp_path, "two")]
    plan = plan_reproduction(make(rows=rows), "quick", None, tmp_path / "out")
    assert len(plan.units) == 1
    plain = plain_result(made(plan)[0], None)
    assert plain["rows"][0]["skipped"] == "days"
    assert plain["rows"][0]["cells"]["accuracy"]["mean"] is None


STUDIED = {"found": {"title": "found", "study": "heights", "measure": "mean", "within": 0.5}}


def test_disagreement_is_marked_and_deviations_are_of_seeds(make: Make, tmp_path: Path, calls: list[int]) -> None:
    item = make(columns=STUDIED, rows=[row(tmp_path, "one", published={"found": [4.0, 0.1]})])
    result, _ = made(plan_reproduction(item, "quick", 2, tmp_path / "out"))
    cell = result.entries[0]["found"]
    assert cell.agrees is False
    assert cell.difference == pytest.approx(-2.5)
    assert cell.deviation == pytest.approx(0.5**0.5)
    plain = json.loads(json.dumps(plain_result(result, None), allow_nan=False))["rows"][0]["cells"]["found"]
    assert plain["values"] == {"1": 1.0, "2": 2.0}
    assert (plain["agrees"], plain["published"]) == (False, [4.0, 0.1])


def test_columns_about_two_rows_are_taken_by_seed(make: Make, tmp_path: Path) -> None:
    columns = {
        "accuracy": {"title": "accuracy", "measure": "accuracy", "within": 1.0},
        "times": {"title": "times", "measure": "ratio", "of": "accuracy", "against": "two"},
        "meets": {"title": "meets", "measure": "crossing", "against": "two"},
    }
    rows = [row(tmp_path, "one"), row(tmp_path, "two", "rule.lr=0.0001", against={"times": "one"})]
    plan = plan_reproduction(make(columns=columns, rows=rows), "quick", 2, tmp_path / "out")
    result, _ = made(plan)
    one, two = result.entries
    for seed in (1, 2):
        ours, theirs = one["accuracy"].values[seed], two["accuracy"].values[seed]
        assert one["times"].values[seed] == pytest.approx(ours / theirs)
        assert two["times"].values[seed] == pytest.approx(theirs / ours)
    assert all(met >= 1.0 for met in one["meets"].values.values())
    assert two["meets"].values == {}  # it is not compared with itself
    failed = Absence(Reason.FAILED, "no luck", 1)
    entry = collect(plan, {plan.rows[1].runs[2].path: failed}).entries[0]["times"]
    assert list(entry.values) == [1]
    assert entry.lost == {2: failed.of_row("two")}
    assert str(entry.lost[2]) == "two: failed: no luck"


def test_ratios_of_studies_and_of_nothing(make: Make, tmp_path: Path, calls: list[int]) -> None:
    assert ratios({1: 3.0, 2: 1.0, 3: 1.0}, {1: 2.0, 2: 0.0}) == {1: 1.5}
    assert differences({1: 3.0, 2: 1.0, 3: 1.0}, {1: 2.0, 2: 0.0}) == {1: 1.0, 2: 1.0}
    columns = {"times": {"title": "times", "study": "heights", "measure": "ratio", "of": "mean", "against": "two"}}
    rows = [row(tmp_path, name, published={}) for name in ("one", "two")]
    result, _ = made(plan_reproduction(make(columns=columns, rows=rows), "quick", 2, tmp_path / "out"))
    assert result.entries[0]["times"].values == {1: 1.0, 2: 1.0}

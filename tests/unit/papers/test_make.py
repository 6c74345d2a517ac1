"""Runs and studies are made once; what fails or lacks data stops nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.reproductions import WILD, made, row
from support.sealing import blank_summary, write_summary

from fedradio.core.errors import DataError, SpecError
from fedradio.papers import make as making
from fedradio.papers import plan as planning
from fedradio.papers.absence import Absence, Reason
from fedradio.papers.collect import collect, plain_result
from fedradio.papers.items import Item
from fedradio.papers.make import load_specs, make_runs
from fedradio.papers.plan import cost, expected, group, plan_reproduction
from fedradio.papers.studies import STUDIES
from fedradio.runs.speed import measured, note_run
from fedradio.spec.spec import Spec

Make = Callable[..., Item]


def test_what_is_there_is_not_made_resume_command(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_reproduction(make(), "quick", None, tmp_path / "out")
    first, trouble = made(plan)
    assert not trouble
    assert all(len(cells["accuracy"].values) == 1 for cells in first.entries)
    monkeypatch.setattr(making, "run_batch", lambda *_, **__: pytest.fail("nothing is to be run"))
    again, _ = made(plan)
    assert plain_result(again, None) == plain_result(first, None)
    assert cost(plan).left_s == 0
    assert cost(plan).done == 2


def test_rounds_of_an_interrupted_run_are_what_its_estimate_is_made_of(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after three rounds of 9, 3 and 5 s, the last evaluated: 3 s a round, 2 s an evaluation; another row is
    complete, and took 7 s."""
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))
    rows = [
        row(tmp_path, "one", "rounds=10", "eval_every=5"),
        row(tmp_path, "two", "rule.lr=0.3"),
        row(tmp_path, "two", "rule.lr=0.7", label="three"),
    ]
    plan = plan_reproduction(make(rows=rows), "quick", None, tmp_path / "out")
    specs = load_specs(plan.units)
    one, two, _ = (each.runs[1] for each in plan.rows)

    def ends(*_: object, **__: object) -> None:
        note_run(specs[one.path], [(9.0, False), (3.0, False), (5.0, True)])
        two.path.mkdir(parents=True)
        write_summary(two.path, blank_summary(specs[two.path], cpu_s=7.0))
        raise KeyboardInterrupt

    monkeypatch.setattr(making, "run_batch", ends)
    with pytest.raises(KeyboardInterrupt):
        make_runs(plan, specs)
    assert measured().units == {group(one): 10 * 3 + 2 * 2, group(two): 7}
    assert expected(plan)[one.path] == 34


def test_a_run_that_diverges_stops_nothing_else_and_is_said(make: Make, tmp_path: Path) -> None:
    rows = [row(tmp_path, "one", *WILD), row(tmp_path, "two")]
    plan = plan_reproduction(make(rows=rows), "quick", None, tmp_path / "out")
    result, trouble = made(plan)
    bad, fine = (cells["accuracy"] for cells in result.entries)
    assert bad.lost[1].reason is Reason.DIVERGED
    assert bad.lost[1].detail
    assert (bad.values, bad.agrees) == ({}, None)
    assert len(fine.values) == 1
    assert [one.exit_code for one in trouble.values()] == [3]
    later = collect(plan)  # from the folder alone
    assert later.entries[0]["accuracy"].lost == {1: Absence(Reason.DIVERGED)}


def test_rows_whose_data_are_missing_say_so_while_others_run(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "empty"))
    rows = [row(tmp_path, "one", "data.source=cifar10", "model=cnn3x3"), row(tmp_path, "two")]
    result, trouble = made(plan_reproduction(make(rows=rows), "quick", None, tmp_path / "out"))
    absent, there = (cells["accuracy"] for cells in result.entries)
    assert absent.lost == {1: Absence(Reason.NO_DATA, "fedradio data fetch cifar10", DataError.exit_code)}
    assert len(there.values) == 1
    assert [one.exit_code for one in trouble.values()] == [DataError.exit_code]


def test_problems_of_all_specs_come_together(make: Make, tmp_path: Path) -> None:
    rows = [row(tmp_path, "one", "rule.lrr=1"), row(tmp_path, "two", "rounds=0")]
    with pytest.raises(SpecError) as refusal:
        load_specs(plan_reproduction(make(rows=rows), "quick", None, tmp_path).units)
    assert [problem.path for problem in refusal.value.problems] == [
        f"{tmp_path}/one.yaml: rule.lrr",
        f"{tmp_path}/two.yaml: rounds",
    ]


STUDIED = {"found": {"title": "found", "study": "heights", "measure": "mean", "within": 0.5}}


def test_studies_are_kept_and_made_once(make: Make, tmp_path: Path, calls: list[int]) -> None:
    item = make(columns=STUDIED, rows=[row(tmp_path, "one", published={"found": [1.2]})])
    plan = plan_reproduction(item, "quick", 2, tmp_path / "out")
    assert not plan.rows[0].runs
    cell = made(plan)[0].entries[0]["found"]
    assert cell.values == {1: 1.0, 2: 2.0}
    assert cell.agrees is True
    made(plan)
    assert calls == [1, 2]


def test_a_study_of_another_spec_or_version_is_made_resume_command(
    make: Make, tmp_path: Path, calls: list[int], tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    item = make(columns=STUDIED, rows=[row(tmp_path, "one", published={})])
    plan = plan_reproduction(item, "quick", None, tmp_path / "out")
    made(plan)
    (tmp_path / "one.yaml").write_text(tiny("name=one", "rounds=3").yaml(), encoding="utf-8")
    made(plan)
    for module in (planning, making):
        monkeypatch.setattr(module, "__version__", "other")
    made(plan)
    made(plan)
    assert calls == [1, 1, 1]


def test_studies_of_the_same_plan_are_stored_together(
    make: Make, tmp_path: Path, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> dict[str, Any]:
        raise SpecError([])

    monkeypatch.setattr(making, "SAME_PLAN", ("heights", "depths", "fails"))
    monkeypatch.setitem(STUDIES, "depths", lambda spec, _: {"mean": -float(spec.seed)})
    monkeypatch.setitem(STUDIES, "fails", fails)
    item = make(columns=STUDIED, rows=[row(tmp_path, "one", published={"found": [1.2]})])
    assert made(plan_reproduction(item, "quick", 1, tmp_path / "out"))[1] == {}
    deep = make(
        columns={"found": STUDIED["found"] | {"study": "depths"}}, rows=[row(tmp_path, "one", published={"found": [1]})]
    )
    monkeypatch.setitem(STUDIES, "depths", fails)  # what is stored is enough
    assert made(plan_reproduction(deep, "quick", 1, tmp_path / "out"))[0].entries[0]["found"].values == {1: -1.0}
    assert calls == [1]


def test_a_study_that_fails_is_said(make: Make, tmp_path: Path, calls: list[int]) -> None:
    item = make(columns=STUDIED, rows=[row(tmp_path, "one", published={})])
    cell = made(plan_reproduction(item, "quick", 3, tmp_path / "out"))[0].entries[0]["found"]
    assert list(cell.values) == [1, 2]
    assert cell.lost[3].reason is Reason.FAILED

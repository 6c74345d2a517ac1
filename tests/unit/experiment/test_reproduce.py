"""Planning, running and reading published tables and figures, on specs that run in a blink."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fedradio.core.errors import DataError, DivergenceError, SpecError
from fedradio.papers import make as making
from fedradio.papers import plan as planning
from fedradio.papers.collect import Result, collect, plain_result
from fedradio.papers.items import Item, parse_item
from fedradio.papers.make import Trouble, blocked, load_specs, make_runs, make_studies
from fedradio.papers.plan import Reproduction, cost, expected, folder_name, plan_reproduction
from fedradio.papers.series import picture
from fedradio.papers.studies import STUDIES
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps.pool import Outcome, RunTask, run_batch

Make = Callable[..., Item]

WILD = ("rule.lr=10000", "algorithm.server_lr=10000", "hops.0.policy.steps=60", "rounds=30")
"""Diverges."""


@pytest.fixture
def make(tmp_path: Path, tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> Make:
    """An item on two tiny specs, with changes; its study counts its calls."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(tiny(f"name={name}").yaml(), encoding="utf-8")

    def item(**changes: Any) -> Item:
        plain = {
            "title": "Accuracy",
            "source": "a paper",
            "show": "table",
            "columns": {"accuracy": {"title": "accuracy", "measure": "accuracy", "within": 1.0}},
            "rows": [row(tmp_path, "one"), row(tmp_path, "two", "rule.lr=0.05")],
            "scales": {
                "quick": {"seeds": 1, "minutes": 4, "about": "less"},
                "paper": {"seeds": 2, "minutes": 60, "about": "all"},
            },
        }
        return parse_item(json.dumps(plain | changes), "whfl", "fig9")

    return item


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are made here, not in processes of their own, which take longer to start than these runs."""

    def run_batch(jobs: Sequence[RunTask], **options: Any) -> list[Outcome]:
        return [_run(job) for job in jobs]

    monkeypatch.setattr(making, "run_batch", run_batch)


def _run(job: RunTask) -> Outcome:
    try:
        run(job.spec, job.folder, workers=1)
    except DivergenceError as error:
        return Outcome(job, "diverged", str(error), fresh=True, exit_code=error.exit_code)
    return Outcome(job, "complete", None, fresh=True)


def row(folder: Path, name: str, *changes: str, **more: Any) -> dict[str, Any]:
    source = {"spec": str(folder / f"{name}.yaml"), "set": list(changes)}
    return {"label": name, "published": {"accuracy": [0.5, 0.1]}, "quick": source, "paper": source} | more


def made(plan: Reproduction, **options: Any) -> tuple[Result, dict[Path, Trouble]]:
    specs = load_specs(plan.units)
    trouble = blocked(plan, specs) | make_studies(plan, specs) | make_runs(plan, specs, **options)
    return collect(plan, trouble), trouble


def test_folders_are_named_by_spec_overrides_and_seed(make: Make) -> None:
    plain, changed = (one.quick for one in make().rows)
    assert folder_name(plain, 3).endswith("one.yaml-seed3")
    assert "/" not in folder_name(plain, 3)
    assert len(folder_name(changed, 3)) == len(folder_name(plain, 3)) + 9
    assert folder_name(changed, 3) != folder_name(changed.model_copy(update={"set": ("rule.lr=0.06",)}), 3)


def test_seeds_are_those_of_the_scale_or_as_asked(make: Make, tmp_path: Path) -> None:
    assert plan_reproduction(make(), "paper", None, tmp_path).seeds == (1, 2)
    plan = plan_reproduction(make(), "quick", 3, tmp_path)
    assert plan.seeds == (1, 2, 3)
    assert plan.changed_seeds
    assert {spec.seed for spec in load_specs(plan.units).values()} == {1, 2, 3}


def test_rows_on_the_same_spec_share_its_runs(make: Make, tmp_path: Path) -> None:
    both = [row(tmp_path, "one"), row(tmp_path, "one", label="again")]
    plan = plan_reproduction(make(rows=both), "quick", 2, tmp_path / "out")
    assert len(plan.units) == 2
    result, _ = made(plan)
    assert result.entries[0]["accuracy"].values == result.entries[1]["accuracy"].values


def test_what_is_there_is_not_made_again(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_reproduction(make(), "quick", None, tmp_path / "out")
    first, trouble = made(plan)
    assert not trouble
    assert all(len(entries["accuracy"].values) == 1 for entries in first.entries)
    monkeypatch.setattr(making, "run_batch", lambda *_, **__: pytest.fail("nothing is to be run"))
    again, _ = made(plan)
    assert plain_result(again, None) == plain_result(first, None)
    assert cost(plan).left_s == 0
    assert cost(plan).done == 2


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


def test_a_run_that_diverges_stops_nothing_else_and_is_said(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "run_batch", run_batch)
    rows = [row(tmp_path, "one", *WILD), row(tmp_path, "two")]
    plan = plan_reproduction(make(rows=rows), "quick", None, tmp_path / "out")
    result, trouble = made(plan)
    bad, fine = (entries["accuracy"] for entries in result.entries)
    assert bad.lost[1].startswith("diverged: ")
    assert (bad.values, bad.agrees) == ({}, None)
    assert len(fine.values) == 1
    assert [one.exit_code for one in trouble.values()] == [3]
    assert collect(plan).entries[0]["accuracy"].lost == {1: "diverged"}  # also later, from the folder alone


def test_a_seed_that_is_lost_leaves_the_others(make: Make, tmp_path: Path) -> None:
    plan = plan_reproduction(make(), "quick", 2, tmp_path / "out")
    made(plan)
    lost = plan.rows[0].runs[2].path
    entry = collect(plan, {lost: Trouble("failed: no luck", 1)}).entries[0]["accuracy"]
    assert list(entry.values) == [1]
    assert entry.lost == {2: "failed: no luck"}


def test_runs_of_another_spec_are_not_used(make: Make, tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    plan = plan_reproduction(make(), "quick", None, tmp_path / "out")
    made(plan)
    (tmp_path / "one.yaml").write_text(tiny("name=one", "rounds=3").yaml(), encoding="utf-8")
    result, trouble = made(plan)
    changed, same = (entries["accuracy"] for entries in result.entries)
    assert changed.values == {}
    assert "another rounds" in changed.lost[1]
    assert len(same.values) == 1
    assert [one.exit_code for one in trouble.values()] == [5]


def test_rows_are_skipped_with_their_reason(make: Make, tmp_path: Path) -> None:
    rows = [row(tmp_path, "one", quick={"skip": "days"}), row(tmp_path, "two")]
    plan = plan_reproduction(make(rows=rows), "quick", None, tmp_path / "out")
    assert len(plan.units) == 1
    plain = plain_result(made(plan)[0], None)
    assert plain["rows"][0]["skipped"] == "days"
    assert plain["rows"][0]["cells"]["accuracy"]["mean"] is None


def test_rows_whose_data_are_missing_say_so_while_others_run(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "empty"))
    rows = [row(tmp_path, "one", "data.source=cifar10", "model=cnn3x3"), row(tmp_path, "two")]
    result, trouble = made(plan_reproduction(make(rows=rows), "quick", None, tmp_path / "out"))
    absent, there = (entries["accuracy"] for entries in result.entries)
    assert absent.lost == {1: "no data: fedradio data fetch cifar10"}
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


def test_costs_are_shared_out_and_then_known(make: Make, tmp_path: Path) -> None:
    item = make()
    plan = plan_reproduction(item, "paper", None, tmp_path / "out")
    assert (cost(plan).total_s, cost(plan).units, cost(plan).done) == (3600, 4, 0)
    assert cost(plan_reproduction(item, "paper", 1, tmp_path / "out")).total_s == 1800
    for unit, wall_s in ((plan.rows[0].runs[1], 10.0), (plan.rows[1].runs[1], 30.0)):
        unit.path.mkdir(parents=True)
        summary = {"status": "complete", "wall_s": wall_s, "spec_sha256": ""}
        (unit.path / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    assert list(expected(plan).values()) == [10, 10, 30, 30]  # other seeds of a spec take as long
    assert (cost(plan).total_s, cost(plan).left_s) == (80, 40)


STUDIED = {"found": {"title": "found", "study": "heights", "measure": "mean", "within": 0.5}}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seeds that the study ``heights`` was called with; it fails for seed 3."""
    seen: list[int] = []

    def heights(spec: Spec, tell: Callable[[float], None]) -> dict[str, Any]:
        seen.append(spec.seed)
        if spec.seed == 3:
            raise SpecError([])
        tell(1.0)
        return {"mean": float(spec.seed), "x": [1.0, 2.0], "y": [float(spec.seed), 1.0], "unit": "m", "samples": [3, 1]}

    monkeypatch.setitem(STUDIES, "heights", heights)
    return seen


def test_studies_are_kept_and_made_once(make: Make, tmp_path: Path, calls: list[int]) -> None:
    item = make(columns=STUDIED, rows=[row(tmp_path, "one", published={"found": [1.2]})])
    plan = plan_reproduction(item, "quick", 2, tmp_path / "out")
    assert not plan.rows[0].runs
    entry = made(plan)[0].entries[0]["found"]
    assert entry.values == {1: 1.0, 2: 2.0}
    assert entry.agrees is True
    made(plan)
    assert calls == [1, 2]


def test_a_study_of_another_spec_or_version_is_made_again(
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


def test_a_study_that_fails_is_said(make: Make, tmp_path: Path, calls: list[int]) -> None:
    item = make(columns=STUDIED, rows=[row(tmp_path, "one", published={})])
    entry = made(plan_reproduction(item, "quick", 3, tmp_path / "out"))[0].entries[0]["found"]
    assert list(entry.values) == [1, 2]
    assert entry.lost[3].startswith("failed")


def test_disagreement_is_marked_and_deviations_are_of_seeds(make: Make, tmp_path: Path, calls: list[int]) -> None:
    item = make(columns=STUDIED, rows=[row(tmp_path, "one", published={"found": [4.0, 0.1]})])
    result, _ = made(plan_reproduction(item, "quick", 2, tmp_path / "out"))
    entry = result.entries[0]["found"]
    assert entry.agrees is False
    assert entry.difference == pytest.approx(-2.5)
    assert entry.deviation == pytest.approx(0.5**0.5)
    plain = json.loads(json.dumps(plain_result(result, None), allow_nan=False))["rows"][0]["cells"]["found"]
    assert plain["values"] == {"1": 1.0, "2": 2.0}
    assert (plain["agrees"], plain["published"]) == (False, [4.0, 0.1])


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
    assert (first["points"], first["level"]) == ([[1.0, 0.2]], 0.6)
    assert (second["points"], second["level"]) == ([], None)
    assert first["seeds"] == [1, 2]
    ends = [run.evaluations[-1]["accuracy"] for run in result.rows[0].runs.values()]
    assert first["mean"][-1] == pytest.approx(sum(ends) / 2)
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

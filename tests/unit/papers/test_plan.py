"""Plans: folders, seeds, shared runs, costs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.reproductions import made, row
from support.sealing import blank_summary, write_summary

from fedradio.papers import costs
from fedradio.papers import plan as planning
from fedradio.papers.items import Item, Source
from fedradio.papers.make import load_specs
from fedradio.papers.plan import (
    Unit,
    cost,
    expected,
    folder_name,
    group,
    plan_reproduction,
    reproduce_command,
    shipped_cost_s,
    stored_seeds,
)
from fedradio.papers.published import matching
from fedradio.runs.speed import note_units
from fedradio.runs.stored import read_summary

Make = Callable[..., Item]


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


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))


def test_costs_are_those_that_ship_then_of_this_machine_then_of_other_seeds_then_their_own(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = make()
    plan = plan_reproduction(item, "paper", None, tmp_path / "out")
    one, two = (group(row.runs[1]) for row in plan.rows)
    assert cost(plan).total_s == 0.0  # nothing is known
    monkeypatch.setattr(costs, "shipped_costs", lambda: {one: 40.0, two: 100.0})
    assert (cost(plan).total_s, cost(plan).units, cost(plan).done) == (280, 4, 0)
    assert cost(plan_reproduction(item, "paper", 1, tmp_path / "out")).total_s == 140
    note_units({one: 20.0})
    assert list(expected(plan).values()) == [20, 20, 50, 50]  # this machine needs half of the shipped seconds
    assert shipped_cost_s(item, "paper") == 280  # whatever the machine
    unit = plan.rows[1].runs[1]
    unit.path.mkdir(parents=True)
    write_summary(unit.path, blank_summary(unit.source.load(1), wall_s=10.0, cpu_s=30.0))
    assert list(expected(plan).values()) == [20, 20, 30, 30]  # other seeds of a spec take as long
    assert (cost(plan).total_s, cost(plan).left_s) == (100, 70)


def test_wall_seconds_count_where_cpu_seconds_were_not_counted(make: Make, tmp_path: Path) -> None:
    plan = plan_reproduction(make(), "quick", None, tmp_path / "out")
    unit = plan.rows[0].runs[1]
    unit.path.mkdir(parents=True)
    write_summary(unit.path, blank_summary(unit.source.load(1), wall_s=10.0, cpu_s=None))
    assert list(expected(plan).values()) == [10, 0]


def test_studies_of_one_plan_cost_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joules and eligibility come from the same planned rounds, whichever is asked for; other studies do not."""
    source = Source(spec="demo")
    label = "of demo"
    monkeypatch.setattr(costs, "shipped_costs", lambda: {f"study energy {label}": 8.0, f"study labels {label}": 1.0})
    names = ("eligibility", "labels", "energy")
    units = {name: {1: Unit(source, 1, name, tmp_path / f"{name}-demo-seed1.json")} for name in names}
    plan = plan_reproduction(matching("osafl", "fig2")[0], "quick", 1, tmp_path)
    plan = replace(plan, rows=(replace(plan.rows[0], source=source, runs={}, studies=units),))
    assert list(expected(plan).values()) == [8.0, 1.0, 8.0]
    assert (cost(plan).total_s, cost(plan).units) == (9.0, 3)
    assert {unit.work.path.name for unit in plan.units} == {"energy-demo-seed1.json", "labels-demo-seed1.json"}


def test_a_stored_run_is_read_once_until_it_changes(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_reproduction(make(), "quick", None, tmp_path / "out")
    unit, read = plan.units[0], list[Path]()

    def counted(folder: Path) -> dict[str, Any]:
        read.append(folder)
        return read_summary(folder)

    monkeypatch.setattr(planning, "read_summary", counted)
    assert unit.stored() is None
    unit.path.mkdir(parents=True)
    write_summary(unit.path, blank_summary(unit.source.load(1), wall_s=10.0))
    assert (cost(plan).done, cost(plan).total_s, expected(plan)[unit.path]) == (1, 10.0, 10.0)
    assert read == [unit.path]
    write_summary(unit.path, blank_summary(unit.source.load(1), wall_s=20.0))
    os.utime(unit.path / "summary.json", ns=(0, 0))
    assert expected(plan)[unit.path] == 20.0
    assert read == [unit.path] * 2


def test_seeds_may_be_listed(make: Make, tmp_path: Path) -> None:
    plan = plan_reproduction(make(), "quick", (7, 3), tmp_path)
    assert plan.seeds == (7, 3)
    assert plan.folder == tmp_path / "whfl" / "quick"
    assert plan.rows[0].runs[7].path.parent == plan.folder / "runs"
    assert plan.rows[0].runs[7].label.endswith("one.yaml seed 7")
    assert {(spec.seed, spec.world_seed) for spec in load_specs(plan.units).values()} == {(7, 7), (3, 3)}
    assert plan.world is None


def test_a_world_that_the_specs_share_is_known(make: Make, tmp_path: Path) -> None:
    """Seeds of OSAFL's specs are trials in world 6."""
    osafl = matching("osafl", "fig2")[0]
    assert plan_reproduction(osafl, "quick", 2, tmp_path).world == 6
    mixed = [row(tmp_path, "one"), row(tmp_path, "one", "world_seed=5", label="again")]
    assert plan_reproduction(make(rows=mixed), "quick", 2, tmp_path).world is None


@pytest.mark.parametrize(
    ("seeds", "words"),
    [(None, ""), (1, ""), (3, " --seeds 3"), ((2, 5), " --seeds 2,5"), ((7,), " --seeds 7,"), ((1, 2), " --seeds 2")],
)
def test_the_command_that_goes_on_keeps_the_seeds(make: Make, seeds: int | tuple[int, ...] | None, words: str) -> None:
    assert reproduce_command(plan_reproduction(make(), "quick", seeds)) == (
        f"fedradio reproduce whfl fig9 --scale quick{words}"
    )
    other = plan_reproduction(make(), "paper", seeds or 2, Path("my runs"))
    assert reproduce_command(other, ["fig", "table1"], 3).startswith("fedradio reproduce whfl fig table1 --scale paper")
    assert reproduce_command(other, ["fig"], 3).endswith("--jobs 3 --out 'my runs'")


def test_stored_seeds_are_found(make: Make, tmp_path: Path) -> None:
    item = make()
    assert stored_seeds(item, "quick", tmp_path) == ()
    plan = plan_reproduction(item, "quick", (2, 12), tmp_path)
    for unit in plan.units[:3]:
        unit.path.mkdir(parents=True)
    (plan.folder / "runs" / "other-seed5").mkdir()
    assert stored_seeds(item, "quick", tmp_path) == (2, 12)
    assert stored_seeds(item, "paper", tmp_path) == ()

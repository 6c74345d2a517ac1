"""Commands that make a run or a sweep again."""

import shlex
from pathlib import Path

from fedradio.report.page.sections.rerun import from_shipped, sweep_command
from fedradio.report.page.sweep_data import read
from fedradio.spec.spec import load_spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep


def test_a_shipped_spec_with_changes_is_recognised() -> None:
    changed = load_spec("demo", ["rounds=3", "data.partition.alpha=0.5", "hops.0.fleet.energy_j=[1, 2]"])
    words = shlex.split(from_shipped(changed) or "")
    assert words[:3] == ["fedradio", "run", "demo"]
    assert len(words) == 6
    assert load_spec("demo", words[3:]).sha256() == changed.sha256()
    assert from_shipped(load_spec("demo")) == "fedradio run demo"
    assert from_shipped(load_spec("demo", ["name=other"])) is None


def test_a_sweep_that_grew_has_no_single_command(swept: Path) -> None:
    plan = read(swept).plan
    assert sweep_command(plan) is not None
    grown = plan_sweep(swept.parent / "small.yaml", ["rule.lr=0.1"], seeds=[3])
    run_sweep(grown, swept)
    assert sweep_command(read(swept).plan) is None

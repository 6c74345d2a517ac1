"""Commands that make a run or a sweep again."""

from pathlib import Path

from fedradio.report.page.sections.rerun import environment_rows, reproduce, sweep_command
from fedradio.report.page.sweep_data import read_sweep_data
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.spec import load_spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep


def test_a_run_of_a_shipped_spec_names_it(tmp_path: Path) -> None:
    """The command that the run's description holds; without one only the spec of the folder is named."""
    spec = load_spec("demo", ["rounds=1", "topology.clients_per_edge=2"])
    run(spec, tmp_path / "run")
    text = reproduce(open_run(tmp_path / "run"))
    assert "fedradio run demo rounds=1 topology.clients_per_edge=2" in text
    run(load_spec("demo", ["rounds=1", "name=other"]), tmp_path / "other")
    assert "shipped spec" not in reproduce(open_run(tmp_path / "other"))


def test_a_sweep_that_grew_has_no_single_command(swept: Path) -> None:
    plan = read_sweep_data(swept).plan
    assert sweep_command(plan) is not None
    grown = plan_sweep(swept.parent / "small.yaml", ["rule.lr=0.1"], seeds=[3])
    run_sweep(grown, swept)
    assert sweep_command(read_sweep_data(swept).plan) is None


def test_packages_stand_after_the_versions_that_are_known() -> None:
    """Also if the version of fedradio or of Python is not on record."""
    facts = {"python": "3.11", "system": "Linux", "packages": {"numpy": "2"}, "resumed": ["then"]}
    assert environment_rows(facts) == [["Python", "3.11"], ["numpy", "2"], ["system", "Linux"], ["resumed", "once"]]

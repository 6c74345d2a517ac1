"""Commands that make a run or a sweep again."""

from pathlib import Path
from typing import Any

import pytest

from fedradio.report.page.sections.rerun import environment_rows, override_value, reproduce, shipped_as, sweep_command
from fedradio.report.page.sweep_data import read_sweep_data
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.files import read_spec, shipped
from fedradio.spec.spec import load_spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep


def test_a_run_is_made_again_from_its_stored_spec(tmp_path: Path) -> None:
    spec = load_spec("demo", ["rounds=1", "topology.clients_per_edge=2"])
    run(spec, tmp_path / "my run")
    text = reproduce(open_run(tmp_path / "my run"))
    assert "fedradio run &#x27;my run&#x27;/spec.yaml" in text
    assert spec.sha256() in text


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


def test_names_of_shipped_specs() -> None:
    assert "demo" in shipped_as("demo")
    assert shipped_as("no such name") == []
    assert shipped_as("z4") == ["rawhfl/paper/z4", "rawhfl/quick/z4"]
    assert [name for name in shipped() if name not in shipped_as(str(read_spec(name)["name"]))] == []


@pytest.mark.parametrize(
    ("value", "text"), [("adam", "adam"), ("null", '"null"'), ("two words", '"two words"'), (0.5, "0.5"), ([1], "[1]")]
)
def test_values_on_a_command_line(value: Any, text: str) -> None:
    assert override_value(value) == text

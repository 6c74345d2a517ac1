"""The pins of ``constraints.txt`` are sorted and satisfy every range, of today's extras and of those to come."""

import importlib.util
import json
import subprocess
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.testing import CliRunner

from fedradio.cli import app

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    found = importlib.util.spec_from_file_location("resolve", ROOT / "tools" / "resolve.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_pins_are_sorted_and_satisfy_every_range(tool: ModuleType) -> None:
    pinned = tool.pins(tool.CONSTRAINTS.read_text(encoding="utf-8"))
    assert list(pinned) == sorted(pinned, key=str.lower)
    by_name = {canonicalize_name(name): version for name, version in pinned.items()}
    extras = [asked for extra in PROJECT["optional-dependencies"].values() for asked in extra]
    ranges = [*PROJECT["dependencies"], *extras, *tool.COMING.values()]
    for asked in map(Requirement, ranges):
        if asked.name != "fedradio":
            assert by_name[canonicalize_name(asked.name)] in asked.specifier, asked


def test_an_extra_is_either_here_or_to_come(tool: ModuleType) -> None:
    assert not tool.COMING.keys() & PROJECT["optional-dependencies"].keys()


def test_versions_of_a_report(tool: ModuleType) -> None:
    rows = [("torch", "2.13.0+cpu"), ("fedradio", "0.1.0"), ("PyYAML", "6.0.3"), ("attrs", "23.2.0")]
    report = json.dumps({"install": [{"metadata": {"name": name, "version": version}} for name, version in rows]})
    assert list(tool.versions(report).items()) == [("attrs", "23.2.0"), ("PyYAML", "6.0.3"), ("torch", "2.13.0")]


def test_what_does_not_fit_is_explained(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Collecting a\nERROR: Cannot install a and b\nThe conflict is caused by: a asks for c<2\n"
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, said))
    with pytest.raises(SystemExit, match=r"(?s)^ERROR: Cannot install.*c<2"):
        tool.resolve()


def test_typer_and_click_fit_together() -> None:
    """typer before 0.21 loses the help of arguments with click 8.5, though pip installs the two together."""
    assert "a YAML file" in CliRunner().invoke(app, ["run", "--help"]).stdout

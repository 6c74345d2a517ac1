"""``fedradio diagnose``: table, JSON and figure of a run's diagnosis."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from support.commands import Call

from fedradio.core.errors import SpecError, StoreError
from fedradio.results.diagnosis import UNITS, diagnose
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]


@pytest.fixture
def folder(cells: Maker, tmp_path: Path) -> Path:
    run(cells(), tmp_path / "run")
    return tmp_path / "run"


def test_all_that_was_measured_as_json_and_nothing_in_the_folder(call: Call, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = call("diagnose", str(folder), "--json")
    found = diagnose(folder)
    assert json.loads(done.stdout) == {**asdict(found), "units": UNITS}
    assert len(found.rounds) == 2
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_the_table_has_a_row_for_every_round_and_units(call: Call, folder: Path) -> None:
    done = call("diagnose", str(folder))
    found = diagnose(folder).rounds
    title, heads, units, *rows = [line.split() for line in done.stdout.splitlines()[:5]]
    assert title == ["tiny,", "fedavg,", "seed", "3:", "2", "rounds", "measured"]
    assert heads[-3:] == ["divergence", "of", "edges"]
    assert units == ["round", "clients", *UNITS.values()]
    for shown, row in zip(rows, found, strict=True):
        assert shown == [str(row.t + 1), "6", *(f"{getattr(row, name):.4g}" for name in UNITS)]


def test_fewer_rounds(call: Call, folder: Path) -> None:
    assert len(json.loads(call("diagnose", str(folder), "--json", "--rounds", "1").stdout)["rounds"]) == 1
    assert len(json.loads(call("diagnose", str(folder), "--json", "--every", "2").stdout)["rounds"]) == 1


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_the_figure(call: Call, folder: Path, ending: str) -> None:
    file = folder.parent / f"a.{ending}"
    done = call("diagnose", str(folder), "--rounds", "1", "--figure", str(file))
    assert f"figure: {file}" in done.stdout.replace("\n", "")
    assert file.read_bytes()[:4] == {"png": b"\x89PNG", "pdf": b"%PDF"}[ending]
    written = file.read_bytes()
    quiet = call("diagnose", str(folder), "--rounds", "1", "--figure", str(file), "-q")
    assert "figure" not in quiet.stdout
    assert file.read_bytes() == written


def test_what_it_refuses(call: Call, folder: Path) -> None:
    for name in ("a.gif", "nowhere/a.png"):
        error = call("diagnose", str(folder), "--figure", str(folder / name)).exception
        assert isinstance(error, SpecError)
        assert [problem.path for problem in error.problems] == ["--figure"]
    assert isinstance(call("diagnose", str(folder / "none")).exception, StoreError)

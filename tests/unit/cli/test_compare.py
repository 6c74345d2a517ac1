"""``fedradio compare``: tables for people, data for programs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Call
from support.past import two_rounds
from support.sealing import blank_summary, write_summary

from fedradio.core.errors import SpecError, StoreError
from fedradio.spec.spec import Spec


@pytest.fixture
def folder(tmp_path: Path, tiny: Callable[..., Spec]) -> Path:
    """A complete run of 7 J that ended with an accuracy of 0.75."""
    spec = tiny("topology.clients=2")
    two_rounds(tmp_path / "run", spec)
    write_summary(tmp_path / "run", blank_summary(spec, time_s=20.0, energy_j=7.0, bits=100.0))
    return tmp_path / "run"


def test_plain_data(call: Call, folder: Path) -> None:
    told = json.loads(call("compare", folder, "--json", "--target", "0.7").stdout)
    assert (told["metric"], told["rising"]) == ("accuracy", True)
    assert told["rows"][0]["last"]["mean"] == 0.75
    reached = told["reaches"][0]["seeds"]["3"]
    assert reached == {"rounds": 2, "seconds": 20.0, "joules": 7.0, "bits": 100.0, "uses": None}


def test_a_damaged_run_is_left_out_and_alone_it_is_refused(call: Call, folder: Path) -> None:
    other = folder.with_name("other")
    shutil.copytree(folder, other)
    spec = other / "spec.yaml"
    spec.write_text(spec.read_text().replace("lr: 0.1", "lr: 0.2"))
    refused = call("compare", other)
    assert isinstance(refused.exception, StoreError)
    assert f"{other} is damaged: spec.yaml: has changed since the run wrote it" in str(refused.exception)
    both = call("compare", folder, other)
    assert both.exit_code == 0
    assert "left out, damaged: spec.yaml: has changed" in both.stdout
    told = json.loads(call("compare", folder, other, "--json").stdout)
    assert [row["label"] for row in told["rows"]] == ["tiny"]
    assert [one["folder"] for one in told["left_out"]] == [str(other)]


def test_a_table(call: Call, folder: Path) -> None:
    text = call("compare", folder).output
    assert "75.00" in text
    assert "7 J" in text


def test_unknown_metrics(call: Call, folder: Path) -> None:
    refused = call("compare", folder, "--metric", "los").exception
    assert isinstance(refused, SpecError)
    assert "did you mean 'loss'?" in str(refused)

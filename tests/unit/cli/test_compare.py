"""``fedradio compare``: tables for people, data for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Call
from support.past import two_rounds

from fedradio.core.errors import SpecError
from fedradio.spec.spec import Spec


@pytest.fixture
def folder(tmp_path: Path, tiny: Callable[..., Spec]) -> Path:
    """A complete run of 7 J that ended with an accuracy of 0.75."""
    spec = tiny("topology.clients=2")
    two_rounds(tmp_path / "run", spec)
    summary = {"status": "complete", "spec_sha256": spec.sha256(), "time_s": 20.0, "energy_j": 7.0, "bits": 100.0}
    (tmp_path / "run" / "summary.json").write_text(json.dumps(summary))
    return tmp_path / "run"


def test_plain_data(call: Call, folder: Path) -> None:
    told = json.loads(call("compare", folder, "--json", "--target", "0.7").stdout)
    assert (told["metric"], told["rising"]) == ("accuracy", True)
    assert told["rows"][0]["last"]["mean"] == 0.75
    assert told["reaches"][0]["seeds"]["3"] == {"rounds": 2, "seconds": 20.0, "joules": 7.0, "bits": 100.0}


def test_a_table(call: Call, folder: Path) -> None:
    text = call("compare", folder).output
    assert "75.00" in text
    assert "7 J" in text


def test_unknown_metrics(call: Call, folder: Path) -> None:
    refused = call("compare", folder, "--metric", "los").exception
    assert isinstance(refused, SpecError)
    assert "did you mean 'loss'?" in str(refused)

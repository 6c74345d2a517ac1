"""``fedradio run``: what it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.commands import Call

from fedradio.core.errors import SpecError, StoreError
from fedradio.spec.spec import Spec, load_spec


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Spec, Path, dict[str, Any]]]:
    """Spec, folder and options of runs that are not made."""
    found: list[tuple[Spec, Path, dict[str, Any]]] = []
    monkeypatch.setattr("fedradio.runs.run.run", lambda spec, folder, **options: found.append((spec, folder, options)))
    monkeypatch.chdir(tmp_path)
    return found


def test_options_replace_what_the_spec_and_the_overrides_say(
    call: Call, asked: list[tuple[Spec, Path, dict[str, Any]]]
) -> None:
    done = call("run", "digits_flat", "rounds=9", "rule.lr=0.5", "--rounds", "3", "--seed", "7", "--quiet")
    assert (done.exit_code, done.output) == (0, "runs/digits_flat-seed7\n")
    ((spec, folder, options),) = asked
    assert spec.plain == load_spec("digits_flat", ["rounds=3", "seed=7", "rule.lr=0.5"]).plain
    assert folder == Path("runs/digits_flat-seed7")
    assert options == {"device": "cpu", "workers": None, "observer": None, "backend": None}


def test_folder_and_workers(call: Call, asked: list[tuple[Spec, Path, dict[str, Any]]]) -> None:
    call("run", "digits_flat", "--out", "mine", "--workers", "2", "-q")
    assert (asked[0][1], asked[0][2]["workers"]) == (Path("mine"), 2)


def test_a_wrong_spec_is_not_run(call: Call, asked: list[tuple[Spec, Path, dict[str, Any]]]) -> None:
    assert isinstance(call("run", "digits_flat", "--rounds", "0").exception, SpecError)
    assert call("run", "digits_flat", "--workers", "0").exit_code == 2
    assert asked == []


def test_no_run_is_put_among_those_of_a_sweep(
    call: Call, asked: list[tuple[Spec, Path, dict[str, Any]]], tmp_path: Path
) -> None:
    (tmp_path / "swept" / "runs").mkdir(parents=True)
    (tmp_path / "swept" / "sweep.json").write_text("{}")
    refused = call("run", "digits_flat", "--out", "swept/runs/mine").exception
    assert isinstance(refused, StoreError)
    assert "inside the sweep folder" in str(refused)
    assert asked == []

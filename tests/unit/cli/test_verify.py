"""``fedradio verify``: a line per run, exit code 5 if any is damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Call
from support.sealing import list_runs, other_format, unfinish

from fedradio.runs.run import run
from fedradio.spec.spec import Spec


@pytest.fixture
def sweep(tiny: Callable[..., Spec], tmp_path: Path) -> Path:
    """A sweep with a complete run, one that was killed, and one that has not begun."""
    for seed in (1, 2):
        run(tiny("rounds=1", f"seed={seed}"), tmp_path / f"runs/a-seed{seed}", workers=1)
    (tmp_path / "runs/a-seed2/summary.json").unlink()
    list_runs(tmp_path, {"one": ("a", tiny("rounds=1"), [1, 2, 3])})
    return tmp_path


def test_a_line_per_run(call: Call, sweep: Path) -> None:
    said = call("verify", sweep)
    assert said.exit_code == 0
    assert said.stdout.splitlines() == [
        f"{sweep}/runs/a-seed1: intact (complete)",
        f"{sweep}/runs/a-seed2: unfinished, intact up to its checkpoint after 1 rounds",
        f"{sweep}/runs/a-seed3: not begun",
    ]
    assert call("verify", sweep, "-q").stdout == ""
    unfinish_without_summary(sweep / "runs/a-seed2")
    assert "without a checkpoint; only the format" in call("verify", sweep / "runs/a-seed2").stdout


def unfinish_without_summary(folder: Path) -> None:
    (folder / "summary.json").touch()
    unfinish(folder)


def test_damage_is_named_and_ends_with_5(call: Call, sweep: Path) -> None:
    one = sweep / "runs/a-seed1"
    (one / "model.safetensors").write_bytes(b"")
    shutil.rmtree(sweep / "runs/a-seed2")
    shutil.copytree(one, sweep / "runs/a-seed2")
    said = call("verify", sweep, "-q")
    assert said.exit_code == 5
    first, second = said.stdout.splitlines()
    assert first.startswith(f"{one}: damaged: model.safetensors: has 0 bytes, but the run wrote ")
    assert "spec.yaml: is not the spec that the sweep lists for this run" in second
    told = json.loads(call("verify", sweep, "--json").stdout)
    assert [each["status"] for each in told] == ["damaged", "damaged", "not begun"]
    assert told[0]["damage"][0]["file"] == "model.safetensors"


def test_a_damaged_sweep_does_not_keep_others_from_being_checked(call: Call, sweep: Path) -> None:
    path = sweep / "sweep.json"
    path.write_text(path.read_text().replace('"label": "one"', '"label": "uno"'))
    said = call("verify", sweep, sweep / "runs/a-seed1")
    assert said.exit_code == 5
    first, second = said.stdout.splitlines()
    assert f"{path} is damaged: has changed since it was written" in first
    assert second.endswith("intact (complete)")


def test_another_format_does_not_keep_others_from_being_checked(call: Call, sweep: Path) -> None:
    one, other = sweep / "runs/a-seed1", sweep / "runs/a-seed2"
    other_format(one)
    said = call("verify", one, other)
    assert (said.exit_code, said.stdout.count("\n")) == (5, 1)
    assert f"error {one / 'records.jsonl'} has format 2, but" in said.stderr
    told = json.loads(call("verify", one, other, "--json").stdout)
    assert [each["status"] for each in told] == ["other format", "unfinished"]


def test_what_is_no_run(call: Call, tmp_path: Path) -> None:
    said = call("verify", tmp_path)
    assert (said.exit_code, said.stdout) == (5, "")
    assert f"error {tmp_path} is not a run folder" in said.stderr


def test_a_wrong_path_does_not_stop_the_others(call: Call, sweep: Path, tmp_path: Path) -> None:
    one = sweep / "runs/a-seed1"
    said = call("verify", tmp_path / "nowhere", one)
    assert said.exit_code == 5
    assert said.stdout == f"{one}: intact (complete)\n"
    assert "nowhere is not a run folder: it does not exist" in said.stderr
    told = json.loads(call("verify", tmp_path / "nowhere", one, "--json").stdout)
    assert [each["status"] for each in told] == ["no run", "whole"]

"""Whole runs and their folders."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import DivergenceError, StoreError
from fedradio.report.page import page
from fedradio.results.compare import compare
from fedradio.results.export import export
from fedradio.results.run import open_runs
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.runs.stored import read_summary
from fedradio.spec.spec import Spec, check_spec, load_spec


def rows(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    for row in found:
        row.pop("wall_s", None)
    return found


def test_the_run_folder(cells: Callable[..., Spec], tmp_path: Path) -> None:
    spec = cells("rounds=3", "eval_every=2")
    summary = run(spec, tmp_path / "a")
    assert {p.name for p in (tmp_path / "a").iterdir()} == {
        "spec.yaml",
        "records.jsonl",
        "summary.json",
        "description.json",
        "environment.json",
        "network.json",
        "checkpoints",
        "model.safetensors",
        ".lock",
    }
    stored = read_summary(tmp_path / "a")
    wanted = {
        "accuracy",
        "best_accuracy",
        "loss",
        "rounds",
        "time_s",
        "energy_j",
        "bits",
        "wall_s",
        "cpu_s",
        "checkpoint_s",
        "disk_bytes",
        "memory_bytes",
        "seed",
        "spec_sha256",
    }
    assert wanted <= set(stored)
    assert stored["status"] == "complete"
    assert stored["accuracy"] == summary.accuracy
    assert 0 < stored["checkpoint_s"] < stored["wall_s"]
    files = [path for path in (tmp_path / "a").rglob("*") if path.is_file() and path.name != "summary.json"]
    assert stored["disk_bytes"] == sum(path.stat().st_size for path in files)
    assert 1e7 < stored["memory_bytes"] < 1e11
    found = rows(tmp_path / "a")
    kinds = [row["type"] for row in found]
    assert kinds.count("exchange") == 3 * 3
    assert kinds.count("round") == 3
    assert [row["round"] for row in found if row["type"] == "evaluation"] == [2, 3]
    rounds = [row for row in found if row["type"] == "round"]
    assert sum(row["time_s"] for row in rounds) == pytest.approx(stored["time_s"])
    assert sum(row["energy_j"] for row in rounds) == pytest.approx(stored["energy_j"])
    assert sum(sum(row["bits"]) for row in rounds) == stored["bits"]
    again = check_spec(yaml.safe_load((tmp_path / "a" / "spec.yaml").read_text()))
    assert again.plain == spec.plain
    assert again.sha256() == stored["spec_sha256"]


def test_same_spec_and_seed_give_the_same_records(cells: Callable[..., Spec], tmp_path: Path) -> None:
    spec = cells("hops.0.policy={kind: sampling, clients: 2, steps: [1, 4]}")
    run(spec, tmp_path / "a", workers=1)
    run(load_spec(tmp_path / "a" / "spec.yaml"), tmp_path / "b", workers=2)
    run(cells("hops.0.policy={kind: sampling, clients: 2, steps: [1, 4]}", "seed=4"), tmp_path / "c")
    assert rows(tmp_path / "a") == rows(tmp_path / "b")
    assert rows(tmp_path / "a") != rows(tmp_path / "c")


class Stop(Observer):
    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t == 2:
            raise KeyboardInterrupt


def test_an_interrupted_run_keeps_what_was_done(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tiny("rounds=9"), tmp_path / "a", observer=Stop())
    stored = read_summary(tmp_path / "a")
    assert stored["status"] == "interrupted"
    assert [row["t"] for row in rows(tmp_path / "a") if row["type"] == "round"] == [0, 1]


def test_a_diverged_run_says_so(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    spec = tiny("rule.lr=10000", "algorithm.server_lr=10000", "hops.0.policy.steps=60", "rounds=30")
    with pytest.raises(DivergenceError):
        run(spec, tmp_path / "a")
    assert read_summary(tmp_path / "a")["status"] == "diverged"


def test_a_used_folder_is_refused(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    with pytest.raises(StoreError, match="not empty"):
        run(tiny(), tmp_path / "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file, but a folder is needed"):
        run(tiny(), tmp_path / "file")


def test_scores_of_metrics_reach_every_reader(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    """Records, summary, comparison with its direction, tables and page; and a resumed run has them too."""
    for seed in (1, 2):
        run(tiny("metrics=[macro_f1, {kind: calibration, bins: 5}]", f"seed={seed}"), tmp_path / str(seed))
    resume(tmp_path / "1", rounds=3)
    runs = open_runs(tmp_path / "1", tmp_path / "2")
    assert [{"macro_f1", "calibration_error"} <= set(one.metrics()) for one in runs] == [True, True]
    assert set(read_summary(tmp_path / "1")["metrics"]) >= {"macro_f1", "calibration_error"}
    assert runs[0].declared_metrics["calibration_error"] == {"unit": "", "better": "less"}
    assert (compare(runs[1:], "calibration_error").rising, compare(runs[1:], "macro_f1").rising) == (False, True)
    export(tmp_path / "2")
    head, *lines = (tmp_path / "2" / "export" / "evaluations.csv").read_text().splitlines()
    assert {"macro_f1", "calibration_error"} <= set(head.split(","))
    assert len(lines) == 2
    text = page(tmp_path / "2")
    assert "calibration error" in text.lower()
    assert "macro f1" in text


def test_single_clients_are_another_run(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    stacked, alone = (run(tiny(f"grouping={how}"), tmp_path / how) for how in ("auto", "single"))
    assert alone.accuracy == pytest.approx(stacked.accuracy, abs=0.02)
    assert alone.spec_sha256 != stacked.spec_sha256
    bytes_ = [(tmp_path / how / "model.safetensors").read_bytes() for how in ("auto", "single")]
    assert bytes_[0] != bytes_[1]
    run(tiny("grouping=single"), tmp_path / "again", workers=1)
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == bytes_[1]

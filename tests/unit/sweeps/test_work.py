"""Work on a sweep: every process begins elsewhere, and leaves to others what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fedradio.sweeps import sweep
from fedradio.sweeps import work as module
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.pool import Outcome, RunTask


def test_items_are_rotated() -> None:
    assert module.rotated([0, 1, 2], 4) == [1, 2, 0]
    assert module.rotated([], 4) == []


def test_what_others_hold_is_looked_at_once_more(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, asked = tmp_path / "s", []
    with sweep.written_sweep(plan_sweep(source, ["rule.lr=0.1,0.2"], seeds=[1, 2]), folder):
        pass

    def run_batch(tasks: Sequence[RunTask], **options: Any) -> list[Outcome]:
        assert options["skip_held"]
        asked.append([task.folder.name for task in tasks])
        held = {"rule.lr-0.1-seed2"} | ({"rule.lr-0.2-seed1"} if len(asked) == 1 else set())
        return [Outcome(task, "held" if task.folder.name in held else "complete", None, fresh=True) for task in tasks]

    monkeypatch.setattr(module, "run_batch", run_batch)
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    outcomes = module.work(folder)
    assert asked == [
        ["rule.lr-0.2-seed1", "rule.lr-0.1-seed2", "rule.lr-0.2-seed2", "rule.lr-0.1-seed1"],
        ["rule.lr-0.2-seed1", "rule.lr-0.1-seed2"],
    ]
    assert [(one.task.folder.name, one.status) for one in outcomes] == [
        ("rule.lr-0.1-seed1", "complete"),
        ("rule.lr-0.2-seed1", "complete"),
        ("rule.lr-0.1-seed2", "held"),
        ("rule.lr-0.2-seed2", "complete"),
    ]

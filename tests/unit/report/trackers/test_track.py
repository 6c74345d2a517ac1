"""Runs and sweeps are handed over once, or followed until they end."""

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from support.patience import PATIENCE_S
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from fedradio.core.errors import StoreError
from fedradio.core.files import locked
from fedradio.report.trackers import track as module
from fedradio.report.trackers.track import track
from fedradio.results.run import open_run
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep


def steps(folder: Path, tag: str = "spent/rounds") -> list[int]:
    read = EventAccumulator(str(folder))
    read.Reload()
    return [event.step for event in read.Scalars(tag)] if tag in read.Tags()["scalars"] else []


def test_once(made: Path) -> None:
    where, runs = track(made, "tensorboard")
    assert where == str(made / "export" / "tensorboard")
    assert runs == {made: 3}
    assert steps(made / "export" / "tensorboard" / made.name) == [1, 2, 3]


def test_following_a_run_to_its_end(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has made one round, then two, then all of them; its last round may be half a line at any time."""
    monkeypatch.setattr(module, "PAUSE_S", 0.01)
    summary, records = (made / "summary.json").read_bytes(), (made / "records.jsonl").read_bytes().splitlines(True)
    (made / "summary.json").unlink()
    shutil.rmtree(made / "checkpoints")
    ends = [n + 1 for n, line in enumerate(records) if line.startswith(b'{"type": "round"')]
    shown: list[list[int]] = []

    def grow(_: float) -> None:
        """What a run would do while the tracker sleeps."""
        shown.append(steps(tmp_path / "logs" / made.name))
        if len(shown) < len(ends):
            (made / "records.jsonl").write_bytes(b"".join(records[: ends[len(shown)]]))
        else:
            (made / "records.jsonl").write_bytes(b"".join(records))
            (made / "summary.json").write_bytes(summary)

    (made / "records.jsonl").write_bytes(b"".join(records[: ends[0]]))
    monkeypatch.setattr(module.time, "sleep", grow)
    with locked(made):
        track(made, "tensorboard", tmp_path / "logs", follow=True)
    assert shown == [[], [1], [1, 2]]
    assert steps(tmp_path / "logs" / made.name) == [1, 2, 3]
    evaluated = [record.round for record in open_run(made).evaluations]
    assert steps(tmp_path / "logs" / made.name, "evaluation/accuracy") == evaluated


def test_following_ends_with_ctrl_c(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (made / "summary.json").unlink()

    def ctrl_c(_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.time, "sleep", ctrl_c)
    with locked(made):
        _, runs = track(made, "tensorboard", tmp_path / "logs", follow=True)
    assert runs == {made: 3}  # the last round too


def test_a_killed_run_is_not_waited_for(made: Path, tmp_path: Path) -> None:
    (made / "summary.json").unlink()
    done = threading.Event()
    thread = threading.Thread(
        target=lambda: (track(made, "tensorboard", tmp_path / "logs", follow=True), done.set()), daemon=True
    )
    thread.start()
    assert done.wait(PATIENCE_S)


def test_runs_of_a_sweep_have_folders_of_their_own(tmp_path: Path, source: Path, at_once: list[str]) -> None:
    folder = run_sweep(plan_sweep(source, ["rule.lr=0.1,0.3"], seeds=[1]), tmp_path / "swept").folder
    (folder / "runs" / at_once[0] / "records.jsonl").write_text("")  # damaged
    notes: list[str] = []
    _, runs = track(folder, "tensorboard", note=notes.append)
    assert {path.name for path in runs} == {at_once[1]}
    assert len(notes) == 1
    assert "left out, damaged" in notes[0]
    assert steps(folder / "export" / "tensorboard" / at_once[1]) == [1, 2]


def test_what_holds_no_run_is_refused(tmp_path: Path) -> None:
    for to in ("tensorboard", "mlflow"):
        with pytest.raises(StoreError, match="not a run folder"):
            track(tmp_path, to)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []

"""The state of runs and sweeps, from their files and locks."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.files import LOCK_FILE, locked
from fedradio.results.folder_state import folder_state, is_locked
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep

LOCKED = "7: FLOCK  ADVISORY  WRITE 99 08:01:{inode} 0 EOF\n8: POSIX  ADVISORY  READ 5 08:01:17 0 EOF\n"


def test_a_run_from_before_its_beginning_to_its_end(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    folder = tmp_path / "run"
    seen = [folder_state(folder)]
    run(tiny(), folder)
    seen.append(folder_state(folder))
    summary = (folder / "summary.json").read_bytes()
    (folder / "summary.json").unlink()
    seen.append(folder_state(folder))
    with locked(folder):
        seen.append(folder_state(folder))
    assert [each.state for each in seen] == ["waiting", "complete", "gone", "running"]
    assert len({each.version for each in seen}) == 4
    (folder / "summary.json").write_bytes(summary)
    assert folder_state(folder).state == "complete"


def set_status(run: Path, status: str) -> None:
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps(summary | {"status": status}))


@pytest.mark.parametrize(
    ("status", "state"),
    [("complete", "complete"), ("diverged", "complete"), ("interrupted", "stopped"), ("failed", "stopped")],
)
def test_only_complete_and_diverged_runs_are_final(
    tmp_path: Path, tiny: Callable[..., Spec], status: str, state: str
) -> None:
    run(tiny(), tmp_path / "run")
    set_status(tmp_path / "run", status)
    assert folder_state(tmp_path / "run").state == state


def test_a_run_whose_summary_is_damaged_is_not_final(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "run")
    (tmp_path / "run" / "summary.json").write_text("{")
    assert folder_state(tmp_path / "run").state == "stopped"


def test_more_records_are_another_version(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "run")
    before = folder_state(tmp_path / "run").version
    assert folder_state(tmp_path / "run").version == before
    with (tmp_path / "run" / "records.jsonl").open("a") as file:
        file.write("{}\n")
    assert folder_state(tmp_path / "run").version != before


def test_locks_are_those_of_the_inode(tmp_path: Path) -> None:
    table = tmp_path / "locks"
    (tmp_path / LOCK_FILE).touch()
    inode = os.stat(tmp_path / LOCK_FILE).st_ino
    table.write_text(LOCKED.format(inode=inode))
    assert is_locked(tmp_path, table)
    table.write_text(LOCKED.format(inode=f"1{inode}"))
    assert is_locked(tmp_path, table) is False
    assert is_locked(tmp_path, tmp_path / "no such table") is None


def test_where_no_system_tells(tmp_path: Path, tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> None:
    run(tiny(), tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    monkeypatch.setattr("fedradio.results.folder_state.is_locked", lambda _: None)
    assert folder_state(tmp_path / "run").state == "unknown"


def test_a_sweep_counts_its_runs(tmp_path: Path, source: Path, at_once: list[str]) -> None:
    folder = run_sweep(plan_sweep(source, ["rule.lr=0.1,0.3"], seeds=[1]), tmp_path / "swept").folder
    found = folder_state(folder)
    assert (found.state, found.sentence) == ("complete", "2 of 2 runs have ended.")
    set_status(folder / "runs" / at_once[0], "interrupted")
    found = folder_state(folder)
    assert (found.state, found.sentence) == ("stopped", "1 of 2 runs have ended; 1 stopped before its end.")
    (folder / "runs" / at_once[0] / "summary.json").unlink()
    found = folder_state(folder)
    assert (found.state, found.sentence) == ("unknown", "1 of 2 runs have ended; 1 has no process on this machine.")
    with locked(folder / "runs" / at_once[0]):
        found = folder_state(folder)
        assert (found.state, found.sentence) == ("running", "1 of 2 runs have ended; 1 is in progress.")
    (folder / "sweep.json").write_text("{}")
    assert folder_state(folder).state == "unknown"
    assert "sweep.json" in folder_state(folder).sentence

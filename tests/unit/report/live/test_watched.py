"""Where runs and sweeps stand, told by their files and locks alone."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.files import LOCK_FILE, locked
from fedradio.report.live.watched import is_locked, standing
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep

LOCKED = "7: FLOCK  ADVISORY  WRITE 99 08:01:{inode} 0 EOF\n8: POSIX  ADVISORY  READ 5 08:01:17 0 EOF\n"


def test_a_run_from_before_its_beginning_to_its_end(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    folder = tmp_path / "run"
    seen = [standing(folder)]
    run(tiny(), folder)
    seen.append(standing(folder))
    summary = (folder / "summary.json").read_bytes()
    (folder / "summary.json").unlink()
    seen.append(standing(folder))
    with locked(folder):
        seen.append(standing(folder))
    assert [each.state for each in seen] == ["waiting", "ended", "gone", "running"]
    assert len({each.version for each in seen}) == 4
    (folder / "summary.json").write_bytes(summary)
    assert standing(folder).state == "ended"


def test_more_records_are_another_version(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    run(tiny(), tmp_path / "run")
    before = standing(tmp_path / "run").version
    assert standing(tmp_path / "run").version == before
    with (tmp_path / "run" / "records.jsonl").open("a") as file:
        file.write("{}\n")
    assert standing(tmp_path / "run").version != before


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
    monkeypatch.setattr("fedradio.report.live.watched.is_locked", lambda _: None)
    assert standing(tmp_path / "run").state == "unknown"


def test_a_sweep_counts_its_runs(tmp_path: Path, source: Path, at_once: list[str]) -> None:
    folder = run_sweep(plan_sweep(source, ["rule.lr=0.1,0.3"], seeds=[1]), tmp_path / "swept").folder
    found = standing(folder)
    assert (found.state, found.sentence) == ("ended", "2 of 2 runs have ended.")
    (folder / "runs" / at_once[0] / "summary.json").unlink()
    assert standing(folder).sentence == "1 of 2 runs have ended; 1 has no process on this machine."
    with locked(folder / "runs" / at_once[0]):
        assert standing(folder).sentence == "1 of 2 runs have ended; 1 is in progress."
    (folder / "sweep.json").write_text("{}")
    assert standing(folder).state == "unknown"
    assert "sweep.json" in standing(folder).sentence

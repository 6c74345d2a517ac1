"""The state of a run or sweep folder: whether it is complete, whether a process works in it, whether its files changed.

Nothing is written and no lock is taken, so a run never waits for a command that follows it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from fedradio.core.errors import StoreError
from fedradio.core.files import LOCK_FILE, parse_json, read_bytes
from fedradio.results.sweep_file import MARKER, is_sweep, listed_runs
from fedradio.runs.folder import RECORDS_FILE, SPEC_FILE, SUMMARY_FILE, is_run

LOCKS = Path("/proc/locks")
"""Where Linux lists the locks that processes hold."""

State = Literal["waiting", "running", "complete", "stopped", "gone", "unknown"]
"""Not started; a process works in it; complete or diverged; interrupted or failed; killed; the system cannot say.

``complete`` is final: a diverged run diverges again. A run that is ``stopped`` or ``gone`` can be resumed.
"""


@dataclass(frozen=True)
class FolderState:
    """The state of a run or sweep, one sentence about it, and an identifier of exactly these files."""

    state: State
    sentence: str
    version: str


def folder_state(folder: Path) -> FolderState:
    """The current state of a run or sweep folder, from its summaries and the sizes and times of its files."""
    state, sentence, files = _of_sweep(folder) if is_sweep(folder) else _of_run(folder)
    return FolderState(state, sentence, _version(state, files))


def _of_run(folder: Path) -> tuple[State, str, list[Path]]:
    files = [folder / name for name in (SPEC_FILE, RECORDS_FILE, SUMMARY_FILE)]
    state = run_state(folder)
    last = f"last record at {_time(folder / RECORDS_FILE)}"
    sentences: dict[State, str] = {
        "waiting": "The run has not started yet.",
        "running": f"The run is in progress; {last}.",
        "complete": "The run has ended.",
        "stopped": f"The run stopped before its end; {last}.",
        "gone": f"No process on this machine is working on this run: it was killed or is running elsewhere; {last}.",
        "unknown": f"The {last}.",
    }
    return state, sentences[state], files


def _of_sweep(folder: Path) -> tuple[State, str, list[Path]]:
    try:
        runs = [entry.folder for entry in listed_runs(folder)]
    except StoreError as error:
        return "unknown", str(error), [folder / MARKER]
    states = [run_state(run) for run in runs]
    complete, running, stopped, gone = (states.count(each) for each in ("complete", "running", "stopped", "gone"))
    parts = [f"{complete} of {len(runs)} runs have ended"]
    parts += [f"{running} {'is' if running == 1 else 'are'} in progress"] * (running > 0)
    parts += [f"{stopped} stopped before {'its' if stopped == 1 else 'their'} end"] * (stopped > 0)
    parts += [f"{gone} {'has' if gone == 1 else 'have'} no process on this machine"] * (gone > 0)
    files = [run / name for run in runs for name in (RECORDS_FILE, SUMMARY_FILE)]
    return _joint(states), f"{'; '.join(parts)}.", [folder / MARKER, *files]


def _joint(states: list[State]) -> State:
    """The state of a sweep whose runs have these states."""
    if "running" in states:
        return "running"
    if "stopped" in states and set(states) <= {"complete", "stopped"}:
        return "stopped"
    return "complete" if set(states) <= {"complete"} else "unknown"


def run_state(folder: Path) -> State:
    """The state of a run folder, from its files and its lock."""
    if not is_run(folder):
        return "waiting"
    if (folder / SUMMARY_FILE).exists():
        return "complete" if _status(folder) in ("complete", "diverged") else "stopped"
    locked = is_locked(folder)
    return "unknown" if locked is None else "running" if locked else "gone"


def _status(folder: Path) -> object:
    """The status in the summary of a run; None if it cannot be read."""
    path = folder / SUMMARY_FILE
    try:
        return parse_json(read_bytes(path), path).get("status")
    except StoreError:
        return None


def is_locked(folder: Path, locks: Path = LOCKS) -> bool | None:
    """Whether a process on this machine works in a folder; None if the system cannot say.

    Only Linux lists locks without taking them, and only those of its own processes.
    """
    try:
        inode = (folder / LOCK_FILE).stat().st_ino
        held = {line.split()[5].rpartition(":")[2] for line in locks.read_text().splitlines() if "FLOCK" in line}
    except (OSError, IndexError):
        return None
    return str(inode) in held


def _time(path: Path) -> str:
    """When a file was last written, on the clock of this machine."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime).strftime("%H:%M:%S")
    except OSError:
        return "an unknown time"


def _version(state: State, files: Iterable[Path]) -> str:
    """An identifier for the current contents of files, from their sizes and times."""
    digest = hashlib.sha256(state.encode())
    for path in files:
        try:
            found = os.stat(path)
            digest.update(f"|{found.st_ino} {found.st_size} {found.st_mtime_ns}".encode())
        except OSError:
            digest.update(b"|none")
    return digest.hexdigest()[:16]

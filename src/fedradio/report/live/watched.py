"""A run or sweep folder that is being watched: whether its files have changed, and whether a process works in it.

Nothing is written and no lock is taken, so a run never waits for those who watch it.
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
from fedradio.core.files import LOCK_FILE
from fedradio.results.sweep_file import MARKER, is_sweep, listed_runs
from fedradio.runs.folder import RECORDS_FILE, SPEC_FILE, SUMMARY_FILE, is_run

LOCKS = Path("/proc/locks")
"""Where Linux lists the locks that processes hold."""

State = Literal["waiting", "running", "ended", "gone", "unknown"]
"""Not started; a process works in it; it has its summary; no process works in it; the system cannot say."""


@dataclass(frozen=True)
class Standing:
    """The state of a run or sweep, one sentence about it, and an identifier for exactly these contents."""

    state: State
    sentence: str
    version: str


def standing(folder: Path) -> Standing:
    """The current state of a run or sweep folder, from the sizes and times of its files, without reading them."""
    state, sentence, files = _of_sweep(folder) if is_sweep(folder) else _of_run(folder)
    return Standing(state, sentence, _version(state, files))


def _of_run(folder: Path) -> tuple[State, str, list[Path]]:
    files = [folder / name for name in (SPEC_FILE, RECORDS_FILE, SUMMARY_FILE)]
    state = run_state(folder)
    last = f"last record at {_time(folder / RECORDS_FILE)}"
    sentences: dict[State, str] = {
        "waiting": "The run has not started yet.",
        "running": f"The run is in progress; {last}.",
        "ended": f"The run has ended; {last}.",
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
    running, ended, gone = (states.count(state) for state in ("running", "ended", "gone"))
    parts = [f"{ended} of {len(runs)} runs have ended"]
    parts += [f"{running} {'is' if running == 1 else 'are'} in progress"] * (running > 0)
    parts += [f"{gone} {'has' if gone == 1 else 'have'} no process on this machine"] * (gone > 0)
    state: State = "ended" if ended == len(runs) else "running" if running else "unknown"
    files = [run / name for run in runs for name in (RECORDS_FILE, SUMMARY_FILE)]
    return state, f"{'; '.join(parts)}.", [folder / MARKER, *files]


def run_state(folder: Path) -> State:
    """The state of a run folder, from its files and its lock."""
    if not is_run(folder):
        return "waiting"
    if (folder / SUMMARY_FILE).exists():
        return "ended"
    locked = is_locked(folder)
    return "unknown" if locked is None else "running" if locked else "gone"


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

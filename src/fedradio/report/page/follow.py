"""Rewrite the page of a run or sweep in progress until it is complete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fedradio.core.errors import StoreError
from fedradio.report.page.document import Refresh
from fedradio.results.folder_state import folder_state
from fedradio.results.run import why_no_run
from fedradio.results.sweep_file import RUNS, is_sweep
from fedradio.runs.folder import is_run, left_at_start


def follow(
    folder: Path,
    write: Callable[[Refresh | None], None],
    seconds: int,
    note: Callable[[str], None],
    sleep: Callable[[float], None],
) -> None:
    """Call ``write`` every ``seconds`` if the folder has changed, and without :class:`Refresh` when it is complete.

    Nothing is written before the run or sweep has started. A run that was interrupted, killed or has failed can be
    resumed, so this goes on until Ctrl-C, which also writes the page without ``Refresh``. ``note`` gets one sentence
    whenever the state changes; ``sleep`` waits for a number of seconds.
    """
    _check_startable(folder)
    state, version = "", ""
    try:
        while (now := folder_state(folder)).state != "complete":
            if now.state != state:
                note(now.sentence)
                state = now.state
            if now.state != "waiting" and now.version != version:
                write(Refresh(seconds, now))
                version = now.version
            sleep(seconds)
    except KeyboardInterrupt:
        if version:
            write(None)
        raise
    write(None)


def _check_startable(folder: Path) -> None:
    """Refuse a folder that holds no run or sweep, and in which none can start."""
    if is_run(folder) or is_sweep(folder) or not folder.exists():
        return
    if not folder.is_dir() or not all(each.name == RUNS or left_at_start(each) for each in folder.iterdir()):
        raise StoreError(f"{folder} is {why_no_run(folder)}")

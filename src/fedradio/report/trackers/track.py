"""Export the records of a run or of a sweep's runs to a tracker, once or for as long as they grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fedradio.core.errors import StoreError
from fedradio.core.progress import Progress, silent, unheard
from fedradio.report.trackers.mlflow import Mlflow, check_mlflow, store_uri
from fedradio.report.trackers.points import Tracker, points
from fedradio.report.trackers.tensorboard import TensorBoard, check_tensorboard
from fedradio.results.folder_state import folder_state
from fedradio.results.run import Run, open_all
from fedradio.results.sweep_file import is_sweep, read_sweep_file

TrackerName = Literal["tensorboard", "mlflow"]

PAUSE_S = 2.0
"""Seconds between two checks of a run in progress; longer if reading it takes more than half a second."""


@dataclass
class _Open:
    """A run that is being tracked: its tracker, and the rounds and status that the tracker has stored."""

    tracker: Tracker
    done: int
    status: str = ""


@dataclass
class Tracking:
    """The runs of ``folder`` in a tracker's store at ``where``."""

    folder: Path
    where: str
    open_tracker: Callable[[Run], Tracker]
    note: Callable[[str], None] = unheard
    runs: dict[Path, _Open] = field(default_factory=dict)
    told: set[Path] = field(default_factory=set)

    def update(self, progress: Progress = silent, growing: bool = False) -> None:
        """Export new records; for ``growing`` runs all but the last round, which may be incomplete."""
        every, left_out = open_all(self.folder)
        for entry in left_out:
            if entry.status != "not begun":
                self._leave(Path(entry.folder), entry.status)
        for number, run in enumerate(every):
            progress(f"reading {run.folder.name}", number / len(every))
            if run.damage:
                self._leave(run.folder, run.trouble)
            else:
                self._hand_over(run, growing and run.status == "unfinished")

    def _hand_over(self, run: Run, growing: bool) -> None:
        known = self.runs.get(run.folder)
        if known is None:
            tracker = self.open_tracker(run)
            known = self.runs[run.folder] = _Open(tracker, tracker.seen())
        elif known.status == run.status != "unfinished":
            return
        new = list(points(run, known.done))
        if growing and new:
            new = [point for point in new if point.step < new[-1].step]
        known.tracker.add(new)
        known.done = max([known.done, *(point.step for point in new)])
        known.status = run.status

    def _leave(self, folder: Path, why: str) -> None:
        if folder not in self.told:
            self.note(f"left out, {why}: {folder}")
            self.told.add(folder)

    def close(self) -> None:
        """Tell the trackers that no more records will follow."""
        for run in self.runs.values():
            run.tracker.close(run.status)


def track(
    folder: Path,
    to: TrackerName,
    out: Path | None = None,
    follow: bool = False,
    progress: Progress = silent,
    note: Callable[[str], None] = unheard,
) -> tuple[str, dict[Path, int]]:
    """Export a run or sweep to a tracker; returns the location of the store and the number of rounds of every run.

    With ``follow``, this continues until all runs have ended, or until Ctrl-C.
    """
    tracking = _tracking(folder, to, out, note)
    try:
        _advance(tracking, follow, progress)
    except KeyboardInterrupt:
        if not follow:
            raise
        tracking.update()
    finally:
        tracking.close()
    if not tracking.runs:
        raise StoreError(f"{folder} contains no runs yet")
    return tracking.where, {run: known.done for run, known in tracking.runs.items()}


def _tracking(folder: Path, to: TrackerName, out: Path | None, note: Callable[[str], None]) -> Tracking:
    if to == "tensorboard":
        check_tensorboard()
        place = folder / "export" / "tensorboard" if out is None else out
        return Tracking(folder, str(place), lambda run: TensorBoard(run, place), note)
    check_mlflow()
    swept = read_sweep_file(folder).name if is_sweep(folder) else None
    open_all(folder)  # refuses what is no run before anything is made
    uri = store_uri(out, folder)
    return Tracking(folder, uri, lambda run: Mlflow(run, swept or run.spec.name, uri), note)


def _advance(tracking: Tracking, follow: bool, progress: Progress) -> None:
    """One pass over the records; with ``follow`` another one whenever they have grown, until the end."""
    seen = ""
    while True:
        now = folder_state(tracking.folder)
        began = time.monotonic()
        last = not follow or now.state in ("complete", "stopped", "gone")
        if now.version != seen:
            tracking.update(progress, growing=not last)
        seen = now.version
        if last:
            return
        time.sleep(max(PAUSE_S, 4 * (time.monotonic() - began)))

"""Runs and output shared by ``compare`` and ``figures``: runs with their records, and drawn figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedradio.cli.app import out
from fedradio.core.errors import StoreError
from fedradio.core.progress import Progress
from fedradio.report.terminal.console import say

if TYPE_CHECKING:
    from fedradio.report.figures.gallery import Drawing
    from fedradio.results.run import LeftOut, Run


def read_runs(folders: Sequence[Path], progress: Progress, exchanges: bool = False) -> tuple[list[Run], list[LeftOut]]:
    """Read the runs of some folders with their records, showing progress; also returns unreadable runs of sweeps."""
    from fedradio.results.run import open_all

    runs, left_out = open_all(*folders)
    if not runs:
        reasons = "".join(f"\n{run.sentence}" for run in left_out)
        raise StoreError(f"no runs in {', '.join(map(str, folders))}{reasons}")
    for number, run in enumerate(runs):
        progress(f"reading {run.folder}", number / len(runs))
        if run.status == "complete" or (len(runs) == 1 and not run.damage):
            run.read(exchanges)
    return runs, left_out


def print_drawings(files: Sequence[Path], drawings: Sequence[Drawing]) -> None:
    """Print the files of every figure, or the reason why it is not drawn."""
    for drawing in drawings:
        own = [str(file) for file in files if file.stem == drawing.name]
        if own:
            say(out, ", ".join(own))
        if drawing.why:
            start = "" if drawing.make is not None else f"{drawing.name} was not drawn: "
            say(out, (f"  {start}{drawing.why}", "yellow"))

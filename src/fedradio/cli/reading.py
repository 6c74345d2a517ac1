"""Run folders named on the command line: reading them with progress, and telling which figures were drawn of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from fedradio.cli.app import out
from fedradio.core.errors import StoreError
from fedradio.report.terminal.progress import LateProgress
from fedradio.results.run import PastRun, open_runs

if TYPE_CHECKING:
    from fedradio.report.figures.gallery import Drawing

Folders = Annotated[list[Path], typer.Argument(metavar="RUN|SWEEP", help="run folders and folders of sweeps")]


def read_runs(folders: Sequence[Path], progress: LateProgress, participation: bool = False) -> list[PastRun]:
    """The runs with their records, which take the time."""
    runs = open_runs(*folders)
    if not runs:
        raise StoreError(f"no runs in {', '.join(map(str, folders))}")
    for number, run in enumerate(runs):
        progress(f"reading {run.folder}", number / len(runs))
        if run.status == "complete" or len(runs) == 1:
            run.read(participation)
    return runs


def tell_drawings(files: Sequence[Path], found: Sequence[Drawing]) -> None:
    """Files by figure; what is missing, and why."""
    for one in found:
        named = [str(file) for file in files if file.stem == one.name]
        if named:
            out.print(f"{escape(', '.join(named))}", highlight=False, soft_wrap=True)
        if one.why:
            words = "" if one.make is not None else f"{one.name} is not drawn: "
            out.print(f"  [yellow]{escape(words + one.why)}[/]", highlight=False, soft_wrap=True)

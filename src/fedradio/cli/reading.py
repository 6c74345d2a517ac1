"""Arguments and output shared by ``compare`` and ``figures``: run folders with their records, drawn figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from fedradio.cli.app import out
from fedradio.core.errors import StoreError
from fedradio.core.progress import Progress
from fedradio.results.run import PastRun, open_runs

if TYPE_CHECKING:
    from fedradio.report.figures.gallery import Drawing

Folders = Annotated[list[Path], typer.Argument(metavar="RUN|SWEEP", help="run folders and folders of sweeps")]


def read_runs(folders: Sequence[Path], progress: Progress, participation: bool = False) -> list[PastRun]:
    """The runs of some folders with their records, read with progress."""
    runs = open_runs(*folders)
    if not runs:
        raise StoreError(f"no runs in {', '.join(map(str, folders))}")
    for number, run in enumerate(runs):
        progress(f"reading {run.folder}", number / len(runs))
        if run.status == "complete" or len(runs) == 1:
            run.read(participation)
    return runs


def print_drawings(files: Sequence[Path], drawings: Sequence[Drawing]) -> None:
    """Print the files of every figure, or the reason why it is not drawn."""
    for drawing in drawings:
        own = [str(file) for file in files if file.stem == drawing.name]
        if own:
            out.print(f"{escape(', '.join(own))}", highlight=False, soft_wrap=True)
        if drawing.why:
            start = "" if drawing.make is not None else f"{drawing.name} is not drawn: "
            out.print(f"  [yellow]{escape(start + drawing.why)}[/]", highlight=False, soft_wrap=True)

"""``fedradio report``: write the HTML page of a run or sweep."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.core.errors import Problem, SpecError
from fedradio.core.files import write_text
from fedradio.core.progress import Progress, silent
from fedradio.core.units import show
from fedradio.report.page import page
from fedradio.report.page.sweep_data import PAGE_FILE
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.results.run import open_all
from fedradio.results.sweep_file import is_sweep

app = one_command()


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN|SWEEP", help="run folder or sweep folder")],
    file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help=f"HTML file to write; default: {PAGE_FILE} in the folder"),
    ] = None,
    show_it: Annotated[bool, typer.Option("--open", help="also open the page in your browser")] = False,
    runs: Annotated[
        bool,
        typer.Option(
            "--runs", help="for a sweep: also write the page of every run (5 MB each), linked from the sweep's page"
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print only errors and the file")] = False,
) -> None:
    """Write a self-contained HTML page for a run or sweep: learning curves, map, participation, energy, spec."""
    target = folder / PAGE_FILE if file is None else file
    if target.suffix.lower() not in (".html", ".htm") or target.is_dir():
        raise SpecError(Problem("--out", "not an HTML file", "a file name that ends with .html", str(target)))
    if runs and not is_sweep(folder):
        raise SpecError(Problem("--runs", "this folder is not a sweep", "leave out --runs", str(folder)))
    with LateProgress(err) as progress:
        heard = silent if quiet else progress
        if runs:
            _write_runs(folder, heard)
        text = page(folder, heard, lambda text: say(err, (f"note: {text}", "yellow")), target.parent)
    write_text(target, text)
    size = "" if quiet else f" ({show(target.stat().st_size, 'B')})"
    say(out, f"{target}{size}")
    if show_it:
        webbrowser.open(target.resolve().as_uri())


def _write_runs(folder: Path, progress: Progress) -> None:
    """Write the pages of all runs of a sweep into their folders."""
    found, _ = open_all(folder)
    for number, run in enumerate(found):
        progress(f"page of {run.folder.name}", number / len(found))
        write_text(run.folder / PAGE_FILE, page(run.folder))

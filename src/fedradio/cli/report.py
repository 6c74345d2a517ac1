"""``fedradio report``: write the HTML page of a run or sweep."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import FolderArgument, quiet_option
from fedradio.core.errors import Problem, SpecError
from fedradio.core.files import write_text
from fedradio.core.progress import Progress, silent, unheard
from fedradio.core.units import show
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress

if TYPE_CHECKING:
    from fedradio.report.page.document import Refresh

MOST_S = 3600
"""Most seconds between two pages of a run in progress."""

app = one_command()


@app.command()
def report(
    folder: FolderArgument,
    file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="HTML file to write; default: report.html in the folder"),
    ] = None,
    show_it: Annotated[bool, typer.Option("--open", help="also open the page in your browser")] = False,
    runs: Annotated[
        bool,
        typer.Option(
            "--runs", help="for a sweep: also write the page of every run (5 MB each), linked from the sweep's page"
        ),
    ] = False,
    every: Annotated[
        int | None,
        typer.Option(
            "--every",
            metavar="SECONDS",
            min=1,
            max=MOST_S,
            help="rewrite the page every SECONDS until the run or sweep is complete; until then it reloads itself",
        ),
    ] = None,
    quiet: Annotated[bool, quiet_option("errors and the file")] = False,
) -> None:
    """Write a self-contained HTML page for a run or sweep: learning curves, map, participation, energy, spec.

    With --every, a run or sweep that has not started yet is waited for. If a run is interrupted, killed or fails, the
    page says so and the command goes on, because the run can be resumed. The command ends when every run is complete or
    has diverged, or with Ctrl-C. The last page no longer reloads.
    """
    from fedradio.report.page.follow import follow
    from fedradio.report.page.sweep_data import PAGE_FILE
    from fedradio.results.sweep_file import is_sweep

    target = folder / PAGE_FILE if file is None else file
    if target.suffix.lower() not in (".html", ".htm") or target.is_dir():
        raise SpecError(Problem("--out", "not an HTML file", "a file name that ends with .html", str(target)))
    if runs and not is_sweep(folder):
        raise SpecError(Problem("--runs", "this folder is not a sweep", "leave out --runs", str(folder)))
    writer = _Writer(folder, target, runs, show_it, quiet)
    if every is None:
        writer.write()
    else:
        follow(folder, writer.write, every, unheard if quiet else lambda text: say(err, text), sleep)


class _Writer:
    """Writes the page into ``target``; the first time it prints the file, and opens it in the browser if asked."""

    def __init__(self, folder: Path, target: Path, runs: bool, show_it: bool, quiet: bool) -> None:
        self.folder, self.target, self.runs, self.show_it, self.quiet = folder, target, runs, show_it, quiet
        self.notes: set[str] = set()
        self.written = False

    def write(self, refresh: Refresh | None = None) -> None:
        """Write the page, and, unless it will be rewritten, the pages of a sweep's runs if they are wanted."""
        from fedradio.report.page import page

        with LateProgress(err) as progress:
            heard = silent if self.quiet else progress
            if self.runs and refresh is None:
                _write_runs(self.folder, heard)
            text = page(self.folder, heard, self._note, self.target.parent, refresh)
        write_text(self.target, text)
        if not self.written:
            self._show()
        self.written = True

    def _note(self, text: str) -> None:
        if text not in self.notes:
            say(err, (f"note: {text}", "yellow"))
        self.notes.add(text)

    def _show(self) -> None:
        size = "" if self.quiet else f" ({show(self.target.stat().st_size, 'B')})"
        say(out, f"{self.target}{size}")
        out.file.flush()
        if self.show_it:
            webbrowser.open(self.target.resolve().as_uri())


def _write_runs(folder: Path, progress: Progress) -> None:
    """Write the pages of all runs of a sweep into their folders."""
    from fedradio.report.page import page
    from fedradio.report.page.sweep_data import PAGE_FILE
    from fedradio.results.run import open_all

    found, _ = open_all(folder)
    for number, run in enumerate(found):
        progress(f"page of {run.folder.name}", number / len(found))
        write_text(run.folder / PAGE_FILE, page(run.folder))

"""``fedradio report``: writes one HTML page of a run or a sweep."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.core.errors import Problem, SpecError
from fedradio.core.files import write_text
from fedradio.core.progress import silent
from fedradio.core.units import show
from fedradio.report.page import page
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress

NAME = "report.html"
"""Default name of the page."""


app = one_command()


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN|SWEEP", help="run folder, or folder of a sweep")],
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help=f"HTML file to write; default {NAME} in the folder")
    ] = None,
    show_it: Annotated[bool, typer.Option("--open", help="also open it in the browser")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the file")] = False,
) -> None:
    """Write one HTML page that shows a run or a sweep: curves, map, who took part, energy, spec. It opens offline."""
    target = folder / NAME if file is None else file
    if target.suffix.lower() not in (".html", ".htm") or target.is_dir():
        raise SpecError(Problem("--out", "not a page", "a file that ends with .html", str(target)))
    with LateProgress(err) as progress:
        text = page(folder, silent if quiet else progress, note=lambda text: say(err, (f"note: {text}", "yellow")))
    write_text(target, text)
    size = "" if quiet else f" ({show(target.stat().st_size, 'B')})"
    say(out, f"{target}{size}")
    if show_it:
        webbrowser.open(target.resolve().as_uri())

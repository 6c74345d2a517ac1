"""``fedradio figures``: all figures that runs can have, for papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from fedradio.cli.app import err, one_command, out
from fedradio.cli.reading import Folders, read_runs, tell_drawings
from fedradio.core.errors import Problem, SpecError, StoreError, suggest
from fedradio.report.figures.gallery import FORMATS, drawings, write
from fedradio.report.terminal.progress import LateProgress
from fedradio.results.run import PastRun
from fedradio.results.variants import variants

app = one_command()


@app.command()
def figures(
    folders: Folders,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="where to; default: figures/ in the run or sweep")
    ] = None,
    formats: Annotated[str, typer.Option("--format", help="file formats: pdf, png, or pdf,png")] = ",".join(FORMATS),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the files")] = False,
) -> None:
    """Draw all figures that these runs can have, in the width of a paper's column, and tell why others cannot be drawn.

    Curves, distributions of energy and accuracies over clients; of a single run also its map and who took part.
    """
    endings = _formats(formats)
    if out_dir is None and len(folders) > 1:
        raise SpecError(Problem("--out", "is needed where there are several folders", "such as --out figures"))
    with LateProgress(err) as progress:
        runs = read_runs(folders, progress, participation=True)
        whole = runs if len(runs) == 1 else _complete(runs)
        found = drawings(variants(whole))
        files = write(found, out_dir or folders[0] / "figures", endings, progress)
    for run in runs:
        if run.status != "complete":
            words = "as far as it went" if run in whole else "left out"
            note = escape(f"note: {words}, {run.status}: {run.folder}")
            err.print(f"[yellow]{note}[/]", highlight=False, soft_wrap=True)
    if not quiet:
        tell_drawings(files, found)
        return
    for file in files:
        out.print(str(file), highlight=False, soft_wrap=True)


def _complete(runs: Sequence[PastRun]) -> list[PastRun]:
    found = [run for run in runs if run.status == "complete"]
    if not found:
        raise StoreError("no run is complete: name a single run folder to see it as far as it went")
    return found


def _formats(given: str) -> list[str]:
    """File endings, each once; all wrong ones are told at once."""
    endings = list(dict.fromkeys(one.strip().lower() for one in given.split(",") if one.strip()))
    remedy = f"one or more of: {', '.join(FORMATS)}"
    wrong = [one for one in endings if one not in FORMATS]
    if wrong or not endings:
        problems = [Problem("--format", "unknown file format", suggest(one, FORMATS) or remedy, one) for one in wrong]
        raise SpecError(problems or Problem("--format", "names no file format", remedy, given))
    return endings

"""``fedradio figures``: draws all figures that runs can have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.reading import Folders, print_drawings, read_runs
from fedradio.core.errors import Problem, SpecError, StoreError, suggest
from fedradio.report.figures.gallery import FORMATS, drawings, write
from fedradio.report.terminal.console import say
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
        runs, left_out = read_runs(folders, progress, participation=True)
        drawn = runs if len(runs) == 1 and not runs[0].damage else _complete(runs)
        figures_of_runs = drawings(variants(drawn))
        files = write(figures_of_runs, out_dir or folders[0] / "figures", endings, progress)
    notes = [
        f"{'as far as it went' if run in drawn else 'left out'}, {run.trouble}: {run.folder}"
        for run in runs
        if run.status != "complete"
    ]
    for note in notes + [f"left out, {run.status}: {run.folder}" for run in left_out]:
        say(err, (f"note: {note}", "yellow"))
    if not quiet:
        print_drawings(files, figures_of_runs)
        return
    for file in files:
        say(out, str(file))


def _complete(runs: Sequence[PastRun]) -> list[PastRun]:
    """The complete runs; refused if there are none."""
    complete = [run for run in runs if run.status == "complete"]
    if not complete:
        reasons = [f"{run.folder} is {run.trouble}" for run in runs if run.damage]
        if len(reasons) < len(runs):
            reasons.insert(0, "no run is complete: name a single run folder to see it as far as it went")
        raise StoreError("\n".join(reasons))
    return complete


def _formats(given: str) -> list[str]:
    """File endings, each once; all unknown ones are refused at once."""
    endings = list(dict.fromkeys(ending.strip().lower() for ending in given.split(",") if ending.strip()))
    remedy = f"one or more of: {', '.join(FORMATS)}"
    unknown = [ending for ending in endings if ending not in FORMATS]
    if unknown or not endings:
        problems = [
            Problem("--format", "unknown file format", suggest(ending, FORMATS) or remedy, ending) for ending in unknown
        ]
        raise SpecError(problems or Problem("--format", "names no file format", remedy, given))
    return endings

"""Runs side by side and their pictures: compare, figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from fedradio.cli.app import app, err, out
from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.experiment.past import PastRun, cells, open_runs, unbegun
from fedradio.experiment.problems import suggest
from fedradio.report.compare import LeftOut, complete
from fedradio.report.compare import compare as compare_runs
from fedradio.report.comparison import comparison_view
from fedradio.report.gallery import FORMATS, Drawing, curve_drawings, drawings, write
from fedradio.report.theory import LateProgress

Folders = Annotated[list[Path], typer.Argument(metavar="RUN|SWEEP", help="run folders and folders of sweeps")]


@app.command()
def compare(
    folders: Folders,
    metric: Annotated[str, typer.Option(help="a metric of the evaluations, such as loss")] = "accuracy",
    baseline: Annotated[
        str | None,
        typer.Option(help="label of the cell to compare with, or enough of it, such as fedavg; default the first"),
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="also tell what it took until the metric was there, such as 0.9")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="draw the curves into this folder, as PDF and PNG")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print plain data for programs")] = False,
) -> None:
    """Compare runs: means over seeds with 95 % intervals, differences paired by seed, costs.

    Runs that differ in their seed alone are one cell, a row of the table.
    """
    with LateProgress(err) as progress:
        runs = _read(folders, progress)
        absent = [LeftOut(label, seed, str(folder), "not begun") for label, seed, folder in unbegun(*folders)]
        found = compare_runs(runs, metric, baseline, target, absent)
        files = []
        if figures is not None:
            curves = curve_drawings([complete(cell) for cell in cells(runs)], metric, target=target)
            files = write(curves, figures, FORMATS, progress)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2, allow_nan=False))
        return
    out.print(comparison_view(found, out.width))
    if figures is not None:
        _tell(files, curves)


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
        runs = _read(folders, progress, participation=True)
        whole = runs if len(runs) == 1 else _complete(runs)
        found = drawings(cells(whole))
        files = write(found, out_dir or folders[0] / "figures", endings, progress)
    for run in runs:
        if run.status != "complete":
            words = "as far as it went" if run in whole else "left out"
            note = escape(f"note: {words}, {run.status}: {run.folder}")
            err.print(f"[yellow]{note}[/]", highlight=False, soft_wrap=True)
    if not quiet:
        _tell(files, found)
        return
    for file in files:
        out.print(str(file), highlight=False, soft_wrap=True)


def _read(folders: Sequence[Path], progress: LateProgress, participation: bool = False) -> list[PastRun]:
    """The runs with their records, which take the time."""
    runs = open_runs(*folders)
    if not runs:
        raise StoreError(f"no runs in {', '.join(map(str, folders))}")
    for number, run in enumerate(runs):
        progress(f"reading {run.folder}", number / len(runs))
        if run.status == "complete" or len(runs) == 1:
            run.read(participation)
    return runs


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


def _tell(files: Sequence[Path], found: Sequence[Drawing]) -> None:
    """Files by figure; what is missing, and why."""
    for one in found:
        named = [str(file) for file in files if file.stem == one.name]
        if named:
            out.print(f"{escape(', '.join(named))}", highlight=False, soft_wrap=True)
        if one.why:
            words = "" if one.make is not None else f"{one.name} is not drawn: "
            out.print(f"  [yellow]{escape(words + one.why)}[/]", highlight=False, soft_wrap=True)

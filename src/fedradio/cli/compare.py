"""``fedradio compare``: compares the variants of some runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.reading import Folders, print_drawings, read_runs
from fedradio.report.terminal.comparison import comparison_view
from fedradio.report.terminal.progress import LateProgress
from fedradio.results.compare import compare as compare_runs
from fedradio.results.compare import complete
from fedradio.results.run import undamaged
from fedradio.results.variants import variants

app = one_command()


@app.command()
def compare(
    folders: Folders,
    metric: Annotated[str, typer.Option(help="a metric of the evaluations, such as loss")] = "accuracy",
    baseline: Annotated[
        str | None,
        typer.Option(help="label of the variant to compare with, or enough of it, such as fedavg; default the first"),
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="also show what it took until the metric reached this value, such as 0.9")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="draw the curves into this folder, as PDF and PNG")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print plain data for programs")] = False,
) -> None:
    """Compare runs: means over seeds with 95 % intervals, differences paired by seed, costs.

    Runs that differ in their seed alone are one variant, a row of the table.
    """
    with LateProgress(err) as progress:
        runs, absent = read_runs(folders, progress)
        comparison = compare_runs(runs, metric, baseline, target, absent)
        files = []
        if figures is not None:
            from fedradio.report.figures.gallery import FORMATS, curve_drawings, write  # plotting is slow to import

            curves = curve_drawings([complete(variant) for variant in variants(undamaged(runs))], metric, target=target)
            files = write(curves, figures, FORMATS, progress)
    if as_json:
        typer.echo(json.dumps(asdict(comparison), indent=2, allow_nan=False))
        return
    out.print(comparison_view(comparison, out.width))
    if figures is not None:
        print_drawings(files, curves)

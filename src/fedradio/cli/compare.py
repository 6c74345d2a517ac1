"""``fedradio compare``: compare variants over seeds."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import FolderArguments, json_option
from fedradio.cli.reading import print_drawings, read_runs
from fedradio.report.terminal.progress import LateProgress
from fedradio.results.figure_options import FORMATS

app = one_command()


@app.command()
def compare(
    folders: FolderArguments,
    metric: Annotated[
        str | None, typer.Option(help="evaluation metric to compare, such as loss; default: accuracy, or rmse")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="variant to compare with, by its label or part of it, such as fedavg; default: the first"),
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="also show the cost of reaching this value of the metric, such as 0.9")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="draw the learning curves as PDF and PNG in this folder")
    ] = None,
    as_json: Annotated[bool, json_option("the comparison")] = False,
) -> None:
    """Compare runs: means over seeds with 95 % confidence intervals, differences paired by seed, costs.

    Runs that differ only in their seed form one variant, which is one row of the table.
    """
    from fedradio.report.terminal.comparison import comparison_view
    from fedradio.results.compare import compare as compare_runs
    from fedradio.results.compare import complete
    from fedradio.results.run import undamaged
    from fedradio.results.variants import variants

    with LateProgress(err) as progress:
        runs, absent = read_runs(folders, progress)
        comparison = compare_runs(runs, metric, baseline, target, absent)
        files = []
        if figures is not None:
            from fedradio.report.figures.gallery import curve_drawings, write  # plotting is slow to import

            curves = curve_drawings(
                [complete(variant) for variant in variants(undamaged(runs))], comparison.metric, target=target
            )
            files = write(curves, figures, FORMATS, progress)
    if as_json:
        typer.echo(json.dumps(asdict(comparison), indent=2, allow_nan=False))
        return
    out.print(comparison_view(comparison, out.width))
    if figures is not None:
        print_drawings(files, curves)

"""``fedradio diagnose``: measure smoothness, gradient noise, client divergence and drop of the loss of a run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import PartFiles, RunArgument, figure_option, json_option, quiet_option
from fedradio.core.errors import Problem, SpecError
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress

app = one_command()


@app.command(name="diagnose")
def diagnose_run(
    run_dir: RunArgument,
    rounds: Annotated[int, typer.Option(min=1, help="number of rounds to run again, from the first one on")] = 10,
    every: Annotated[int, typer.Option(min=1, help="measure one round in N, from the first one on")] = 1,
    figure: Annotated[Path | None, figure_option("the quantities")] = None,
    as_json: Annotated[bool, json_option()] = False,
    parts: PartFiles = None,
    quiet: Annotated[bool, quiet_option("errors and the table")] = False,
) -> None:
    """Measure smoothness, gradient noise, client divergence and drop of the loss of a run, round by round.

    The first rounds are run again from the seed; nothing is written to the run folder.
    """
    from fedradio.report.charts.diagnosis import diagnosis_plots
    from fedradio.report.figures.axes import save_figure
    from fedradio.report.figures.draw import draw_panels
    from fedradio.report.figures.gallery import DPI
    from fedradio.report.terminal.diagnosis import diagnosis_view
    from fedradio.results.diagnosis import UNITS, diagnose

    with LateProgress(err) as progress:
        found = diagnose(run_dir, rounds, every, progress=progress)
    if not found.rounds:
        raise SpecError(Problem("--rounds", "no client has labelled samples by then", "more rounds", rounds))
    if found.unlike is not None:
        text = f"round {found.unlike + 1} has another training loss than its record: another machine or version"
        say(err, (f"note: {text}", "yellow"))
    if as_json:
        typer.echo(json.dumps({**asdict(found), "units": UNITS}, indent=2, allow_nan=False))
    else:
        out.print(diagnosis_view(found))
    if figure is not None:
        try:
            save_figure(draw_panels(diagnosis_plots(found)), figure, DPI)
        except OSError as error:
            raise SpecError(Problem("--figure", f"cannot be written: {error.strerror}", value=str(figure))) from None
        if not (quiet or as_json):
            say(out, f"figure: {figure}")

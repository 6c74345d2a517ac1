"""``fedradio theory``: evaluates a paper's convergence bound on a run, beside what the run did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.papers.bounds.assess import SYMBOLS, assess
from fedradio.report.terminal.bound import assessment_view
from fedradio.report.terminal.progress import LateProgress

app = one_command()


@app.command()
def theory(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="run folder")],
    paper: Annotated[str, typer.Option(help="whose theorem")] = "rawhfl",
    replay: Annotated[int, typer.Option(help="rounds to run again for estimates and measurements")] = 3,
    smoothness: Annotated[float | None, typer.Option(help="beta; like all below, estimated where not given")] = None,
    variance: Annotated[float | None, typer.Option(help="sigma^2 of a mini-batch gradient")] = None,
    client_divergence: Annotated[float | None, typer.Option(help="eps_0^2, clients from their edge")] = None,
    edge_divergence: Annotated[float | None, typer.Option(help="eps_1^2, edges from the global mean")] = None,
    gap: Annotated[float | None, typer.Option(help="f(w0) - f_inf, for the whole run")] = None,
) -> None:
    """Evaluate a paper's convergence bound on a run, beside what the run did."""
    values = (smoothness, variance, client_divergence, edge_divergence, gap)
    given = {name: value for name, value in zip(SYMBOLS, values, strict=True) if value is not None}
    with LateProgress(err) as progress:
        assessment = assess(run_dir, paper=paper, rounds=replay, given=given, progress=progress)
    out.print(assessment_view(assessment))

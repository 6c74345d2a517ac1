"""``fedradio theory``: evaluate a paper's convergence bounds on a run."""

from __future__ import annotations

from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import PartFiles, RunArgument
from fedradio.core.errors import Problem, SpecError
from fedradio.papers.bounds.assess import assess
from fedradio.report.terminal.bound import assessment_view
from fedradio.report.terminal.progress import LateProgress

app = one_command()

PAPER = "rawhfl, osafl, whfl or fedcpsl; default: the paper whose theorem covers the run"
SET = (
    "use NAME=VALUE for a constant instead of its estimate, such as rho_1=2; can be repeated; the table lists the names"
)


@app.command()
def theory(
    run_dir: RunArgument,
    paper: Annotated[str | None, typer.Option(metavar="NAME", help=PAPER)] = None,
    replay: Annotated[int, typer.Option(help="number of rounds to rerun for estimates and measurements")] = 3,
    constants: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=SET)] = None,
    smoothness: Annotated[float | None, typer.Option(help="same as --set smoothness=VALUE")] = None,
    variance: Annotated[float | None, typer.Option(help="variance sigma^2 of a mini-batch gradient")] = None,
    client_divergence: Annotated[
        float | None, typer.Option(help="RawHFL's eps_0^2: divergence of clients from their edge")
    ] = None,
    edge_divergence: Annotated[
        float | None, typer.Option(help="RawHFL's eps_1^2: divergence of edges from the global mean")
    ] = None,
    gap: Annotated[float | None, typer.Option(help="f(w0) - f_inf, for the whole run")] = None,
    parts: PartFiles = None,
) -> None:
    """Evaluate a paper's convergence bounds on a run, next to what the run measured."""
    named = {
        "smoothness": smoothness,
        "variance": variance,
        "client_divergence": client_divergence,
        "edge_divergence": edge_divergence,
        "gap": gap,
    }
    given = {name: value for name, value in named.items() if value is not None} | _pairs(constants or [])
    with LateProgress(err) as progress:
        assessment = assess(run_dir, paper=paper, rounds=replay, given=given, progress=progress)
    out.print(assessment_view(assessment))


def _pairs(texts: list[str]) -> dict[str, float]:
    """Parse constants given as ``NAME=VALUE``."""
    pairs, problems = {}, []
    for text in texts:
        name, _, value = text.partition("=")
        try:
            pairs[name.strip()] = float(value)
        except ValueError:
            problems.append(Problem("--set", "not a name and a number", "such as --set smoothness=2", text))
    if problems:
        raise SpecError(problems)
    return pairs

"""Runs: run, resume, theory."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from fedradio.cli.app import Overrides, SpecArgument, app, err, out
from fedradio.experiment.resume import resume as resume_run
from fedradio.experiment.run import Observer, Summary
from fedradio.experiment.run import run as run_spec
from fedradio.experiment.spec import load_spec
from fedradio.experiment.store import new_folder
from fedradio.experiment.theory import SYMBOLS, assess
from fedradio.report.progress import RunProgress
from fedradio.report.tables import summary_table
from fedradio.report.theory import LateProgress, assessment_view


@app.command()
def run(
    spec: SpecArgument,
    overrides: Overrides = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="run folder; default runs/NAME-seedN")] = None,
    seed: Annotated[int | None, typer.Option(help="replaces the spec's seed")] = None,
    rounds: Annotated[int | None, typer.Option(help="replaces the spec's rounds")] = None,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="where to train")] = "cpu",
    workers: Annotated[int | None, typer.Option(min=1, help="threads; results do not depend on it")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the run folder")] = False,
) -> None:
    """Run a spec and write its run folder."""
    extra = [f"{key}={value}" for key, value in (("seed", seed), ("rounds", rounds)) if value is not None]
    checked = load_spec(spec, [*(overrides or ()), *extra])
    folder = out_dir or new_folder(checked.name, checked.seed)
    changes = [*(overrides or ()), *extra]
    _shown(
        lambda watch: run_spec(checked, folder, device=device, workers=workers, observer=watch), folder, quiet, changes
    )


@app.command()
def resume(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="run folder")],
    rounds: Annotated[int | None, typer.Option(help="another end; makes a finished run longer")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="threads; results do not depend on it")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the run folder")] = False,
) -> None:
    """Go on with a run that was interrupted or killed; the result equals that of a run in one go."""
    _shown(lambda watch: resume_run(run_dir, rounds=rounds, workers=workers, observer=watch), run_dir, quiet)


def _shown(do: Callable[[Observer | None], Summary], folder: Path, quiet: bool, changes: Sequence[str] = ()) -> None:
    """Run with progress and a table, or quietly."""
    try:
        if quiet:
            do(None)
            out.print(str(folder), highlight=False, soft_wrap=True)
            return
        with RunProgress(out, changes) as progress:
            summary = do(progress)
    except KeyboardInterrupt:
        if folder.is_dir():
            words = f"interrupted; what was done is in {folder}; go on with: fedradio resume {folder}"
            err.print(words, highlight=False, soft_wrap=True)
        raise
    out.print(summary_table(summary))
    out.print(f"run folder: {folder}", highlight=False, soft_wrap=True)
    out.print(f"its page: fedradio report {shlex.quote(str(folder))}", highlight=False, soft_wrap=True)


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
        found = assess(run_dir, paper=paper, rounds=replay, given=given, tell=progress)
    out.print(assessment_view(found))

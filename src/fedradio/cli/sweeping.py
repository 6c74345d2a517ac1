"""Many runs and their tables: sweep, export."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from fedradio.cli.app import SpecArgument, app, err, out
from fedradio.experiment.export import Format
from fedradio.experiment.export import export as export_tables
from fedradio.experiment.grid import SweepPlan, parse_seeds, plan_sweep
from fedradio.experiment.sweep import SweepResult, check_cells, results, run_sweep, sweep_folder
from fedradio.report.sweep import BatchProgress, cells_table, count_words, results_table, trouble_lines
from fedradio.report.theory import LateProgress

SWEEP_CODES = (
    "Exit codes: 0 all runs are complete; 3 some have diverged; else that of the first failure: 4 data, 5 folder, "
    "1 a crash; 2 wrong input, nothing was run; 130 interrupted: the same command goes on."
)

AXES = "key=a,b,c is an axis, key=a is the same in all cells; [64,32],[128] are two values"


@app.command(epilog=SWEEP_CODES)
def sweep(
    spec: SpecArgument,
    changes: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE,...", help=AXES)] = None,
    seeds: Annotated[
        str | None, typer.Option(help="5 is the seeds 1 to 5; 1,2,7 are these seeds; default: the spec's own")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="runs at a time; results do not depend on it")] = 1,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="sweep folder, new or of a sweep to go on with; default sweeps/NAME")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="replaces the spec's rounds")] = None,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="where to train")] = "cpu",
    workers: Annotated[int | None, typer.Option(min=1, help="threads of a run; default: all cores, shared")] = None,
    only_list: Annotated[bool, typer.Option("--list", help="list the cells and stop")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the sweep folder")] = False,
) -> None:
    """Run a spec with every combination of values, on the same seeds; what is complete already is not run again."""
    chosen = None if seeds is None else parse_seeds(seeds)
    plan = plan_sweep(spec, changes or (), seeds=chosen, rounds=rounds)
    if only_list:
        out.print(cells_table(plan))
        out.print(count_words(plan), highlight=False)
        return
    folder = out_dir or sweep_folder(plan)
    _check(plan, folder, device, quiet)
    with BatchProgress(err) as progress:
        try:
            observer = None if quiet else progress
            result = run_sweep(plan, folder, parallel=jobs, device=device, workers=workers, observer=observer)
        except KeyboardInterrupt:
            again = _again(spec, changes or (), seeds, rounds, jobs, folder)
            err.print(
                f"interrupted; what was done is in {folder}; go on with: {again}", highlight=False, soft_wrap=True
            )
            raise
    _show(result, quiet)
    if any(one.status not in ("complete", "diverged") for one in result.outcomes):
        again = _again(spec, changes or (), seeds, rounds, jobs, folder)
        err.print(f"run again what has failed: {again}", highlight=False, soft_wrap=True)
    if result.exit_code:
        raise typer.Exit(result.exit_code)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN|SWEEP", help="run folder or sweep folder")],
    to: Annotated[Format, typer.Option("--to", help="parquet needs pip install 'fedradio[parquet]'")] = "csv",
    out_dir: Annotated[Path | None, typer.Option("--out", help="where the tables go; default FOLDER/export")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors")] = False,
) -> None:
    """Write the records of a run or of all runs of a sweep as flat tables."""
    with LateProgress(err) as progress:
        files = export_tables(folder, to, out_dir, progress)
    for path, rows in {} if quiet else files.items():
        out.print(f"{path}: {rows} row{'s' * (rows != 1)}", highlight=False, soft_wrap=True)


def _check(plan: SweepPlan, folder: Path, device: str, quiet: bool) -> None:
    """Refuse what cannot run before anything does."""
    with LateProgress(err) as progress:
        warnings = check_cells(plan, folder, device, progress)
    if quiet:
        return
    err.print(f"[bold]{escape(plan.name)}[/]  {count_words(plan)} in {escape(str(folder))}", highlight=False)
    for warning in warnings:
        err.print(f"[yellow]warning[/] {escape(warning)}", highlight=False, soft_wrap=True)


def _show(result: SweepResult, quiet: bool) -> None:
    """The table, what went wrong, and where to go on."""
    for text in trouble_lines(result.outcomes):
        err.print(text, markup=False, highlight=False, soft_wrap=True)
    if quiet:
        out.print(str(result.folder), highlight=False, soft_wrap=True)
        return
    out.print(results_table(results(result.folder)))
    before = sum(not one.fresh for one in result.outcomes)
    made = len(result.outcomes) - before
    folder = shlex.quote(str(result.folder))
    out.print(f"{made} runs made, {before} were there before; sweep folder: {folder}", highlight=False, soft_wrap=True)
    out.print(f"fedradio compare {folder}\nfedradio report {folder}", highlight=False, soft_wrap=True)


def _again(spec: str, changes: Sequence[str], seeds: str | None, rounds: int | None, jobs: int, folder: Path) -> str:
    """The command that makes what is missing."""
    words = ["fedradio", "sweep", spec, *changes]
    words += [] if seeds is None else ["--seeds", seeds]
    words += [] if rounds is None else ["--rounds", str(rounds)]
    words += [] if jobs == 1 else ["--jobs", str(jobs)]
    return shlex.join([*words, "--out", str(folder)])

"""``fedradio sweep``: run every combination of values on the same seeds, in one folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import (
    RAY_HELP,
    Device,
    Jobs,
    PartFiles,
    Rounds,
    SpecArgument,
    WorkersPerRun,
    quiet_option,
    seeds_option,
)
from fedradio.cli.where import pool_on
from fedradio.core.errors import Problem, SpecError
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.report.terminal.words import count
from fedradio.sweeps.slurm import MOST_TASKS, slurm_script, write_script

if TYPE_CHECKING:
    from fedradio.sweeps.grid import SweepPlan
    from fedradio.sweeps.sweep import Sweep

SWEEP_CODES = (
    "Exit codes: 0 all runs are complete; 3 some runs diverged; otherwise that of the first failure: 4 data, 5 folder, "
    "1 crash; 2 invalid input, nothing was run; 130 interrupted (Ctrl-C, SIGTERM, SIGHUP): repeat the command to "
    "resume."
)

AXES = "key=a,b,c is an axis, key=a applies to all variants; [64,32],[128] are two values"


app = one_command()


@app.command(epilog=SWEEP_CODES)
def sweep(
    spec: SpecArgument,
    changes: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE,...", help=AXES)] = None,
    seeds: Annotated[str | None, seeds_option("spec")] = None,
    jobs: Jobs = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="sweep folder, either new or one to resume; default: sweeps/NAME")
    ] = None,
    rounds: Rounds = None,
    device: Device = "cpu",
    workers: WorkersPerRun = None,
    on: Annotated[
        Literal["local", "ray", "slurm"],
        typer.Option(
            "--on", help=f"where to run (does not affect results); {RAY_HELP}; slurm: write the script of a job array"
        ),
    ] = "local",
    sbatch: Annotated[
        str, typer.Option("--sbatch", metavar="OPTIONS", help="with --on slurm: options for sbatch, such as '-p short'")
    ] = "",
    parts: PartFiles = None,
    only_list: Annotated[bool, typer.Option("--list", help="list the variants without running them")] = False,
    quiet: Annotated[bool, quiet_option("errors and the sweep folder")] = False,
) -> None:
    """Run a spec with every combination of the given values, on the same seeds; completed runs are not repeated."""
    from fedradio.report.terminal.sweep import BatchProgress, failures_line, size_text, variants_table
    from fedradio.results.sweep_file import check_outside_sweeps
    from fedradio.sweeps.grid import parse_seeds, plan_sweep
    from fedradio.sweeps.sweep import joined, run_sweep, sweep_folder

    chosen = None if seeds is None else parse_seeds(seeds)
    plan = plan_sweep(spec, changes or (), seeds=chosen, rounds=rounds)
    folder = out_dir or sweep_folder(plan)
    if only_list:
        whole = joined(folder, plan)
        out.print(variants_table(whole))
        say(out, f"{size_text(whole)} in {folder}")
        return
    check_outside_sweeps(folder)
    if sbatch and on != "slurm":
        raise SpecError(Problem("--sbatch", "only works with Slurm", "add --on slurm", sbatch))
    options = _options(seeds, rounds, jobs, device, workers, on, folder)
    command = _resume_command([spec, *(changes or ())], options, parts or ())
    _check(plan, folder, device, quiet)
    if on == "slurm":
        _write_array(plan, folder, jobs, workers, sbatch, parts or [])
        return
    with pool_on(on, jobs, device) as pool, BatchProgress(err) as progress:
        try:
            observer = None if quiet else progress
            result = run_sweep(plan, folder, device=device, workers=workers, observer=observer, pool=pool)
        except KeyboardInterrupt:
            say(err, f"interrupted; finished work is in {folder}; resume with: {command}")
            raise
    _show(result, quiet)
    if result.exit_code:
        failed = [outcome for outcome in result.failed if outcome.status != "diverged"]
        again = any(not outcome.other_format for outcome in failed)
        remedy = f"; to retry the failed runs: {command}" if again else ""
        say(err, (failures_line(result.outcomes), "red"), f" (exit code {result.exit_code}){remedy}")
        raise typer.Exit(result.exit_code)


def _check(plan: SweepPlan, folder: Path, device: str, quiet: bool) -> None:
    """Check all variants before anything runs, and print the size of the sweep and any warnings."""
    from fedradio.report.terminal.sweep import size_text
    from fedradio.sweeps.sweep import check_variants

    with LateProgress(err) as progress:
        warnings = check_variants(plan, folder, device, progress)
    if quiet:
        return
    say(err, (plan.name, "bold"), f"  {size_text(plan)} in {folder}")
    for warning in warnings:
        say(err, ("warning", "yellow"), f" {warning}")


def _write_array(
    plan: SweepPlan, folder: Path, jobs: int | None, workers: int | None, options: str, parts: Sequence[Path]
) -> None:
    """Write the sweep and the script of a Slurm array, and print the command that submits it."""
    from fedradio.sweeps.sweep import written_sweep

    with written_sweep(plan, folder) as whole:
        tasks = min(jobs or MOST_TASKS, whole.runs)
        text = slurm_script(folder, tasks, name=whole.name, options=options, cpus=workers or 1, part_files=parts)
        path = write_script(folder, text)
    say(out, shlex.join(["sbatch", str(path)]))


def _show(result: Sweep, quiet: bool) -> None:
    """Print failures, the table of results, and the commands that show more."""
    from fedradio.report.terminal.sweep import results_view, trouble_lines
    from fedradio.sweeps.sweep import sweep_results

    for text in trouble_lines(result.outcomes):
        say(err, text)
    if quiet:
        say(out, str(result.folder))
        return
    out.print(results_view(sweep_results(result.folder), out.width))
    ended = [outcome for outcome in result.outcomes if outcome.status in ("complete", "diverged")]
    before = sum(not outcome.fresh for outcome in ended)
    made = len(ended) - before
    folder = shlex.quote(str(result.folder))
    say(out, f"{count(made, 'run')} made, {before} already done; sweep folder: {folder}")
    if ended:
        say(out, f"fedradio compare {folder}\nfedradio report {folder}")


def _options(
    seeds: str | None, rounds: int | None, jobs: int | None, device: str, workers: int | None, on: str, folder: Path
) -> dict[str, object]:
    """The options that differ from their defaults, and the folder."""
    given: dict[str, object] = {"--seeds": seeds, "--rounds": rounds, "--jobs": jobs}
    given |= {"--on": None if on == "local" else on}
    given |= {"--device": None if device == "cpu" else device, "--workers": workers, "--out": folder}
    return {name: value for name, value in given.items() if value is not None}


def _resume_command(arguments: Sequence[str], options: Mapping[str, object], parts: Sequence[Path]) -> str:
    """The command that makes the missing runs, with the part files that it needs."""
    pairs = [*options.items(), *(("--parts", file) for file in parts)]
    return shlex.join(["fedradio", "sweep", *arguments, *(str(word) for pair in pairs for word in pair)])

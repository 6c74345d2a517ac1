"""``fedradio work``: make runs of a sweep together with other worker processes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import Device, PartFiles, WorkersPerRun, quiet_option
from fedradio.core.errors import DivergenceError
from fedradio.report.terminal.console import say
from fedradio.report.terminal.words import count

CODES = (
    "Exit codes: 0 all runs are complete or left to others; 3 some runs diverged; otherwise that of the first failure: "
    "4 data, 5 folder, 1 crash; 130 interrupted: repeat the command to resume."
)

app = one_command()


@app.command(epilog=CODES)
def work(
    sweep: Annotated[Path, typer.Argument(metavar="SWEEP", help="sweep folder")],
    jobs: Annotated[int, typer.Option(min=1, max=256, help="number of runs at a time; does not affect results")] = 1,
    device: Device = "cpu",
    workers: WorkersPerRun = None,
    parts: PartFiles = None,
    quiet: Annotated[bool, quiet_option("errors and the sweep folder")] = False,
) -> None:
    """Make the runs of a sweep that no other process is making; start as many workers as you like, on any machine
    that mounts the folder."""
    from fedradio.report.terminal.sweep import BatchProgress, trouble_lines
    from fedradio.sweeps.work import work as work_on

    with BatchProgress(err) as progress:
        try:
            observer = None if quiet else progress
            outcomes = work_on(sweep, parallel=jobs, device=device, workers=workers, observer=observer)
        except KeyboardInterrupt:
            say(err, f"interrupted; finished work is in {sweep}; repeat the command to resume")
            raise
    held = [outcome for outcome in outcomes if outcome.status == "held"]
    rest = [outcome for outcome in outcomes if outcome.status != "held"]
    for text in trouble_lines(rest):
        say(err, text)
    made = sum(outcome.fresh for outcome in rest)
    states = Counter(outcome.status for outcome in outcomes)
    if quiet:
        say(out, str(sweep))
    else:
        numbers = ", ".join(f"{number} {status}" for status, number in sorted(states.items()))
        say(out, f"{made} of {len(outcomes)} runs made here ({numbers}); sweep folder: {sweep}")
    failed = [outcome.exit_code for outcome in rest if outcome.status not in ("complete", "diverged")]
    code = failed[0] if failed else DivergenceError.exit_code if states["diverged"] else 0
    if code:
        raise typer.Exit(code)
    if held and not quiet:
        say(out, f"{count(len(held), 'run')} left to other processes")

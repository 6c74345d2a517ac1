"""``fedradio resume``: resume a run that was interrupted or killed."""

from __future__ import annotations

from typing import Annotated

import typer

from fedradio.cli.app import one_command
from fedradio.cli.options import Actors, PartFiles, RunArgument, TrainOn, Workers, quiet_option
from fedradio.cli.running import show_run
from fedradio.cli.where import backend_on

app = one_command()


@app.command()
def resume(
    run_dir: RunArgument,
    rounds: Annotated[
        int | None, typer.Option(help="new total number of rounds; use it to extend a finished run")
    ] = None,
    workers: Workers = None,
    on: TrainOn = "local",
    actors: Actors = None,
    parts: PartFiles = None,
    changed_parts: Annotated[
        bool, typer.Option("--changed-parts", help="resume even if a part file has changed since the run began")
    ] = False,
    quiet: Annotated[bool, quiet_option("errors and the run folder")] = False,
) -> None:
    """Resume a run that was interrupted or killed; the result is the same as if it had never stopped."""
    from fedradio.runs.resume import resume as resume_run

    with backend_on(on, actors) as backend:
        show_run(
            lambda observer: resume_run(
                run_dir,
                rounds=rounds,
                workers=workers,
                observer=observer,
                changed_parts=changed_parts,
                backend=backend,
            ),
            run_dir,
            quiet,
            parts=parts or (),
        )

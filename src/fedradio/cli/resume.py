"""``fedradio resume``: resume a run that was interrupted or killed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import PartFiles, one_command
from fedradio.cli.running import show_run
from fedradio.cli.where import Actors, On, backend_on
from fedradio.runs.resume import resume as resume_run

app = one_command()


@app.command()
def resume(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="run folder")],
    rounds: Annotated[
        int | None, typer.Option(help="new total number of rounds; use it to extend a finished run")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="number of threads; does not affect results")] = None,
    on: On = "local",
    actors: Actors = None,
    parts: PartFiles = None,
    changed_parts: Annotated[
        bool, typer.Option("--changed-parts", help="resume even if a part file has changed since the run began")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print only errors and the run folder")] = False,
) -> None:
    """Resume a run that was interrupted or killed; the result is the same as if it had never stopped."""
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

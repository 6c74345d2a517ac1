"""``fedradio run``: run a spec and write a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fedradio.cli.app import Overrides, PartFiles, Rounds, Seed, SpecArgument, changes, one_command
from fedradio.cli.running import show_run
from fedradio.cli.where import Actors, On, backend_on
from fedradio.results.sweep_file import check_outside_sweeps
from fedradio.runs.folder import new_folder
from fedradio.runs.run import run as run_spec
from fedradio.spec.spec import load_spec

app = one_command()


@app.command()
def run(
    spec: SpecArgument,
    overrides: Overrides = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="run folder; default: runs/NAME-seedN")] = None,
    seed: Seed = None,
    rounds: Rounds = None,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="device to train on")] = "cpu",
    workers: Annotated[int | None, typer.Option(min=1, help="number of threads; does not affect results")] = None,
    on: On = "local",
    actors: Actors = None,
    parts: PartFiles = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print only errors and the run folder")] = False,
) -> None:
    """Run a spec and write the results to a run folder."""
    changed = changes(overrides, seed, rounds)
    checked = load_spec(spec, changed)
    folder = out_dir or new_folder(checked.name, checked.seed)
    check_outside_sweeps(folder)
    with backend_on(on, actors, device) as backend:
        show_run(
            lambda observer: run_spec(
                checked, folder, device=device, workers=workers, observer=observer, backend=backend
            ),
            folder,
            quiet,
            changed,
            parts or (),
        )

"""``fedradio run``: run a spec and write a run folder."""

from __future__ import annotations

from typing import Annotated

from fedradio.cli.app import one_command
from fedradio.cli.options import (
    Actors,
    Device,
    Overrides,
    PartFiles,
    Rounds,
    RunOut,
    Seed,
    SpecArgument,
    TrainOn,
    Workers,
    changes,
    quiet_option,
)
from fedradio.cli.running import show_run
from fedradio.cli.where import backend_on
from fedradio.runs.folder import new_folder
from fedradio.spec.spec import load_spec

app = one_command()


@app.command()
def run(
    spec: SpecArgument,
    overrides: Overrides = None,
    out_dir: RunOut = None,
    seed: Seed = None,
    rounds: Rounds = None,
    device: Device = "cpu",
    workers: Workers = None,
    on: TrainOn = "local",
    actors: Actors = None,
    parts: PartFiles = None,
    quiet: Annotated[bool, quiet_option("errors and the run folder")] = False,
) -> None:
    """Run a spec and write the results to a run folder."""
    from fedradio.results.sweep_file import check_outside_sweeps
    from fedradio.runs.run import run as run_spec

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

"""``fedradio export``: export the records of a run or sweep as flat tables, or to an experiment tracker."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import FolderArgument, quiet_option
from fedradio.core.errors import Problem, SpecError
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress

if TYPE_CHECKING:
    from fedradio.report.trackers.track import TrackerName

app = one_command()


HELP = "tables: csv, parquet (pip install 'fedradio[parquet]'); trackers: tensorboard, mlflow (extras of the same name)"


@app.command()
def export(
    folder: FolderArgument,
    to: Annotated[Literal["csv", "parquet", "tensorboard", "mlflow"], typer.Option("--to", help=HELP)] = "csv",
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="folder for the tables or the tracker's files; default: FOLDER/export")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="for trackers: keep exporting until the run has ended or you press Ctrl-C")
    ] = False,
    quiet: Annotated[bool, quiet_option()] = False,
) -> None:
    """Export the records of a run or of all runs of a sweep as flat tables, or to TensorBoard or MLflow."""
    from fedradio.results.export import export as export_tables

    if to == "tensorboard" or to == "mlflow":
        _track(folder, to, out_dir, follow, quiet)
        return
    if follow:
        raise SpecError(
            Problem(
                "--follow", "only works with trackers; tables are written once", "--to tensorboard or --to mlflow", to
            )
        )
    with LateProgress(err) as progress:
        files = export_tables(folder, to, out_dir, progress, _note)
    for path, rows in {} if quiet else files.items():
        say(out, f"{path}: {rows} row{'s' * (rows != 1)}")


def _track(folder: Path, to: TrackerName, out_dir: Path | None, follow: bool, quiet: bool) -> None:
    """Export runs to a tracker and print how to open its pages."""
    from fedradio.report.trackers.track import track

    if follow and not quiet:
        say(err, f"following {folder} until it has ended; press Ctrl-C to stop")
    with LateProgress(err) as progress:
        where, runs = track(folder, to, out_dir, follow, progress, _note)
    if quiet:
        return
    for run, rounds in runs.items():
        say(out, f"{run.name}: {rounds} round{'s' * (rounds != 1)}")
    command = ["tensorboard", "--logdir"] if to == "tensorboard" else ["mlflow", "ui", "--backend-store-uri"]
    say(out, shlex.join([*command, where]) if "://" not in where or where.startswith("sqlite") else f"store: {where}")


def _note(text: str) -> None:
    say(err, (f"note: {text}", "yellow"))

"""``fedradio export``: writes the records of a run or a sweep as flat tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.results.export import Format
from fedradio.results.export import export as export_tables

app = one_command()


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN|SWEEP", help="run folder or sweep folder")],
    to: Annotated[Format, typer.Option("--to", help="parquet needs pip install 'fedradio[parquet]'")] = "csv",
    out_dir: Annotated[Path | None, typer.Option("--out", help="where the tables go; default FOLDER/export")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors")] = False,
) -> None:
    """Write the records of a run or of all runs of a sweep as flat tables."""
    with LateProgress(err) as progress:
        files = export_tables(folder, to, out_dir, progress, note=lambda text: say(err, (f"note: {text}", "yellow")))
    for path, rows in {} if quiet else files.items():
        say(out, f"{path}: {rows} row{'s' * (rows != 1)}")

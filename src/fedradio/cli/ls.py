"""``fedradio ls``: lists registered parts, or shipped specs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from fedradio.cli.app import PartFiles, one_command, out
from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.core.registry import FAMILIES, parts
from fedradio.report.terminal.catalog import parts_table
from fedradio.spec.spec import load_spec
from fedradio.spec.yaml import shipped

app = one_command()


@app.command("ls")
def list_parts(
    family: Annotated[str | None, typer.Argument(help="one family of parts, or `spec` for the shipped specs")] = None,
    files: PartFiles = None,
) -> None:
    """List every registered part, with one line each; `ls spec` lists the shipped specs."""
    if family == "spec":
        out.print(_specs_table())
        return
    if family is not None and family not in FAMILIES:
        known = [*FAMILIES, "spec"]
        raise SpecError(Problem(family, "no such family", suggest(family, known) or f"one of: {', '.join(known)}"))
    out.print(parts_table(parts(family)))


def _specs_table() -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("spec")
    table.add_column("what it runs")
    for name in shipped():
        table.add_row(name, load_spec(name).plain["about"])
    return table

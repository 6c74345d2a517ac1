"""``fedradio ls``: list registered parts or shipped specs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from fedradio.cli.app import one_command, out
from fedradio.cli.options import PartFiles
from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.core.registry import FAMILIES, parts
from fedradio.report.terminal.catalog import parts_table
from fedradio.report.terminal.words import plain_table
from fedradio.spec.files import near_specs, shipped
from fedradio.spec.spec import load_spec

app = one_command()


@app.command("ls")
def list_parts(
    family: Annotated[
        str | None,
        typer.Argument(help="one family of parts, or `spec` for the shipped specs"),
    ] = None,
    beginning: Annotated[
        str,
        typer.Argument(
            metavar="[BEGINNING]", help="with `spec`: list only specs whose names begin like this, such as rawhfl"
        ),
    ] = "",
    files: PartFiles = None,
) -> None:
    """List all registered parts, one per line; `ls spec` lists the shipped specs."""
    if family == "spec":
        out.print(_specs_table(beginning))
        return
    if beginning:
        raise SpecError(Problem("BEGINNING", "can only be used with `ls spec`", "fedradio ls spec rawhfl", beginning))
    if family is not None and family not in FAMILIES:
        known = [*FAMILIES, "spec"]
        raise SpecError(Problem(family, "no such family", suggest(family, known) or f"one of: {', '.join(known)}"))
    out.print(parts_table(parts(family)))


def _specs_table(beginning: str) -> Table:
    names = [name for name in shipped() if name.startswith(beginning)]
    if not names:
        raise SpecError(Problem("BEGINNING", "no shipped spec begins like this", near_specs(beginning), beginning))
    return plain_table(("spec", "what it runs"), [[name, load_spec(name).plain["about"]] for name in names])

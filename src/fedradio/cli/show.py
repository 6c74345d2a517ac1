"""``fedradio show``: show a part's keywords, units, bounds, defaults and paper; or the kinds of a family."""

from __future__ import annotations

from typing import Annotated

import typer

from fedradio.cli.app import one_command, out
from fedradio.cli.options import PartFiles
from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.core.registry import FAMILIES, parts
from fedradio.report.terminal.catalog import parameters_table, parts_table
from fedradio.report.terminal.console import say
from fedradio.spec.files import shipped, shipped_text

app = one_command()


@app.command()
def show(
    kind: Annotated[
        str,
        typer.Argument(
            help="a part by its kind, such as fedprox, or by family/kind; a family, such as link; or a shipped spec",
        ),
    ],
    files: PartFiles = None,
) -> None:
    """Show a part's parameters, with units, bounds, defaults and paper; the parts of a family; or a shipped spec."""
    if kind in shipped():
        say(out, shipped_text(kind).rstrip())
        say(out, ("run it:", "dim"), f" fedradio run {kind}; copy it to edit: fedradio cp {kind} mine.yaml")
        return
    if kind in FAMILIES:
        say(out, (kind, "bold"), f": {FAMILIES[kind]}")
        out.print(parts_table(parts(kind)))
        return
    family, _, name = kind.rpartition("/")
    matching = [part for part in parts() if part.kind == name and family in ("", part.family)]
    if not matching:
        raise SpecError(Problem(kind, "no such part", _remedy(kind)))
    for part in matching:
        say(out, (f"{part.family}/{part.kind}", "bold"))
        out.print(part.doc.replace("``", ""))
        if part.paper:
            say(out, ("paper:", "dim"), f" {part.paper}")
        if part.parameters():
            out.print(parameters_table(part))
        else:
            say(out, ("no parameters", "dim"))
        out.print()


def _remedy(name: str) -> str:
    """A hint for a name that is not a part."""
    near = suggest(name, [*FAMILIES, *(part.kind for part in parts())]) or "list all parts with fedradio ls"
    return f"{near}; --parts FILE loads your own"

"""Parts and specs: ls, show, validate, cp."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from fedradio.cli.app import Overrides, SpecArgument, app, out
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import FAMILIES, parts
from fedradio.experiment.build import build
from fedradio.experiment.problems import suggest
from fedradio.experiment.read import shipped, shipped_text
from fedradio.experiment.spec import load_spec
from fedradio.report.tables import parameters_table, parts_table


@app.command("ls")
def list_parts(
    family: Annotated[str | None, typer.Argument(help="one family of parts, or `spec` for the shipped specs")] = None,
) -> None:
    """List every registered part, with one line each; `ls spec` lists the shipped specs."""
    if family == "spec":
        out.print(_specs_table())
        return
    if family is not None and family not in FAMILIES:
        known = [*FAMILIES, "spec"]
        raise SpecError(Problem(family, "no such family", suggest(family, known) or f"one of: {', '.join(known)}"))
    out.print(parts_table(parts(family)))


@app.command()
def show(kind: Annotated[str, typer.Argument(help="kind of a part, such as fedprox, or family/kind")]) -> None:
    """Show a part's parameters with units, bounds and defaults, and the paper it follows."""
    family, _, name = kind.rpartition("/")
    found = [part for part in parts() if part.kind == name and family in ("", part.family)]
    if not found:
        raise SpecError(Problem(kind, "no such part", _elsewhere(kind)))
    for part in found:
        out.print(f"[bold]{part.family}/{part.kind}[/]", highlight=False)
        out.print(part.doc.replace("``", ""), markup=False, highlight=False)
        if part.paper:
            out.print(f"[dim]paper:[/] {escape(part.paper)}", highlight=False)
        out.print(parameters_table(part) if part.parameters() else "[dim]no parameters[/]")
        out.print()


def _elsewhere(name: str) -> str:
    """Where something that is no part may be found."""
    if name in FAMILIES:
        return f"it is a family: fedradio ls {name}"
    if name in shipped():
        return f"it is a shipped spec: fedradio cp {name} mine.yaml"
    return suggest(name, [part.kind for part in parts()]) or "fedradio ls lists them all"


@app.command()
def validate(spec: SpecArgument, overrides: Overrides = None) -> None:
    """Check a spec: all problems at once, with path, value and remedy. Nothing is run."""
    checked = load_spec(spec, overrides or ())
    sim = build(checked)
    for warning in sim.warnings:
        out.print(f"[yellow]warning[/] {escape(warning)}", highlight=False)
    out.print(f"{checked.name}: valid (sha256 {checked.sha256()[:12]})", highlight=False)


@app.command("cp")
def copy(
    spec: Annotated[str, typer.Argument(help="name of a shipped spec")],
    file: Annotated[Path, typer.Argument(help="where to put it")],
) -> None:
    """Copy a shipped spec as a starting point."""
    if spec not in shipped():
        raise SpecError(Problem(spec, "no shipped spec of that name", f"one of: {', '.join(shipped())}"))
    target = file / f"{Path(spec).name}.yaml" if file.is_dir() else file
    if target.exists():
        raise SpecError(Problem(str(target), "exists already", "choose another name"))
    try:
        target.write_text(shipped_text(spec), encoding="utf-8")
    except OSError as error:
        raise SpecError(Problem(str(target), f"cannot be written: {error.strerror}")) from None
    out.print(f"{target}: edit it, then `fedradio run {target}`", highlight=False)


def _specs_table() -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("spec")
    table.add_column("what it runs")
    for name in shipped():
        table.add_row(name, load_spec(name).plain["about"])
    return table

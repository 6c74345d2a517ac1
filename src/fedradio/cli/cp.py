"""``fedradio cp``: copies a shipped spec to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli import completion
from fedradio.cli.app import one_command, out
from fedradio.core.errors import Problem, SpecError
from fedradio.core.files import write_text
from fedradio.report.terminal.console import say
from fedradio.spec.yaml import near_specs, shipped, shipped_text

SCHEMA_FILE = "fedradio.schema.json"
"""Where a copied spec looks for its schema: in its own folder."""

EDITOR_LINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""The comment by which editors that speak to the YAML language server find it."""

app = one_command()


@app.command("cp")
def copy(
    spec: Annotated[str, typer.Argument(help="name of a shipped spec", autocompletion=completion.shipped_specs)],
    file: Annotated[Path, typer.Argument(help="where to put it")],
) -> None:
    """Copy a shipped spec as a starting point."""
    if spec not in shipped():
        raise SpecError(Problem(spec, "no shipped spec of that name", near_specs(spec)))
    target = file / f"{Path(spec).name}.yaml" if file.is_dir() else file
    if target.exists():
        raise SpecError(Problem(str(target), "exists already", "choose another name"))
    write_text(target, EDITOR_LINE + shipped_text(spec))
    say(out, f"{target}: edit it, then `fedradio run {target}`")
    if not (target.parent / SCHEMA_FILE).exists():
        say(out, f"so that an editor completes its keys: `fedradio schema > {target.parent / SCHEMA_FILE}`")

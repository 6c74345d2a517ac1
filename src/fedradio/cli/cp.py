"""``fedradio cp``: copy a shipped spec to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import one_command, out
from fedradio.core.errors import Problem, SpecError
from fedradio.core.files import write_text
from fedradio.report.terminal.console import say
from fedradio.spec.files import near_specs, shipped, shipped_text

SCHEMA_FILE = "fedradio.schema.json"
"""Name of the schema file, which a copied spec looks for in its own folder."""

EDITOR_LINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""The comment that tells the YAML language server of an editor where the schema is."""

app = one_command()


@app.command("cp")
def copy(
    spec: Annotated[str, typer.Argument(help="name of a shipped spec")],
    file: Annotated[Path, typer.Argument(help="file or folder to copy it to")],
) -> None:
    """Copy a shipped spec as a starting point for your own."""
    if spec not in shipped():
        raise SpecError(Problem(spec, "there is no shipped spec with this name", near_specs(spec)))
    target = file / f"{Path(spec).name}.yaml" if file.is_dir() else file
    if target.exists():
        raise SpecError(Problem(str(target), "already exists", "choose another name"))
    write_text(target, EDITOR_LINE + shipped_text(spec))
    say(out, f"wrote {target}; edit it, then run it with `fedradio run {target}`")
    if not (target.parent / SCHEMA_FILE).exists():
        say(out, f"to complete keys in your editor, run `fedradio schema > {target.parent / SCHEMA_FILE}`")

"""``fedradio cp``: copies a shipped spec to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import one_command, out
from fedradio.core.errors import Problem, SpecError
from fedradio.report.terminal.console import say
from fedradio.spec.yaml import shipped, shipped_text

app = one_command()


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
    say(out, f"{target}: edit it, then `fedradio run {target}`")

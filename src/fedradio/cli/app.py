"""The application, its consoles, and arguments that several commands share."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

import fedradio
from fedradio.core.registry import load_plugins

EXIT_CODES = """Exit codes: 0 done; 1 unexpected error; 2 wrong input (all problems are listed); 3 the run diverged;
4 a data set is missing or damaged; 5 a run folder cannot be used; 130 interrupted (what was done is kept)."""

app = typer.Typer(
    help="Federated learning over wireless edge networks: accuracy, simulated seconds, joules and bits.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PIPED_COLUMNS = 160
"""Width of the output where there is no terminal to fill."""


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_COLUMNS
    return Console(stderr=stderr, width=width)


out = _console(stderr=False)
err = _console(stderr=True)

SpecArgument = Annotated[str, typer.Argument(help="a YAML file, or a shipped spec (see `fedradio ls spec`)")]
Overrides = Annotated[list[str] | None, typer.Argument(help="key=value, such as rule.lr=0.05 or data.source=mnist")]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"fedradio {fedradio.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and stop")
    ] = False,
) -> None:
    for failure in load_plugins():
        err.print(f"[yellow]warning[/] {escape(failure)}", highlight=False)

"""The application: its table of commands and its consoles.

A command's module is imported only when that command is called, and the parts only when its arguments are right, so
that help, ``--version``, mistyped commands and unknown options respond immediately. Modules of commands import what is
slow to import (torch, scipy, plotting) inside of functions.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import click
import typer
from typer.core import TyperGroup

from fedradio._version import __version__
from fedradio.cli.logs import attach
from fedradio.core.errors import suggest
from fedradio.report.terminal.console import SafeConsole, say

EXIT_CODES = """Exit codes: 0 success; 1 unexpected error; 2 invalid input (all problems are listed); 3 the run
diverged; 4 a data set is missing or damaged; 5 a folder or file cannot be used; 130 interrupted by Ctrl-C, SIGTERM or
SIGHUP (finished work is kept)."""


class CommandEntry(NamedTuple):
    """One line of ``fedradio --help``; ``parts``: the command needs the registered parts, so plug-ins load first."""

    help: str
    parts: bool = False


COMMANDS = {
    "ls": CommandEntry("List all registered parts, one per line; `ls spec` lists the shipped specs.", parts=True),
    "show": CommandEntry(
        "Show a part's parameters, with units, bounds, defaults and paper; the parts of a family; or a shipped spec.",
        parts=True,
    ),
    "validate": CommandEntry(
        "Check a spec without running it; every problem is listed with its path, its value and a fix.", parts=True
    ),
    "cp": CommandEntry("Copy a shipped spec as a starting point for your own."),
    "new": CommandEntry(
        "Start a part of your own: a commented file that is ready to run, a spec that uses it, and a test.", parts=True
    ),
    "schema": CommandEntry("Print the JSON Schema of specs, so that editors can complete and check them.", parts=True),
    "compare": CommandEntry(
        "Compare runs: means over seeds with 95 % confidence intervals, differences paired by seed, costs."
    ),
    "figures": CommandEntry("Draw every figure that these runs allow, or only those you choose, at column width."),
    "plan": CommandEntry(
        "Plan one slot without training: which clients are eligible and why, local steps, CPU, power, energy.",
        parts=True,
    ),
    "report": CommandEntry(
        "Write a self-contained HTML page for a run or sweep: learning curves, map, participation, energy, spec."
    ),
    "reproduce": CommandEntry(
        "Reproduce tables and figures of the four papers, next to the published numbers, and test their claims.",
        parts=True,
    ),
    "run": CommandEntry("Run a spec and write the results to a run folder.", parts=True),
    "resume": CommandEntry(
        "Resume a run that was interrupted or killed; the result is the same as if it had never stopped.", parts=True
    ),
    "diagnose": CommandEntry(
        "Measure smoothness, gradient noise, client divergence and drop of the loss of a run, round by round.",
        parts=True,
    ),
    "sweep": CommandEntry(
        "Run a spec with every combination of the given values, on the same seeds; completed runs are not repeated.",
        parts=True,
    ),
    "work": CommandEntry(
        "Make the runs of a sweep that no other process is making; start as many workers as you like, on any machine "
        "that mounts the folder.",
        parts=True,
    ),
    "export": CommandEntry(
        "Export the records of a run or of all runs of a sweep as flat tables, or to TensorBoard or MLflow."
    ),
    "verify": CommandEntry("Check that the files of runs and sweeps are unchanged; checksums cover every byte."),
    "data": CommandEntry("List, fetch and locate data sets."),
    "keys": CommandEntry(
        "Create the certificates and keys of a federation: an authority, a server certificate, one key per device."
    ),
    "serve": CommandEntry(
        "Serve a federation: wait for its devices (`fedradio join`), run the spec's rounds on them, write a run "
        "folder.",
        parts=True,
    ),
    "join": CommandEntry(
        "Join a federation as a device: train when the server asks, until the run is over or you press Ctrl-C.",
        parts=True,
    ),
}
"""Every command with the first line of its help; its ``app`` is in the module of the same name in this package."""


READY = "fedradio.parts"
"""Key of a command's context: whether its parts are loaded."""

PARTS_VARIABLE = "FEDRADIO_PARTS"
"""Environment variable: part files that every command loads which needs parts, separated as in ``PATH``."""


class LazyGroup(TyperGroup):
    """A group of commands whose modules are imported when one of them is called.

    Help and completion list the entries of :data:`COMMANDS`; only a command that is called is loaded.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, *rest = args
        if name in COMMANDS:
            return name, load_command(name), rest
        if not ctx.resilient_parsing:  # which completion does
            ctx.fail(f"No such command {name!r}: {suggest(name, list(COMMANDS)) or 'see fedradio --help'}")
        return None, None, rest


def load_parts(files: Iterable[Path]) -> None:
    """Load the user's part files and print what each of them contains."""
    from fedradio.core.part_files import load_part_file

    for path in files:
        file = load_part_file(path)
        say(err, f"parts from {path}: {file.named} (sha256 {file.sha256[:12]})")
        for each in file.neighbours:
            say(err, f"  imports {each.name} from the same folder (sha256 {each.sha256[:12]})")


def completing() -> bool:
    """Whether a shell is asking for completions, in which case no part is loaded and nothing else is printed."""
    return "_FEDRADIO_COMPLETE" in os.environ


def load_given(files: list[Path] | None) -> list[Path] | None:
    """Load the files of the option ``--parts``, after the parts that are there without it."""
    if files and not completing():
        ready_parts()
        load_parts(files)
    return files


def ready_parts() -> None:
    """Load the parts of plug-ins and of :data:`PARTS_VARIABLE`, once in a command."""
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.setdefault(READY, False):
        return
    from fedradio.core.registry import load_plugins

    for failure in load_plugins():
        say(err, ("warning", "yellow"), f" {failure}")
    load_parts(Path(each) for each in os.environ.get(PARTS_VARIABLE, "").split(os.pathsep) if each)
    if context is not None:
        context.meta[READY] = True


def load_command(name: str) -> Any:
    """The command of that name, ready to be called."""
    command = typer.main.get_command(import_module(f"fedradio.cli.{name}").app)
    command.name = name
    command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", command.help or "")  # the terminal decides where lines end
    _escape_help(command)
    if COMMANDS[name].parts and command.callback is not None:
        command.callback = _with_parts(command.callback)
    attach(command, err)
    return command


def _with_parts(callback: Callable[..., Any]) -> Callable[..., Any]:
    """A command that has its parts when it runs: its arguments have been checked by then."""

    @functools.wraps(callback)
    def ready(*args: Any, **kwargs: Any) -> Any:
        ready_parts()
        return callback(*args, **kwargs)

    return ready


def _escape_help(command: Any) -> None:
    """Escape the brackets in a command's help texts, which would otherwise be read as markup."""
    for holder in (command, *command.params):
        for text in ("help", "epilog"):
            if getattr(holder, text, None):
                setattr(holder, text, re.sub(r"\[(?=[a-zA-Z/@#])", r"\\[", getattr(holder, text)))
    for inner in getattr(command, "commands", {}).values():
        _escape_help(inner)


def one_command() -> typer.Typer:
    """A Typer application for the one command of a module."""
    return typer.Typer(add_completion=False)


app = typer.Typer(
    cls=LazyGroup,
    help="Simulate federated learning over wireless edge networks: accuracy, simulated time, energy and bits.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def open_streams() -> None:
    """Open the null device in place of standard streams that are closed, as after ``>&-``.

    Otherwise the next file to be opened would take over their file descriptor and receive everything that is printed.
    """
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115  # open as long as the process runs
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


open_streams()
out = SafeConsole()
err = SafeConsole(stderr=True)


def _version(wanted: bool) -> None:
    if wanted:
        say(out, f"fedradio {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    pass


def _entry() -> None:
    """Placeholder for a command in help and completion; never called."""


for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.help)(_entry)

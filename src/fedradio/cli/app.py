"""The application: its table of commands, its consoles, and arguments that several commands share.

A command's module is imported when that command is called, so that ``--help``, ``--version`` and a mistyped command
wait for nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from fedradio._version import __version__
from fedradio.cli import completion
from fedradio.cli.logs import attach
from fedradio.core.errors import suggest
from fedradio.report.terminal.console import SafeConsole, say

EXIT_CODES = """Exit codes: 0 done; 1 unexpected error; 2 wrong input (all problems are listed); 3 the run diverged;
4 a data set is missing or damaged; 5 a folder or file cannot be used; 130 interrupted by Ctrl-C, SIGTERM or SIGHUP
(what was done is kept)."""


class CommandEntry(NamedTuple):
    """One line of ``fedradio --help``; ``parts``: the command asks which parts exist, so plug-ins are loaded first."""

    help: str
    parts: bool = False


COMMANDS = {
    "ls": CommandEntry(
        "List every registered part, with one line each; `ls spec` lists the shipped specs.", parts=True
    ),
    "show": CommandEntry(
        "Show a part's parameters with units, bounds, defaults and paper; the parts of a family; or a shipped spec.",
        parts=True,
    ),
    "validate": CommandEntry(
        "Check a spec: all problems at once, with path, value and remedy. Nothing is run.", parts=True
    ),
    "cp": CommandEntry("Copy a shipped spec as a starting point."),
    "new": CommandEntry(
        "Begin a part of your own: a commented file that runs as it is, a spec that uses it, and its test.", parts=True
    ),
    "schema": CommandEntry("Print the JSON Schema of specs, by which editors complete and check them.", parts=True),
    "compare": CommandEntry("Compare runs: means over seeds with 95 % intervals, differences paired by seed, costs."),
    "figures": CommandEntry(
        "Draw all figures that these runs can have, or those that you choose, for a column of a paper or in your size."
    ),
    "plan": CommandEntry(
        "Show one slot of the network without learning: map, who is eligible and why not, steps, CPU, power, joules.",
        parts=True,
    ),
    "report": CommandEntry(
        "Write one HTML page that shows a run or a sweep: curves, map, who took part, energy, spec. It opens offline."
    ),
    "watch": CommandEntry(
        "Serve the page of a run or a sweep on this machine while it goes on; the page updates itself."
    ),
    "reproduce": CommandEntry(
        "Make a table or figure of one of the four papers again, beside its published numbers, and judge its claims.",
        parts=True,
    ),
    "run": CommandEntry("Run a spec and write its run folder.", parts=True),
    "resume": CommandEntry(
        "Go on with a run that was interrupted or killed; the result equals that of a run in one go.", parts=True
    ),
    "theory": CommandEntry("Evaluate a paper's convergence bounds on a run, beside what the run did.", parts=True),
    "sweep": CommandEntry(
        "Run a spec with every combination of values, on the same seeds; what is complete already is not run again.",
        parts=True,
    ),
    "work": CommandEntry(
        "Make runs of a sweep that nobody holds; start it as often as you like, wherever the folder is mounted.",
        parts=True,
    ),
    "protocol": CommandEntry(
        "Run the privacy protocol of RawHFL's Fig. 2 with real cryptography: who sees what, what is refused, attacks.",
        parts=True,
    ),
    "export": CommandEntry(
        "Write the records of a run or of all runs of a sweep as flat tables, or hand them to TensorBoard or MLflow."
    ),
    "verify": CommandEntry("Check that the files of runs and sweeps are what was written: every byte has a checksum."),
    "data": CommandEntry("Data sets: list, fetch, locate."),
    "keys": CommandEntry(
        "Make certificates and keys of a federation: an authority, the server's certificate, a key for every device."
    ),
    "serve": CommandEntry(
        "Serve a federation: wait for its devices (`fedradio join`), make the spec's rounds with them, write a run "
        "folder.",
        parts=True,
    ),
    "join": CommandEntry(
        "Be a device of a federation: train when the server asks, until it says that the run is over, or Ctrl-C.",
        parts=True,
    ),
}
"""Every command with the first line of its help; the module of the same name in this package holds it as ``app``."""


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
    """Load files of the user's own, and tell what they hold."""
    from fedradio.core.part_files import load_part_file

    for path in files:
        file = load_part_file(path)
        if completion.completing():
            continue
        say(err, f"parts of {path}: {file.named} (sha256 {file.sha256[:12]})")
        for each in file.neighbours:
            say(err, f"  imports {each.name} beside it (sha256 {each.sha256[:12]})")


def _load_given(files: list[Path] | None) -> list[Path] | None:
    load_parts(files or ())
    return files


def load_command(name: str) -> Any:
    """The command of that name, ready to be called."""
    command = typer.main.get_command(import_module(f"fedradio.cli.{name}").app)
    command.name = name
    _escape_help(command)
    if COMMANDS[name].parts:
        from fedradio.core.config import configured_parts
        from fedradio.core.registry import load_plugins

        failures = load_plugins()
        for failure in () if completion.completing() else failures:
            say(err, ("warning", "yellow"), f" {failure}")
        load_parts(configured_parts())
    attach(command, err)
    return command


def _escape_help(command: Any) -> None:
    """Let the texts of a command's help stand as they are written: words in brackets would be taken for markup."""
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
    help="Federated learning over wireless edge networks: accuracy, simulated seconds, joules and bits.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PIPED_COLUMNS = 160
"""Width of the output where there is no terminal to fill."""


def open_streams() -> None:
    """Give a process that was started without standard output or error, as behind ``>&-``, one that leads nowhere.

    Otherwise the next file that is opened would get their number, and all that is printed.
    """
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115  # open as long as the process runs
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _console(*, stderr: bool) -> SafeConsole:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_COLUMNS
    return SafeConsole(stderr=stderr, width=width)


open_streams()
out = _console(stderr=False)
err = _console(stderr=True)

SpecArgument = Annotated[
    str,
    typer.Argument(help="a YAML file, or a shipped spec (see `fedradio ls spec`)", autocompletion=completion.specs),
]
PartFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--parts",
        metavar="FILE",
        is_eager=True,
        callback=_load_given,
        help="a Python file of your own that registers parts; it is run. May be given several times",
    ),
]
Seed = Annotated[int | None, typer.Option(help="replaces the spec's seed")]
Rounds = Annotated[int | None, typer.Option(help="replaces the spec's rounds")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(help="key=value, such as rule.lr=0.05 or data.source=mnist", autocompletion=completion.overrides),
]


def changes(overrides: list[str] | None, seed: int | None, rounds: int | None) -> list[str]:
    """Overrides, and the options that stand for some."""
    options = {"seed": seed, "rounds": rounds}
    return [*(overrides or ()), *(f"{key}={value}" for key, value in options.items() if value is not None)]


def _version(wanted: bool) -> None:
    if wanted:
        say(out, f"fedradio {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and stop")
    ] = False,
) -> None:
    pass


def _entry() -> None:
    """Stands for a command in help and completion; it is never called."""


for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.help)(_entry)

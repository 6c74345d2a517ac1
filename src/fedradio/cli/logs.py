"""Log messages of every command: on standard error with ``FEDRADIO_LOG=info`` or ``debug``, in a file with ``--log``.

The package logs through Python's ``logging``, under the logger ``fedradio``; without one of these no handler is
installed. Notebooks and programs set up logging as usual: ``logging.basicConfig(level=logging.INFO)``.
"""

from __future__ import annotations

import logging
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from typer.core import TyperOption

from fedradio._version import __version__
from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.core.text import harmless, short_path
from fedradio.report.terminal.console import SafeConsole, say

LOGGER = logging.getLogger("fedradio")

VARIABLE = "FEDRADIO_LOG"
"""Environment variable: which messages are printed on standard error."""

LEVELS = {"info": logging.INFO, "debug": logging.DEBUG}

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class SayHandler(logging.Handler):
    """Prints messages on a console, each with the time of day."""

    def __init__(self, console: SafeConsole, level: int) -> None:
        super().__init__(level)
        self.console = console
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        say(self.console, (self.format(record), "dim"))


class Lines(logging.Formatter):
    """Formats messages without terminal control characters; continuation lines, as in a traceback, are indented.

    Names and paths in a message may come from anywhere, and none of them can be mistaken for a line of the log.
    """

    def format(self, record: logging.LogRecord) -> str:
        return harmless(super().format(record)).replace("\n", "\n    ")


def option(console: SafeConsole) -> click.Parameter:
    """The option, to be added to a command."""
    return TyperOption(
        param_decls=["--log"],
        metavar="FILE",
        type=click.Path(path_type=Path),
        expose_value=False,
        is_eager=True,
        callback=lambda context, _, path: _listen(context, console, path),
        help=f"append all log messages to this file ({VARIABLE}=info or {VARIABLE}=debug prints them)",
    )


def attach(command: Any, console: SafeConsole) -> None:
    """Add the option to a command, or to all commands of a group."""
    for each in command.commands.values() if isinstance(command, click.Group) else [command]:
        each.params.append(option(console))


def _listen(context: click.Context, console: SafeConsole, path: Path | None) -> None:
    """Listen for the environment variable and for the option."""
    if context.resilient_parsing:
        return
    if level := os.environ.get(VARIABLE):
        if level not in LEVELS:
            raise SpecError(Problem(VARIABLE, "unknown level", " or ".join(LEVELS), level))
        _add(context, SayHandler(console, LEVELS[level]))
    if path is not None:
        _add(context, _file_handler(path))


def _file_handler(path: Path) -> logging.Handler:
    """Appends every message to a file."""
    try:
        handler = logging.FileHandler(path, encoding="utf-8", errors="replace")
    except OSError as error:
        raise StoreError(f"cannot write {short_path(path)}: {error.strerror or error}") from None
    handler.setFormatter(Lines(FORMAT))
    handler.setLevel(logging.DEBUG)
    return handler


def _add(context: click.Context, handler: logging.Handler) -> None:
    """Listen until the command has ended."""
    context.with_resource(_listening(handler))


@contextmanager
def _listening(handler: logging.Handler) -> Iterator[None]:
    LOGGER.addHandler(handler)
    LOGGER.setLevel(min(each.level for each in LOGGER.handlers))
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    _tell(handler, "fedradio %s, %s: %s", __version__, system, shlex.join(sys.argv[1:]))
    began = time.perf_counter()
    try:
        yield
    except BaseException:
        _tell(handler, "ended by an exception", exc_info=sys.exc_info())
        raise
    finally:
        _tell(handler, "took %.3f s", time.perf_counter() - began)
        LOGGER.removeHandler(handler)
        handler.close()
        LOGGER.setLevel(min((each.level for each in LOGGER.handlers), default=logging.NOTSET))


def _tell(handler: logging.Handler, text: str, *values: object, exc_info: Any = None) -> None:
    """A message to one listener alone."""
    if handler.level <= logging.DEBUG:
        handler.handle(LOGGER.makeRecord("fedradio", logging.DEBUG, __file__, 0, text, values, exc_info))

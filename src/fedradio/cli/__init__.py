"""The ``fedradio`` command line.

Exit codes: 0 success; 1 unexpected error; 2 invalid input, or your own code failed; 3 diverged; 4 data missing;
5 folder or file unusable; 130 interrupted by Ctrl-C, SIGTERM or SIGHUP.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress

from click import ClickException

from fedradio.cli.app import app, err, out
from fedradio.core.errors import FedradioError, Problem, SpecError, StoreError
from fedradio.core.text import short_path
from fedradio.report.terminal.console import say
from fedradio.runs.interrupt import terminate_like_ctrl_c

__all__ = ["app", "main"]


INTERRUPTED = 130
"""Exit code after Ctrl-C, SIGTERM or SIGHUP."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers by which the operating system reports a full disk."""


def main() -> None:
    """Entry point of the program: ends the process with the exit code of the command."""
    terminate_like_ctrl_c()
    warnings.showwarning = lambda message, *_: say(err, ("warning", "yellow"), f" {message}")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every encoding has every character
    code = _run()
    if code == INTERRUPTED:
        end_at_once(code)
    sys.exit(code)


def end_at_once(code: int) -> None:
    """End the process without waiting for its threads, which may be in the middle of a long round."""
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _run() -> int:
    """Run the command and return its exit code; expected errors are printed without a traceback."""
    try:
        _refuse_line_breaks(sys.argv[1:])
        return int(app(standalone_mode=False) or 0)
    except ClickException as error:
        _tell_usage(error)
        return error.exit_code
    except SpecError as error:
        from fedradio.report.terminal.catalog import problems_table

        number = len(error.problems)
        say(err, ("1 problem" if number == 1 else f"{number} problems", "red"))
        err.print(problems_table(error.problems))
        return error.exit_code
    except FedradioError as error:
        say(err, ("error", "red"), f" {error}")
        for note in getattr(error, "__notes__", ()):
            say(err, note)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # plain data for programs, of which one has stopped reading
        out.on_broken_pipe()
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            say(err, ("error", "red"), f" {short_path(error.filename)}: {error.strerror}")
            return StoreError.exit_code
        if isinstance(error, OSError) and error.errno in NO_ROOM:  # files of ours are named; this is what was printed
            out.on_broken_pipe()
            with suppress(OSError):
                say(err, ("error", "red"), f" the output cannot be written: {error.strerror}")
                return StoreError.exit_code
            err.on_broken_pipe()
            return StoreError.exit_code
        say(err, traceback.format_exc())
        return 1


def _refuse_line_breaks(arguments: Sequence[str]) -> None:
    """Refuse arguments with line breaks: when printed, a folder name could be mistaken for a line of output."""
    broken = [argument for argument in arguments if "\n" in argument]
    if broken:
        remedy = "rename the folder, or write the value on one line"
        raise SpecError([Problem("argument", "contains a line break", remedy, text[:200]) for text in broken])


def _tell_usage(error: ClickException) -> None:
    """Print what is wrong with a command's options or arguments, and its usage."""
    message, context = error.format_message(), getattr(error, "ctx", None)
    if not message:  # the help has been printed instead
        return
    if context is not None:
        say(err, context.get_usage())
        say(err, f"Try '{context.command_path} --help' for help.")
    say(err, ("error", "red"), f" {message}")

"""The command line ``fedradio``. Exit codes: 0 done; 1 unexpected; 2 wrong input; 3 diverged; 4 data missing; 5 folder;
130 interrupted."""

from __future__ import annotations

import sys

from fedradio.cli.app import app, err, say
from fedradio.core.errors import FedradioError, SpecError

__all__ = ["app", "main"]


def main() -> None:
    """Entry point: errors meant for people are printed without a traceback, with their exit code."""
    try:
        app()
    except SpecError as error:
        from fedradio.report.terminal.catalog import problems_table

        err.print(f"[red]{len(error.problems)} problem(s)[/]")
        err.print(problems_table(error.problems))
        sys.exit(error.exit_code)
    except FedradioError as error:
        say(err, ("error", "red"), f" {error}")
        for note in getattr(error, "__notes__", ()):
            say(err, note)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)

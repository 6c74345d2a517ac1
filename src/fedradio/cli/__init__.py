"""The command line: thin. Exit codes: 0 done; 1 unexpected; 2 wrong input; 3 diverged; 4 data missing; 5 folder;
130 interrupted."""

from __future__ import annotations

import sys

from rich.markup import escape

from fedradio.cli import catalog, comparing, data, planning, reporting, reproducing, running, sweeping
from fedradio.cli.app import app, err, out
from fedradio.core.errors import FedradioError, SpecError
from fedradio.report.tables import problems_table

__all__ = [
    "app",
    "catalog",
    "comparing",
    "data",
    "main",
    "out",
    "planning",
    "reporting",
    "reproducing",
    "running",
    "sweeping",
]


def main() -> None:
    """Entry point: errors meant for people are printed without a traceback, with their exit code."""
    try:
        app()
    except SpecError as error:
        err.print(f"[red]{len(error.problems)} problem(s)[/]")
        err.print(problems_table(error.problems))
        sys.exit(error.exit_code)
    except FedradioError as error:
        err.print(f"[red]error[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        for note in getattr(error, "__notes__", ()):
            err.print(escape(note), highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)

"""Runs in the terminal, shared by ``run`` and ``resume``: progress, summary, and the command that resumes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from fedradio.cli.app import err, out
from fedradio.report.terminal.run_progress import RunProgress
from fedradio.report.terminal.summary import summary_table
from fedradio.runs.run import Observer
from fedradio.runs.summary import Summary


def show_run(
    make: Callable[[Observer | None], Summary], folder: Path, quiet: bool, changes: Sequence[str] = ()
) -> None:
    """Make a run with progress and a table of its summary, or quietly."""
    try:
        if quiet:
            make(None)
            out.print(str(folder), highlight=False, soft_wrap=True)
            return
        with RunProgress(out, changes) as progress:
            summary = make(progress)
    except KeyboardInterrupt:
        if folder.is_dir():
            message = f"interrupted; what was done is in {folder}; go on with: fedradio resume {folder}"
            err.print(message, highlight=False, soft_wrap=True)
        raise
    out.print(summary_table(summary))
    out.print(f"run folder: {folder}", highlight=False, soft_wrap=True)
    out.print(f"its page: fedradio report {shlex.quote(str(folder))}", highlight=False, soft_wrap=True)

"""A run in the terminal: progress while it goes on, its summary at the end, how to go on after Ctrl-C."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from fedradio.cli.app import err, out
from fedradio.report.terminal.run_progress import RunProgress
from fedradio.report.terminal.summary import summary_table
from fedradio.runs.run import Observer
from fedradio.runs.summary import Summary


def show_run(do: Callable[[Observer | None], Summary], folder: Path, quiet: bool, changes: Sequence[str] = ()) -> None:
    """Run with progress and a table, or quietly."""
    try:
        if quiet:
            do(None)
            out.print(str(folder), highlight=False, soft_wrap=True)
            return
        with RunProgress(out, changes) as progress:
            summary = do(progress)
    except KeyboardInterrupt:
        if folder.is_dir():
            words = f"interrupted; what was done is in {folder}; go on with: fedradio resume {folder}"
            err.print(words, highlight=False, soft_wrap=True)
        raise
    out.print(summary_table(summary))
    out.print(f"run folder: {folder}", highlight=False, soft_wrap=True)
    out.print(f"its page: fedradio report {shlex.quote(str(folder))}", highlight=False, soft_wrap=True)

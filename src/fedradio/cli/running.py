"""Runs in the terminal, shared by ``run`` and ``resume``: progress, summary, and the command that resumes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from fedradio.cli.app import err, out
from fedradio.report.terminal.console import say
from fedradio.report.terminal.run_progress import RunProgress
from fedradio.report.terminal.summary import participation_warning, summary_table
from fedradio.results.run import ended_run
from fedradio.runs.folder import SPEC_FILE
from fedradio.runs.run import Observer
from fedradio.runs.summary import Summary


def show_run(
    make: Callable[[Observer | None], Summary], folder: Path, quiet: bool, changes: Sequence[str] = ()
) -> None:
    """Make a run with progress and a table of its summary, or quietly."""
    try:
        if quiet:
            make(None)
            say(out, str(folder))
            return
        with RunProgress(out, changes) as progress:
            summary = make(progress)
    except KeyboardInterrupt:
        if folder.is_dir():
            command = shlex.join(["fedradio", "resume", str(folder)])
            say(err, f"interrupted; what was done is in {folder}; go on with: {command}")
        raise
    out.print(summary_table(ended_run(folder, summary)))
    if warning := participation_warning(summary):
        command = shlex.join(["fedradio", "plan", str(folder / SPEC_FILE)])
        say(err, ("warning", "yellow"), f" {warning}; who is out, and why: {command}")
    say(out, f"run folder: {folder}")
    say(out, f"its page: {shlex.join(['fedradio', 'report', str(folder)])}")

"""Terminal output shared by ``run``, ``resume`` and ``sweep``: progress, summary, how to resume."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedradio.cli.app import err, out
from fedradio.report.terminal.console import say
from fedradio.runs.folder import SPEC_FILE
from fedradio.runs.summary import Summary

if TYPE_CHECKING:
    from fedradio.runs.run import Observer


def show_run(
    make: Callable[[Observer | None], Summary],
    folder: Path,
    quiet: bool,
    changes: Sequence[str] = (),
    parts: Sequence[Path] = (),
) -> None:
    """Make a run, showing its progress and summary unless ``quiet``; ``parts`` are the part files that were given."""
    from fedradio.report.terminal.caches import cache_table, cache_warnings
    from fedradio.report.terminal.run_progress import RunProgress
    from fedradio.report.terminal.summary import participation_warning, summary_table
    from fedradio.results.caches import stationary
    from fedradio.results.run import ended_run

    files = [word for file in parts for word in ("--parts", str(file))]
    try:
        if quiet:
            make(None)
            say(out, str(folder))
            return
        with RunProgress(out, changes) as progress:
            summary = make(progress)
    except KeyboardInterrupt:
        if folder.is_dir():
            command = shlex.join(["fedradio", "resume", str(folder), *files])
            say(err, f"interrupted; finished work is in {folder}; resume with: {command}")
        raise
    ended = ended_run(folder, summary)
    out.print(summary_table(ended))
    if summary.cache is not None:
        out.print()
        out.print(cache_table(summary.cache, stationary(ended.spec)))
        for late in cache_warnings(summary.cache):
            say(err, ("warning", "yellow"), f" {late}")
    if warning := participation_warning(summary):
        command = shlex.join(["fedradio", "plan", str(folder / SPEC_FILE), *files])
        say(err, ("warning", "yellow"), f" {warning}; to see which clients are out and why: {command}")
    say(out, f"run folder: {folder}")
    say(out, f"report page: {shlex.join(['fedradio', 'report', str(folder)])}")

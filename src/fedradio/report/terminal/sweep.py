"""Sweeps for the terminal: progress of many runs, the table of results, failures."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from rich.console import Group
from rich.progress import BarColumn, Progress, TaskID, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fedradio.core.contracts.records import MAIN_SCORES
from fedradio.core.errors import StoreError
from fedradio.core.units import show_seconds
from fedradio.report.terminal.columns import Column, bare, bare_title, means, variant_tables
from fedradio.report.terminal.console import SafeConsole, say, text_column
from fedradio.report.terminal.words import count, plain_table
from fedradio.results.quantities import of_variants, spent
from fedradio.results.shown import score_text
from fedradio.runs.stored import read_summary
from fedradio.sweeps.grid import SweepPlan
from fedradio.sweeps.pool import Outcome, PoolObserver, RunTask
from fedradio.sweeps.sweep import VariantResult

LINE_EVERY_S = 10.0
"""Time between two lines of a run when there is no bar."""

NUMBERS_WIDTH = 38
"""Width of counts and times on a line with a bar; label and bar share the rest."""

STOPPING = b"\nstopping after the rounds under way; Ctrl-C again stops at once, and those rounds are made again later\n"


class BatchProgress(PoolObserver):
    """Observer that shows a batch: a bar over all rounds and one per run on a terminal, plain lines elsewhere.

    A context manager that removes the bars at the end.
    """

    def __init__(self, console: SafeConsole) -> None:
        self.console = console
        self.bar: Progress | None = None
        self._all = TaskID(0)
        self._rounds = 0
        self._made = 0
        self._began = time.monotonic()
        self._runs: dict[Path, _ShownRun] = {}

    def __enter__(self) -> BatchProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()

    def started(self, tasks: Sequence[RunTask], parallel: int) -> None:
        self._rounds = sum(task.spec.rounds for task in tasks)
        self._began = time.monotonic()
        if not self.console.is_terminal:
            say(self.console, f"{count(len(tasks), 'run')}, {parallel} at a time")
            return
        bar = BarColumn(bar_width=max(10, min(40, self.console.width // 4)))
        columns = (text_column("{task.description}"), bar, text_column("{task.fields[count]}"))
        self.bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self.console, transient=True)
        self._all = self.bar.add_task("all runs", total=self._rounds, count=f"0/{len(tasks)} runs")
        self.bar.start()

    def advanced(self, task: RunTask, done: int, rounds: int) -> None:
        shown = self._runs.get(task.folder)
        if shown is None:
            self._rounds -= done  # made before, so not counted here
            shown = self._runs[task.folder] = _ShownRun(self._row(task), done)
        self._made += done - shown.done
        shown.done = done
        if self.bar is not None and shown.row is not None:
            self.bar.update(shown.row, completed=done, count=f"{done}/{rounds} rounds")
            self.bar.update(self._all, completed=self._made, total=self._rounds)
        elif time.monotonic() >= shown.next_line:
            shown.next_line = time.monotonic() + LINE_EVERY_S
            say(self.console, f"  {task.label}: {done}/{rounds} rounds{self._left()}")

    def noted(self, task: RunTask, text: str) -> None:
        say(self.console, f"  {task.label}: {text}")

    def ended(self, outcome: Outcome, number: int, total: int) -> None:
        shown = self._runs.pop(outcome.task.folder, None)
        self._rounds -= outcome.task.spec.rounds - (0 if shown is None else shown.done)
        if self.bar is not None:
            self.bar.update(self._all, total=self._rounds, count=f"{number}/{total} runs")
            if shown is not None and shown.row is not None:
                self.bar.remove_task(shown.row)
        if outcome.status != "complete" or (outcome.fresh and self.bar is None):
            say(self.console, f"[{number}/{total}] {_line(outcome)}{self._left()}")

    def _left(self) -> str:
        """Time left for all runs at the current pace; empty while it is unknown or below a second."""
        rounds = self._rounds - self._made
        left_s = (time.monotonic() - self._began) * rounds / self._made if self._made else 0.0
        return f", about {show_seconds(round(left_s))} left" if left_s >= 1 else ""

    def stopping(self) -> None:
        with suppress(OSError):  # nobody may be listening
            os.write(2, STOPPING)  # straight to standard error: this may interrupt a print

    def _row(self, task: RunTask) -> TaskID | None:
        """A new bar for a run; None if there are no bars."""
        if self.bar is None:
            return None
        longest = max(12, self.console.width * 3 // 4 - NUMBERS_WIDTH)
        label = task.label if len(task.label) <= longest else f"...{task.label[3 - longest :]}"
        return self.bar.add_task(f"  {label}", total=task.spec.rounds, count="")


class _ShownRun:
    """A run in progress: its bar, its rounds so far, and when its next line is due."""

    def __init__(self, row: TaskID | None, done: int) -> None:
        self.row = row
        self.done = done
        self.next_line = time.monotonic() + LINE_EVERY_S


def results_view(results: Sequence[VariantResult], width: int = 120) -> Group:
    """The results of a sweep, one row per variant: means over complete runs, metrics with their 95 % interval.

    A dash marks an undefined quantity. Columns that do not fit the width go into further tables.
    """
    metrics = [each for each in of_variants() if each.per == "evaluation"]
    known = {each.name for each in metrics if each.listed(row.means[each.name] for row in results)}
    metrics = [each for each in metrics if each.name in known or (each.field and "rmse" not in known | {each.name})]
    metrics = [each for each in metrics if each.name != "best_rmse" or each.name in known]
    ends: dict[str, Column] = {"seeds": [f"{row.complete}/{row.seeds}" for row in results]}
    ends |= {bare_title(each): [bare(each, row.means[each.name]) for row in results] for each in metrics}
    costs = means(spent(), [row.means for row in results])
    tables = variant_tables([row.label for row in results], ends, costs, width)
    return Group(*[piece for table in tables for piece in (table, Text())][:-1])


def variants_table(plan: SweepPlan) -> Table:
    """The variants of a sweep and their run folders."""
    rows = []
    for variant in plan.variants:
        first, last = variant.folder(variant.seeds[0]), variant.folder(variant.seeds[-1])
        folders = first if len(variant.seeds) == 1 else f"{first}{' ...' if len(variant.seeds) > 2 else ','} {last}"
        rows.append([variant.label, folders])
    return plain_table(("variant", "run folders"), rows)


def size_text(plan: SweepPlan) -> str:
    """The size of a sweep as text, ``2 variants x 3 seeds = 6 runs``; variants added later may have other seeds."""
    variants, seeds, runs = (
        count(len(plan.variants), "variant"),
        count(len(plan.seeds), "seed"),
        count(plan.runs, "run"),
    )
    full = plan.runs == len(plan.variants) * len(plan.seeds)
    return f"{variants} x {seeds} = {runs}" if full else f"{variants}, {seeds}, {runs}"


def trouble_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """One message per incomplete run, with its folder and its error."""
    lines = []
    for outcome in outcomes:
        if outcome.status != "complete":
            error = (outcome.error or "").replace("\n", "\n    ")
            lines.append(f"{outcome.status}: {outcome.task.label} ({outcome.task.folder})\n    {error}".rstrip())
    return lines


def failures_line(outcomes: Sequence[Outcome]) -> str:
    """How many runs are not complete, ``2 of 9 runs are not complete: 1 failed, 1 diverged``."""
    ends = Counter(outcome.status for outcome in outcomes if outcome.status != "complete")
    verb = "is" if ends.total() == 1 else "are"
    what = ", ".join(f"{number} {status}" for status, number in ends.items())
    return f"{ends.total()} of {count(len(outcomes), 'run')} {verb} not complete: {what}"


def _line(outcome: Outcome) -> str:
    """How a run ended, in one line."""
    details = (outcome.error or "").strip().splitlines()[-1:] or [""]
    if outcome.status == "complete":
        try:
            summary = read_summary(outcome.task.folder)
            known = {name: value for name in MAIN_SCORES if (value := summary.get(name)) is not None}
            details = [score_text(known)]
        except StoreError:
            details = []
    return ", ".join([f"{outcome.task.label}: {outcome.status}", *(detail for detail in details if detail)])

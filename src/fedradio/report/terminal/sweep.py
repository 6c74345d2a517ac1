"""Sweeps for the terminal: progress of many runs, the table of results, failures."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console, Group
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fedradio.core.errors import StoreError
from fedradio.core.units import show, show_seconds
from fedradio.results.statistics import Interval
from fedradio.runs.folder import read_summary
from fedradio.sweeps.grid import SweepPlan
from fedradio.sweeps.pool import Outcome, PoolObserver, RunTask
from fedradio.sweeps.sweep import VariantResult

LINE_EVERY_S = 10.0
"""Time between two lines of a run where there is no bar."""

WIDE = 110
"""Columns of a terminal from which on results and costs are one table."""

NUMBERS_WIDTH = 38
"""Columns of counts and times on a line with a bar; label and bar share the rest."""

STOPPING = b"\nstopping after the rounds under way; Ctrl-C again stops at once, and those rounds are made again later\n"


class BatchProgress(PoolObserver):
    """Observer that shows a batch: a bar over all rounds and one per run on a terminal, plain lines elsewhere.

    A context manager, so that the bars are removed.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar: Progress | None = None
        self._all = TaskID(0)
        self._rounds = 0
        self._made = 0
        self._runs: dict[Path, _ShownRun] = {}

    def __enter__(self) -> BatchProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()

    def started(self, tasks: Sequence[RunTask], parallel: int) -> None:
        self._rounds = sum(task.spec.rounds for task in tasks)
        if not self.console.is_terminal:
            self.console.print(f"{_count(len(tasks), 'run')}, {parallel} at a time", highlight=False)
            return
        bar = BarColumn(bar_width=max(10, min(40, self.console.width // 4)))
        columns = (TextColumn("{task.description}"), bar, TextColumn("{task.fields[count]}"))
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
            self.console.print(f"  {escape(task.label)}: {done}/{rounds} rounds", highlight=False, soft_wrap=True)

    def noted(self, task: RunTask, text: str) -> None:
        self.console.print(Text(f"  {task.label}: {text}"), soft_wrap=True)

    def ended(self, outcome: Outcome, number: int, total: int) -> None:
        shown = self._runs.pop(outcome.task.folder, None)
        self._rounds -= outcome.task.spec.rounds - (0 if shown is None else shown.done)
        if self.bar is not None:
            self.bar.update(self._all, total=self._rounds, count=f"{number}/{total} runs")
            if shown is not None and shown.row is not None:
                self.bar.remove_task(shown.row)
        if outcome.status != "complete" or (outcome.fresh and self.bar is None):
            self.console.print(f"[{number}/{total}] {_line(outcome)}", markup=False, highlight=False, soft_wrap=True)

    def stopping(self) -> None:
        os.write(2, STOPPING)  # straight to standard error: this may interrupt a print

    def _row(self, task: RunTask) -> TaskID | None:
        """A new bar for a run; None where there are no bars."""
        if self.bar is None:
            return None
        longest = max(12, self.console.width * 3 // 4 - NUMBERS_WIDTH)
        label = task.label if len(task.label) <= longest else f"...{task.label[3 - longest :]}"
        return self.bar.add_task(f"  {escape(label)}", total=task.spec.rounds, count="")


class _ShownRun:
    """A run under way: its bar, its rounds so far, and when its next line is due."""

    def __init__(self, row: TaskID | None, done: int) -> None:
        self.row = row
        self.done = done
        self.next_line = time.monotonic() + LINE_EVERY_S


def results_view(results: Sequence[VariantResult], width: int = 120) -> Group:
    """The results of a sweep, one row per variant: means over complete runs, accuracy with its 95 % interval.

    A dash is undefined. Below ``WIDE`` columns, costs are a table of their own.
    """
    seeds = {"seeds": [f"{row.complete}/{row.seeds}" for row in results]}
    ends = {
        "accuracy": [_percent(row.accuracy) for row in results],
        "best": ["-" if row.best is None else f"{100 * row.best.mean:.2f} %" for row in results],
    }
    spent = {
        "time": [show_seconds(row.time_s) for row in results],
        "energy": [show(row.energy_j, "J") for row in results],
        "uplink": [show(row.bits, "bit") for row in results],
    }
    labels = [row.label for row in results]
    if width >= WIDE:
        return Group(_results_table(labels, ends | spent | seeds))
    return Group(_results_table(labels, ends | seeds), Text(), _results_table(labels, spent))


def _results_table(labels: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("variant", overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for number, label in enumerate(labels):
        table.add_row(Text(label), *(column[number] for column in columns.values()))
    return table


def variants_table(plan: SweepPlan) -> Table:
    """The variants of a sweep and their run folders."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("variant", "run folders"):
        table.add_column(name, overflow="fold")
    for variant in plan.variants:
        first, last = variant.folder(variant.seeds[0]), variant.folder(variant.seeds[-1])
        folders = first if len(variant.seeds) == 1 else f"{first}{' ...' if len(variant.seeds) > 2 else ','} {last}"
        table.add_row(Text(variant.label), Text(folders))
    return table


def size_text(plan: SweepPlan) -> str:
    """The size of a sweep as text, ``2 variants x 3 seeds = 6 runs``; variants added later may have other seeds."""
    variants, seeds, runs = (
        _count(len(plan.variants), "variant"),
        _count(len(plan.seeds), "seed"),
        _count(plan.runs, "run"),
    )
    full = plan.runs == len(plan.variants) * len(plan.seeds)
    return f"{variants} x {seeds} = {runs}" if full else f"{variants}, {seeds}, {runs}"


def trouble_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """A text for every run that is not complete, with its folder and its error."""
    lines = []
    for outcome in outcomes:
        if outcome.status != "complete":
            error = (outcome.error or "").replace("\n", "\n    ")
            lines.append(f"{outcome.status}: {outcome.task.label} ({outcome.task.folder})\n    {error}".rstrip())
    return lines


def _line(outcome: Outcome) -> str:
    """How a run ended, in one line."""
    details = (outcome.error or "").strip().splitlines()[-1:] or [""]
    if outcome.status == "complete":
        try:
            accuracy = read_summary(outcome.task.folder)["accuracy"]
        except StoreError:
            accuracy = None
        details = [] if accuracy is None else [f"accuracy {100 * accuracy:.2f} %"]
    return ", ".join([f"{outcome.task.label}: {outcome.status}", *(detail for detail in details if detail)])


def _percent(mean: Interval | None) -> str:
    """A mean in percent with the half width of its interval."""
    if mean is None:
        return "-"
    spread = "" if mean.half is None else f" ± {100 * mean.half:.2f}"
    return f"{100 * mean.mean:.2f}{spread} %"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"

"""Sweeps for the terminal: progress of many runs, the table of their results, what went wrong."""

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

WIDE = 110
"""Columns of a terminal that hold results and what was spent beside each other."""

NUMBERS_WIDTH = 38
"""Of counts and times on a line with a bar; the rest of the terminal is shared by label and bar."""

STOPPING = b"\nstopping after the rounds under way; Ctrl-C again stops at once, and those rounds are made again later\n"


class BatchProgress(PoolObserver):
    """An observer of a batch that shows it: a bar over all rounds that are to be made and one a run on a terminal,
    plain lines elsewhere. Also a context manager, so that the bars are always put away."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar: Progress | None = None
        self._all = TaskID(0)
        self._rounds = 0
        self._made = 0
        self._runs: dict[Path, _Shown] = {}

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
            self._rounds -= done  # made before, and not a part of this work
            shown = self._runs[task.folder] = _Shown(self._row(task), done)
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
        os.write(2, STOPPING)  # to standard error itself: this may come in the middle of a print

    def _row(self, task: RunTask) -> TaskID | None:
        if self.bar is None:
            return None
        longest = max(12, self.console.width * 3 // 4 - NUMBERS_WIDTH)
        label = task.label if len(task.label) <= longest else f"...{task.label[3 - longest :]}"
        return self.bar.add_task(f"  {escape(label)}", total=task.spec.rounds, count="")


class _Shown:
    """A run under way: its bar, its rounds so far, when its next line is due."""

    def __init__(self, row: TaskID | None, done: int) -> None:
        self.row = row
        self.done = done
        self.next_line = time.monotonic() + LINE_EVERY_S


def results_view(results: Sequence[VariantResult], width: int = 120) -> Group:
    """One row per variant: means over its complete runs, the accuracy with its 95 % interval; a dash is undefined.

    Below ``WIDE`` columns what was spent is a table of its own.
    """
    seeds = {"seeds": [f"{one.complete}/{one.seeds}" for one in results]}
    ends = {
        "accuracy": [_percent(one.accuracy) for one in results],
        "best": ["-" if one.best is None else f"{100 * one.best.mean:.2f} %" for one in results],
    }
    spent = {
        "time": [show_seconds(one.time_s) for one in results],
        "energy": [show(one.energy_j, "J") for one in results],
        "uplink": [show(one.bits, "bit") for one in results],
    }
    labels = [one.label for one in results]
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


def count_words(plan: SweepPlan) -> str:
    """How many runs a sweep has, in words; variants of a sweep that has grown may have different seeds."""
    variants, seeds, runs = (
        _count(len(plan.variants), "variant"),
        _count(len(plan.seeds), "seed"),
        _count(plan.runs, "run"),
    )
    full = plan.runs == len(plan.variants) * len(plan.seeds)
    return f"{variants} x {seeds} = {runs}" if full else f"{variants}, {seeds}, {runs}"


def trouble_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Every run that is not complete, with its folder and its error."""
    found = []
    for outcome in outcomes:
        if outcome.status != "complete":
            error = (outcome.error or "").replace("\n", "\n    ")
            found.append(f"{outcome.status}: {outcome.task.label} ({outcome.task.folder})\n    {error}".rstrip())
    return found


def _line(outcome: Outcome) -> str:
    """How a run ended, in one line."""
    news = (outcome.error or "").strip().splitlines()[-1:] or [""]
    if outcome.status == "complete":
        try:
            accuracy = read_summary(outcome.task.folder)["accuracy"]
        except StoreError:
            accuracy = None
        news = [] if accuracy is None else [f"accuracy {100 * accuracy:.2f} %"]
    return ", ".join([f"{outcome.task.label}: {outcome.status}", *(one for one in news if one)])


def _percent(found: Interval | None) -> str:
    if found is None:
        return "-"
    spread = "" if found.half is None else f" ± {100 * found.half:.2f}"
    return f"{100 * found.mean:.2f}{spread} %"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"

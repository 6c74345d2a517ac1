"""Progress of a run: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.units import show, show_seconds
from fedradio.report.terminal.summary import simulation_lines
from fedradio.rounds.simulation import Simulation
from fedradio.runs.estimate import estimate_s
from fedradio.runs.run import Observer
from fedradio.spec.spec import Spec

LONG_S = 60.0
"""A run that is expected to take longer prints its estimate first."""

LINE_EVERY_S = 10.0
"""Time between two lines where there is no bar."""

STOPPING = b"\nstopping after this round; Ctrl-C again stops at once, and the round is made again on resume\n"


class RunProgress(Observer):
    """Observer that shows a run: its header, a bar or lines, notes. A context manager, so that the bar is removed."""

    def __init__(self, console: Console, changes: Sequence[str] = ()) -> None:
        self.console = console
        self.changes = changes
        self.bar: Progress | None = None
        self._task = TaskID(0)
        self._rounds = 0
        self._next_line = 0.0
        self._accuracy = ""

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()

    def started(self, sim: Simulation, spec: Spec, folder: Path | None, done: int) -> None:
        show_line = self.console.print
        show_line(f"[bold]{spec.name}[/]  {escape(spec.plain['about'])}".rstrip())
        if self.changes:
            show_line(f"  with      {escape('  '.join(self.changes))}", highlight=False)
        for line in simulation_lines(sim, spec):
            show_line(f"  {escape(line)}", highlight=False)
        for warning in sim.warnings:
            show_line(f"  [yellow]warning[/]   {escape(warning)}", highlight=False)
        if done:
            show_line(f"  goes on   after round {done} of {spec.rounds}", highlight=False)
        left = spec.rounds - done
        expected = estimate_s(sim, left, spec.eval_every)
        if expected > LONG_S:
            show_line(f"  [yellow]expected[/]  about {show_seconds(expected)} for {left} rounds", highlight=False)
        self._rounds = spec.rounds
        if self.console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self.bar = Progress(
                *columns,
                TimeRemainingColumn(),
                TextColumn("{task.fields[status]}"),
                console=self.console,
                transient=True,
            )
            self._task = self.bar.add_task("rounds", total=spec.rounds, completed=done, status="")
            self.bar.start()

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if "accuracy" in record.metrics:
            self._accuracy = f"accuracy {100 * record.metrics['accuracy']:.2f} %"
        if self.bar is not None:
            self.bar.update(self._task, completed=state.t, status=self._status(state))
            return
        tenth = max(1, self._rounds // 10)
        if state.t % tenth == 0 or state.t == self._rounds or time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_EVERY_S
            self.console.print(f"  round {state.t}/{self._rounds}  {self._status(state)}", highlight=False)

    def noted(self, text: str) -> None:
        self.console.print(f"  [yellow]note[/]      {escape(text)}", highlight=False, soft_wrap=True)

    def stopping(self) -> None:
        os.write(2, STOPPING)  # straight to standard error: this may interrupt a print

    def _status(self, state: SimState) -> str:
        """Last accuracy, and what was spent so far."""
        pieces = [self._accuracy]
        if state.time_s is not None:
            pieces.append(show_seconds(state.time_s))
        if state.energy_j is not None:
            pieces.append(show(state.energy_j, "J"))
        if state.bits is not None:
            pieces.append(show(state.bits, "bit"))
        return "  ".join(item for item in pieces if item)

"""Progress of a run: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.units import show, show_seconds
from fedradio.report.terminal.console import SafeConsole, say, text_column
from fedradio.report.terminal.summary import simulation_lines
from fedradio.results.shown import score_text
from fedradio.rounds.simulation import Simulation
from fedradio.runs.estimate import estimate_s
from fedradio.runs.run import Observer
from fedradio.spec.spec import Spec

LONG_S = 60.0
"""Runs expected to take longer than this print an estimate first."""

LINE_EVERY_S = 10.0
"""Time between two lines when there is no bar."""

STOPPING = b"\nstopping after this round; Ctrl-C again stops at once, and the round is made again on resume\n"


class RunProgress(Observer):
    """Observer that shows a run: its header, a bar or lines, and notes. A context manager that removes the bar."""

    def __init__(self, console: SafeConsole, changes: Sequence[str] = ()) -> None:
        self.console = console
        self.changes = changes
        self.bar: Progress | None = None
        self._task = TaskID(0)
        self._rounds = 0
        self._next_line = 0.0
        self._score: tuple[str, int] | None = None  # the last one, and its round

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()

    def started(self, sim: Simulation, spec: Spec, folder: Path | None, done: int) -> None:
        about = f"  {spec.plain['about']}" if spec.plain["about"] else ""
        say(self.console, (spec.name, "bold"), about)
        lines = [f"with      {'  '.join(self.changes)}"] if self.changes else []
        for line in [*lines, *simulation_lines(sim, spec)]:
            say(self.console, f"  {line}")
        for warning in sim.warnings:
            self._flagged("warning", warning)
        if done:
            say(self.console, f"  resuming  after round {done} of {spec.rounds}")
        left = spec.rounds - done
        expected = estimate_s(sim, spec, left)
        if expected > LONG_S:
            self._flagged("expected", f"about {show_seconds(expected)} for {left} rounds")
        self._rounds = spec.rounds
        if self.console.is_terminal:
            columns = (text_column("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self.bar = Progress(
                *columns,
                TimeRemainingColumn(),
                text_column("{task.fields[status]}"),
                console=self.console,
                transient=True,
            )
            self._task = self.bar.add_task("rounds", total=spec.rounds, completed=done, status="")
            self.bar.start()

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if text := score_text(record.metrics):
            self._score = text, state.t
        if self.bar is not None:
            self.bar.update(self._task, completed=state.t, status=self._status(state))
            return
        tenth = max(1, self._rounds // 10)
        if state.t % tenth == 0 or state.t == self._rounds or time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_EVERY_S
            say(self.console, f"  round {state.t}/{self._rounds}  {self._status(state)}")

    def noted(self, text: str) -> None:
        self._flagged("note", text)

    def stopping(self) -> None:
        with suppress(OSError):  # nobody may be listening
            os.write(2, STOPPING)  # straight to standard error: this may interrupt a print

    def _flagged(self, word: str, text: str) -> None:
        """Print a line that stands out."""
        say(self.console, "  ", (word, "yellow"), f"{'':{10 - len(word)}}{text}")

    def _status(self, state: SimState) -> str:
        """The last score (with its round if not the current one, a dash if there is none), and the costs so far."""
        pieces = ["accuracy -"]
        if self._score is not None:
            text, at = self._score
            pieces = [text + ("" if at == state.t else f" (round {at})")]
        if state.time_s is not None:
            pieces.append(show_seconds(state.time_s))
        if state.energy_j is not None:
            pieces.append(show(state.energy_j, "J"))
        if state.bits is not None:
            pieces.append(show(state.bits, "bit"))
        return "  ".join(pieces)

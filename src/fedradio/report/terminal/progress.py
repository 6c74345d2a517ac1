"""Progress of slow operations: a bar that appears only after a while."""

from __future__ import annotations

import time
from types import TracebackType

from rich.progress import BarColumn, Progress, TaskID

from fedradio.report.terminal.console import SafeConsole, text_column

LATE_S = 2.0
"""Work that takes longer than this shows its progress."""


class LateProgress:
    """A :data:`~fedradio.core.progress.Progress` that shows a bar once the work has taken :data:`LATE_S`.

    A context manager, so that the bar is removed.
    """

    def __init__(self, console: SafeConsole) -> None:
        columns = (text_column("{task.description}"), BarColumn())
        self.bar = Progress(*columns, console=console, transient=True)
        self._task: TaskID | None = None
        self._began = time.monotonic()

    def __enter__(self) -> LateProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._task is not None:
            self.bar.stop()

    def __call__(self, what: str, share: float | None) -> None:
        if self._task is None:
            if time.monotonic() - self._began < LATE_S:
                return
            self._task = self.bar.add_task("", total=1.0)
            self.bar.start()
        self.bar.update(self._task, description=what, completed=share)

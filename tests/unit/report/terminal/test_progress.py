"""A bar that appears late."""

import io

import pytest

from fedradio.report.terminal import progress
from fedradio.report.terminal.console import SafeConsole


def test_progress_comes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    console = SafeConsole(file=io.StringIO(), width=80, force_terminal=True)
    with progress.LateProgress(console) as quick:
        quick("reading", 0.0)
        assert not quick.bar.tasks
    monkeypatch.setattr(progress, "LATE_S", 0.0)
    with progress.LateProgress(console) as slow:
        slow("replaying [1]", 0.5)
        assert slow.bar.tasks[0].completed == 0.5

"""Progress of a run on a terminal and elsewhere."""

import io
import re
from collections.abc import Callable

import pytest

from fedradio.report.terminal import run_progress as progress_module
from fedradio.report.terminal.console import SafeConsole
from fedradio.report.terminal.run_progress import RunProgress
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_plain_lines_when_it_is_no_terminal(cells: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "estimate_s", lambda *_: 3700.0)
    console = SafeConsole(file=io.StringIO(), width=120)
    with RunProgress(console) as watch:
        run(cells("rounds=3", "hops.0.deadline_s=100"), observer=watch)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in text
    for words in (
        "6 clients -> 2 edges -> 1 server",
        "round 3/3",
        "accuracy",
        "warning",
        "about 1 h 1 min for 3 rounds",
    ):
        assert words in text


def test_between_evaluations_the_last_accuracy_is_shown_with_its_round(tiny: Callable[..., Spec]) -> None:
    console = SafeConsole(file=io.StringIO(), width=120)
    with RunProgress(console) as watch:
        run(tiny("rounds=5", "eval_every=2"), observer=watch)
    lines = [line for line in console.file.getvalue().splitlines() if "  round " in line]  # type: ignore[attr-defined]
    assert lines[0].startswith("  round 1/5  accuracy -  ")
    shown = [re.findall(r"accuracy ([\d.]+ %)( \(round \d\))?", line)[0] for line in lines[1:]]
    assert [found[1] for found in shown] == ["", " (round 2)", "", ""]
    assert shown[0][0] == shown[1][0]


def test_a_live_bar_on_a_terminal(tiny: Callable[..., Spec]) -> None:
    console = SafeConsole(file=io.StringIO(), width=120, force_terminal=True)
    with RunProgress(console) as watch:
        run(tiny(), observer=watch)
        assert watch.bar is not None
        assert watch.bar.tasks[0].completed == 2

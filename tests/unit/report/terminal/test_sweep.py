"""Sweeps on a terminal: progress and results."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.sealing import blank_summary, write_summary

from fedradio.report.terminal.console import SafeConsole
from fedradio.report.terminal.sweep import BatchProgress, failures_line, results_view
from fedradio.results.quantities import QUANTITIES
from fedradio.results.statistics import Interval
from fedradio.spec.spec import check_spec
from fedradio.sweeps.pool import Outcome, RunTask
from fedradio.sweeps.sweep import VariantResult


def test_progress_on_a_terminal_counts_the_rounds_of_this_batch(tmp_path: Path) -> None:
    """What was made before is no part of the work, and bars of runs that have ended are put away."""
    jobs = [RunTask(check_spec({"rounds": 10, "seed": n}), tmp_path / str(n), f"[red]{n}") for n in range(3)]
    console = SafeConsole(force_terminal=True, width=100, record=True, file=(tmp_path / "screen").open("w"))
    with BatchProgress(console) as progress:
        progress.started(jobs, 2)
        assert progress.bar is not None
        progress.ended(Outcome(jobs[0], "complete", None, fresh=False), 1, 3)
        progress.advanced(jobs[1], 4, 10)
        progress.advanced(jobs[1], 6, 10)
        whole = progress.bar.tasks[0]
        assert (whole.completed, whole.total, whole.fields["count"]) == (2, 16, "1/3 runs")
        assert [task.description for task in progress.bar.tasks] == ["all runs", "  [red]1"]
        progress.advanced(jobs[2], 0, 10)
        progress.ended(Outcome(jobs[1], "failed", "first line\nlast line", fresh=True), 2, 3)
        assert [task.description for task in progress.bar.tasks] == ["all runs", "  [red]2"]
        assert (whole.completed, whole.total) == (2, 12)
        progress.advanced(jobs[2], 10, 10)
        progress.ended(Outcome(jobs[2], "complete", None, fresh=True), 3, 3)
        assert (whole.completed, whole.total, whole.finished) == (12, 12, True)
    assert "[2/3] [red]1: failed, last line" in console.export_text()


def test_lines_where_there_is_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedradio.report.terminal.sweep.LINE_EVERY_S", 0.0)
    job = RunTask(check_spec({"rounds": 10}), tmp_path / "run", "one")
    job.folder.mkdir()
    write_summary(job.folder, blank_summary(job.spec, accuracy=0.5))
    console = SafeConsole(width=100, record=True, file=(tmp_path / "log").open("w"))
    with BatchProgress(console) as progress:
        progress.started([job], 1)
        progress.noted(job, "other [torch]")
        progress.advanced(job, 3, 10)
        progress.ended(Outcome(job, "complete", None, fresh=True), 1, 1)
        progress.ended(Outcome(job, "complete", None, fresh=False), 1, 1)
    assert console.export_text().splitlines() == [
        "1 run, 1 at a time",
        "  one: other [torch]",
        "  one: 3/10 rounds",
        "[1/1] one: complete, accuracy 50.00 %",
    ]


def test_lines_tell_the_remaining_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedradio.report.terminal.sweep.LINE_EVERY_S", 0.0)
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=1000.0)
    monkeypatch.setattr("fedradio.report.terminal.sweep.time", clock)
    jobs = [RunTask(check_spec({"rounds": 10}), tmp_path / str(n), f"run {n}") for n in range(2)]
    console = SafeConsole(width=100, record=True, file=io.StringIO())
    with BatchProgress(console) as progress:
        progress.started(jobs, 1)
        progress.advanced(jobs[0], 0, 10)
        clock.now += 30
        progress.advanced(jobs[0], 5, 10)  # a quarter after 30 s
        clock.now += 30
        progress.advanced(jobs[0], 10, 10)  # half after 60 s
    lines = console.export_text().splitlines()
    assert lines[-2:] == ["  run 0: 5/10 rounds, about 1 min 30 s left", "  run 0: 10/10 rounds, about 1 min 0 s left"]


def test_failures_are_counted(tmp_path: Path) -> None:
    job = RunTask(check_spec({"rounds": 10}), tmp_path, "one")
    ends = [Outcome(job, status, None, fresh=True) for status in ("complete", "failed", "diverged", "failed")]
    assert failures_line(ends) == "3 of 4 runs are not complete: 2 failed, 1 diverged"
    assert failures_line(ends[:2]) == "1 of 2 runs is not complete: 1 failed"


def test_results_fit_a_narrow_terminal() -> None:
    label = "algorithm=fedprox, topology.clients_per_edge=4"
    some = Interval(0.5, 0.01, 3)
    spent = {"seconds": 123.4, "joules": 5678.9, "bits": 1.2e9}
    means = dict.fromkeys(QUANTITIES) | {name: Interval(value, None, 1) for name, value in spent.items()}
    variant = VariantResult(label, 3, 3, means | {"accuracy": some, "best_accuracy": some})
    console = SafeConsole(width=60, record=True, file=io.StringIO())
    console.print(results_view([variant], console.width))
    lines = console.export_text().splitlines()
    assert lines[0].split() == ["variant", "seeds", "accuracy", "%", "best", "%"]
    assert any(line.split() == ["variant", "simulated", "energy", "uplink"] for line in lines)
    assert "50.00 ± 1.00" in lines[1]
    assert lines[1].startswith("algorithm=fedprox,")
    wide = SafeConsole(width=120, record=True, file=io.StringIO())
    wide.print(results_view([variant], wide.width))
    first = wide.export_text().splitlines()[0]
    assert first.split() == ["variant", "seeds", "accuracy", "%", "best", "%", "simulated", "energy", "uplink"]

"""The text of a run, and its table for notebooks."""

from collections.abc import Callable
from pathlib import Path

from fedradio.results.run import Run
from fedradio.results.shown import html_table
from fedradio.spec.spec import Spec

SUMMARY = {"status": "complete", "rounds": 2, "accuracy": 0.9666, "time_s": None, "energy_j": 0.432, "bits": 203e6}


def test_two_lines(tiny: Callable[..., Spec]) -> None:
    run = Run(Path("runs/a"), tiny(), SUMMARY)
    head = "Run tiny, seed 3: complete, 2 of 2 rounds, accuracy 96.66 %, 432 mJ, 203 Mbit"
    assert repr(run) == f"{head}\n  in runs/a"
    killed = Run(Path("runs/a"), tiny(), None)
    assert repr(killed) == "Run tiny, seed 3: unfinished\n  in runs/a"
    early = Run(Path("runs/a"), tiny(), {**SUMMARY, "status": "diverged", "accuracy": None, "rounds": 1})
    assert repr(early).startswith("Run tiny, seed 3: diverged, 1 of 2 rounds, 432 mJ")


def test_html_is_escaped(tiny: Callable[..., Spec]) -> None:
    page = Run(Path("<b>\x1b"), tiny(), SUMMARY)._repr_html_()
    assert "&lt;b&gt;" in page
    assert "\x1b" not in page
    assert "<td>Energy</td><td>432 mJ</td>" in page
    assert "Simulated time" not in page
    assert "<thead>" in html_table("t", ("a", "b"), [("1", "<2>")])

"""Summaries on a terminal."""

from collections.abc import Callable

from support.terminal import shown

from fedradio.report.terminal.summary import summary_table
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_undefined_quantities_are_dashes(tiny: Callable[..., Spec], cells: Callable[..., Spec]) -> None:
    without, having = shown(summary_table(run(tiny()))), shown(summary_table(run(cells())))
    assert [line.split()[-1] for line in without.splitlines() if line.startswith(("simulated", "energy"))] == ["-", "-"]
    assert " s" in next(line for line in having.splitlines() if line.startswith("simulated"))
    assert "J" in next(line for line in having.splitlines() if line.startswith("energy"))

"""Accuracies of clients that have test sets of their own."""

from dataclasses import replace

import numpy as np

from fedradio.report.charts.chart import Absent, Area, Chart, Group, Line
from fedradio.report.charts.spread import spread
from fedradio.report.style import style
from fedradio.results.client_states import StateReader
from fedradio.results.digest import Digest
from fedradio.results.run import Run


def of(*digests: Digest) -> list[Chart | Absent]:
    return spread([Group("one", style("fedavg"), digests)])


def test_the_last_evaluation_and_how_the_spread_moved(small: Run) -> None:
    """0.4 and 0.6 after round 1, 0.5 and 1 after round 2: deviations of 0.1 and 0.25."""
    last, over = of(small.digest)
    assert isinstance(last, Chart)
    assert isinstance(over, Chart)
    assert "After round 2 the worst of 2 clients has 50.00 %, the median 75.00 %, the best 100.00 %" in last.says
    assert "changes from 10.00 % after round 1 to 25.00 % after round 2" in over.says
    layers = over.plots[""].layers
    assert [layer.name for layer in layers if isinstance(layer, Area)] == ["all clients", "middle 80 %", "middle 50 %"]
    assert [layer.y.tolist() for layer in layers if isinstance(layer, Line)] == [[50, 75]]


def test_several_runs_share_a_line(small: Run) -> None:
    last, over = of(small.digest, small.digest)
    assert isinstance(last, Chart)
    (line,) = last.plots[""].layers
    assert isinstance(line, Line)
    assert line.x.tolist() == [50, 50, 50, 100, 100]
    assert line.y.tolist() == [0, 25, 50, 75, 100]
    assert isinstance(over, Absent)


def test_one_evaluation_has_nothing_to_compare_with(small: Run) -> None:
    first = {"accuracy": {1: small.digest.client_metrics["accuracy"][1]}}
    over = of(replace(small.digest, client_metrics=first))[1]
    assert isinstance(over, Absent)
    assert "nothing to compare it with yet" in over.why


def test_why_there_is_none() -> None:
    found = of(Digest(StateReader(2).states(), client_metrics={}))
    assert [one.why for one in found if isinstance(one, Absent)] == [
        "all clients share one test set (data.test=client provides scores per client)"
    ] * 2
    assert np.all([isinstance(one, Absent) for one in found])

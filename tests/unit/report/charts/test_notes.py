"""Further records: notes of parts, and metrics that share no axis."""

from collections.abc import Callable
from pathlib import Path

from support.past import written
from support.records import evaluation, exchange, round_

from fedradio.core.contracts import Note
from fedradio.report.charts.chart import Absent, Area, Chart, Line
from fedradio.report.charts.notes import notes
from fedradio.results.run import Run
from fedradio.spec.spec import Spec


def chart(run: Run) -> Chart:
    found = notes(run)
    assert isinstance(found, Chart)
    return found


def test_notes_and_metrics_have_a_view_each(small: Run) -> None:
    """Eligible clients: 2, then 1; the norm of variates: 2, then 3."""
    found = chart(small)
    lines = {view: plot.layers[-1] for view, plot in found.plots.items()}
    assert {view: line.y.tolist() for view, line in lines.items() if isinstance(line, Line)} == {
        "eligible": [2.0, 1.0],
        "metric-variate_norm": [2.0, 3.0],
    }
    assert found.plots["eligible"].says.endswith("Its mean goes from 2 to 1.")
    rows = [found.numbers.rows[place] for place in range(len(found.numbers.rows))]
    assert [row[:6] for row in rows] == [
        ["eligible", "2", "2", "1", "1", "2"],
        ["variate norm", "2", "2", "3", "2", "3"],
    ]
    assert rows[0][6] == "clients in a cell that could have taken part"


def test_a_band_spans_all_senders_of_each_hop(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    """Two hops with a note of the same name have a view each."""
    records = [
        exchange(0, ids=[0, 1], notes={"score": Note("sender", [1.0, 3.0])}),
        exchange(0, hop=1, ids=[0], notes={"score": Note("sender", [5.0])}),
    ]
    found = chart(written(tmp_path / "run", tiny(), records, [2, 1], [1, 1]))
    assert list(found.plots) == ["score-hop0", "score-hop1"]
    area, line = found.plots["score-hop0"].layers
    assert isinstance(area, Area)
    assert isinstance(line, Line)
    assert (area.low.tolist(), line.y.tolist(), area.high.tolist()) == ([1.0], [2.0], [3.0])
    assert len(found.plots["score-hop1"].layers) == 1


def test_a_metric_has_the_unit_and_the_direction_that_the_run_declares(small: Run) -> None:
    small.__dict__["declared_metrics"] = {"variate_norm": {"unit": "m", "better": "less"}}
    found = chart(small)
    assert found.plots["metric-variate_norm"].y.unit == "m"
    assert list(found.numbers.rows[1])[0:7:6] == ["variate norm [m]", "metric of the evaluations; lower is better"]


def test_shares_are_in_percent(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    """A spread of 0.25 is 25 %; a metric that only begins like an accuracy is no share."""
    records = [round_(0), evaluation(1, accuracy=0.5, accuracy_spread=0.25, accuracy_gap=0.25)]
    plots = chart(written(tmp_path / "run", tiny(), records)).plots
    shown = {view: (plot.y.unit, plot.layers[-1]) for view, plot in plots.items()}
    assert {view: (unit, line.y.tolist()) for view, (unit, line) in shown.items() if isinstance(line, Line)} == {
        "metric-accuracy_spread": ("%", [25.0]),
        "metric-accuracy_gap": ("", [0.25]),
    }


def test_nothing_else_is_on_record(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    assert isinstance(notes(written(tmp_path / "empty", tiny(), [])), Absent)

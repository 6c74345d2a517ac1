"""Charts of a single run."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from support.past import written
from support.records import evaluation, round_

from fedradio.report.charts.chart import Absent, Chart, Grid, Group
from fedradio.report.charts.run_charts import (
    cache_charts,
    client_accuracies,
    client_joules,
    energy_charts,
    map_chart,
    participation_charts,
)
from fedradio.report.style import style
from fedradio.results.run import Run, open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_numbers_of_clients(small: Run) -> None:
    joules, accuracies = client_joules(small), client_accuracies(small)
    assert joules is not None
    assert accuracies is not None
    assert (joules.tolist(), accuracies.tolist()) == ([5.0, 2.0], [0.5, 1.0])


def test_clients_without_samples_have_no_accuracy(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    records = [round_(0), evaluation(1, {"accuracy": [0.5, None]}, accuracy=0.5)]
    found = client_accuracies(written(tmp_path / "a", tiny(), records))
    assert found is not None
    assert np.isnan(found).tolist() == [False, True]
    assert client_accuracies(written(tmp_path / "b", tiny(), [round_(0), evaluation(1, accuracy=0.5)])) is None


def test_clients_are_sorted_by_their_edges(tmp_path: Path, cells: Callable[..., Spec]) -> None:
    run(cells("hops.0.policy={kind: sampling, clients: 2, steps: 2}"), tmp_path / "run")
    found = open_run(tmp_path / "run")
    selection, reasons = participation_charts(found)
    assert isinstance(selection, Chart)
    assert isinstance(reasons, Chart)
    (grid,) = selection.plots[""].layers
    assert isinstance(grid, Grid)
    parents = np.array(found.network["parents"][0])
    assert grid.groups.tolist() == parents[grid.y].tolist() == sorted(parents)


def test_of_a_run_without_a_round(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    empty = written(tmp_path / "empty", tiny(), [])
    charts = [
        *participation_charts(empty),
        map_chart(empty),
        *energy_charts([Group("a", style("a"), [empty.digest])], empty),
    ]
    assert all(isinstance(chart, Absent) for chart in charts)
    assert cache_charts(empty) == []

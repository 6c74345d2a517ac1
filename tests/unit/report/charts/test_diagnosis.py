"""Charts of a diagnosis."""

from __future__ import annotations

from dataclasses import replace

from fedradio.report.charts.chart import Line
from fedradio.report.charts.diagnosis import diagnosis_plots
from fedradio.results.diagnosis import Diagnosis, RoundDiagnosis

ROUNDS = [
    RoundDiagnosis(0, 5, 2.0, 0.5, 1.0, 3.0, 4.0, 10.0, 6.0, 2.0),
    RoundDiagnosis(2, 5, 1.0, -0.1, 0.5, None, None, 9.0, 5.0, 1.0),
]


def lines(rounds: list[RoundDiagnosis]) -> list[dict[str, tuple[list[float], list[float]]]]:
    plots = diagnosis_plots(Diagnosis("a", "fedavg", 1, rounds))
    return [
        {line.name: (line.x.tolist(), line.y.tolist()) for line in plot.layers if isinstance(line, Line)}
        for plot in plots
    ]


def test_one_panel_for_each_quantity_against_rounds() -> None:
    assert lines(ROUNDS) == [
        {"drop": ([1, 3], [0.5, -0.1])},
        {"global loss": ([1], [3.0]), "largest of a client": ([1], [4.0])},
        {"noise": ([1, 3], [10.0, 9.0])},
        {"clients": ([1, 3], [6.0, 5.0]), "edges": ([1, 3], [2.0, 1.0])},
    ]


def test_no_line_where_nothing_is_defined() -> None:
    flat = [replace(row, edge_divergence=None, smoothness=None, client_smoothness=None) for row in ROUNDS]
    assert [list(panel) for panel in lines(flat)] == [["drop"], [], ["noise"], ["clients"]]


def test_units_and_scales() -> None:
    plots = diagnosis_plots(Diagnosis("a", "fedavg", 1, [ROUNDS[0], replace(ROUNDS[1], noise=0.01)]))
    assert [plot.y.unit for plot in plots] == ["nat", "nat", "nat²", "nat²"]
    assert [plot.y.log for plot in plots] == [False, False, True, False]

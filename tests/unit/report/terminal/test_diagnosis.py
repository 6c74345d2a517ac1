"""A run's diagnosis as a table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from fedradio.report.terminal.diagnosis import diagnosis_view
from fedradio.results.diagnosis import Diagnosis, RoundDiagnosis

ROW = RoundDiagnosis(0, 5, 2.0, 0.5, 1.0, 3.0, 4.0, 10.0, 6.0, 2.0)


@pytest.mark.parametrize("edges", [True, False])
def test_the_caption_is_about_edges_where_a_column_is(edges: bool) -> None:
    row = ROW if edges else replace(ROW, edge_divergence=None)
    console = Console(width=300)
    with console.capture() as capture:
        console.print(diagnosis_view(Diagnosis("a", "fedavg", 1, [row])))
    lines = capture.get().rstrip().splitlines()
    assert [("of edges" in lines[1]), lines[-1].endswith("from their mean, and of the edges'")] == [edges, edges]
    assert "of the clients' gradients from their mean" in lines[-1]

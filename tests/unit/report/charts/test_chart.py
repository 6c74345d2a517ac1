"""What charts are made of."""

import numpy as np

from fedradio.report.charts.chart import Axis, Line, capital, distribution, name_lines, neighbours, quantiles
from fedradio.report.style import style

SAMPLES = {"one": (style("fedavg"), np.array([3.0, 1.0, 2.0, 4.0]))}


def test_a_distribution_rises_from_0_to_all() -> None:
    (line,) = distribution(SAMPLES, Axis("Energy"), "clients").layers
    assert isinstance(line, Line)
    assert line.x.tolist() == [1, 1, 2, 3, 4]
    assert line.y.tolist() == [0, 25, 50, 75, 100]
    assert line.steps


def test_quantiles_are_rows() -> None:
    table = quantiles(SAMPLES, "Quantiles", lambda value: f"{value:g}")
    assert table.rows[0] == ["one", "1", "1.3", "1.75", "2.5", "3.25", "3.7", "4"]
    assert len(table.head) == len(table.rows[0])


def test_neighbouring_rounds() -> None:
    """Five rounds in two bars: rounds 1 to 3, and 4 and 5."""
    bins, middles = neighbours(5, 2)
    assert [part.tolist() for part in bins] == [[0, 1, 2], [3, 4]]
    assert middles.tolist() == [2.0, 4.5]


def test_names() -> None:
    assert capital("test loss") == "Test loss"
    assert capital("") == ""
    assert name_lines("algorithm=one, rule.lr=0.1", 12).splitlines() == ["one,", "rule.lr=0.1"]

"""Plots of reproduced figures."""

from typing import Any

import numpy as np
import pytest

from fedradio.report.charts.chart import Dot, Level, Line
from fedradio.report.charts.published import PLOTS, PUBLISHED, looks
from fedradio.report.style import style

CURVE: dict[str, Any] = {"x": [1, 10], "mean": [0.1, 0.2], "low": [0.1, 0.2], "high": [0.1, 0.2], "seeds": [1]}


def row(number: int, algorithm: str = "fedavg", **more: Any) -> dict[str, Any]:
    return {"label": f"row {number}", "algorithm": algorithm, **more}


def test_published_points_lie_inside_and_ends_across() -> None:
    """Round 50 was not run."""
    points = {"points": [[5.0, 0.5], [50.0, 0.9]], "level": 0.9}
    series = [row(0, **CURVE, **points), row(1, **CURVE | {"seeds": [1, 2]}, points=[], level=None)]
    plot = PLOTS["curves"]({"x": "rounds", "y": "accuracy", "series": series})
    first, second = [layer for layer in plot.layers if isinstance(layer, Line)]
    assert (first.y.tolist(), first.low) == ([10.0, 20.0], None)
    assert second.low is not None
    dots = [layer for layer in plot.layers if isinstance(layer, Dot)]
    assert [(dot.x, dot.y, dot.hollow) for dot in dots[:-1]] == [(5.0, 50.0, True)]
    assert dots[-1] is PUBLISHED
    levels = [layer for layer in plot.layers if isinstance(layer, Level)]
    assert levels[0].at == 90
    assert np.isnan(levels[1].at)  # that of the legend
    joules = PLOTS["curves"]({"x": "edge_rounds", "y": "energy_j", "series": series[1:]})
    assert (joules.y.unit, len(joules.layers)) == ("J", 1)


def test_distributions_and_their_published_medians() -> None:
    plot = PLOTS["cdf"]({"series": [row(0, samples=[1.0, 4.0], median=3.0, unit="energy [J]")]})
    line, dot, _ = plot.layers
    assert isinstance(line, Line)
    assert isinstance(dot, Dot)
    assert (line.x.tolist(), line.y.tolist(), line.steps) == ([1.0, 4.0], [50.0, 100.0], True)
    assert (dot.x, dot.y) == (3.0, 50.0)


@pytest.mark.parametrize(("least", "log"), [(0.011, False), (0.009, True), (0.0, False)])
def test_a_bound_over_many_decades_is_logarithmic(least: float, log: bool) -> None:
    assert PLOTS["bound"]({"series": [row(0, x=[1, 2], y=[1.0, least])]}).y.log == log


def test_top_m_accuracies() -> None:
    (line,) = PLOTS["top"]({"series": [row(0, mean=[0.4, 0.6], low=[0.3, 0.6], high=[0.5, 0.6])]}).layers
    assert isinstance(line, Line)
    assert (line.x.tolist(), line.y.tolist()) == ([1.0, 2.0], [40.0, 60.0])


def test_rows_of_one_algorithm_look_different_and_algorithms_keep_their_colour() -> None:
    found = looks([row(n, "central" if n == 1 else "fedavg") for n in range(20)])
    assert found[0] == style("fedavg")
    assert found[1] == style("central")
    assert len(set(found)) == 20
    assert found[2].colour != found[0].colour

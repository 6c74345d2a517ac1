"""Charts as matplotlib figures."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from fedradio.report.charts.chart import Area, Axis, Bars, Grid, Line, Plot, distribution
from fedradio.report.figures.draw import PALETTE, draw
from fedradio.report.style import style


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_energy_is_a_distribution() -> None:
    samples = {"one": (style("fedavg"), np.array([3e-3, 1e-3, 2e-3, 4e-3]))}
    figure = draw(distribution(samples, Axis("Energy", "J", zero=True), "clients"))
    (line,) = figure.axes[0].lines
    assert np.asarray(line.get_xdata()).tolist() == pytest.approx([1, 1, 2, 3, 4])
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx([0, 25, 50, 75, 100])
    assert figure.axes[0].get_xlabel() == "Energy (mJ)"
    assert figure.axes[0].get_ylabel() == "Share of clients (%)"


def test_a_grid_shows_states_by_colour() -> None:
    grid = Grid(np.array([[1, 0], [0, 0]]), np.array([1, 2]), np.array([5, 3]), {"arrived": "@blue", "out": "@faint"})
    figure = draw(Plot(Axis("Edge round", whole=True), Axis("Client"), [grid]))
    image = np.asarray(figure.axes[0].images[0].get_array())
    assert [to_hex(pixel).upper() for pixel in image[0]] == [PALETTE["@faint"], PALETTE["@blue"]]
    assert words_of(figure) == ["arrived", "out"]


def test_bars_are_stacked_and_areas_have_their_names() -> None:
    x = np.array([1.0, 2.0])
    bars = [Bars("a", x, np.array([2.0, 1.0]), "@blue"), Bars("b", x, np.array([1.0, 1.0]), "#123456")]
    figure = draw(Plot(Axis("Round", whole=True), Axis("Clients", zero=True), bars))
    assert [bar.get_y() for bar in figure.axes[0].containers[1]] == [2.0, 1.0]  # type: ignore[attr-defined]
    assert figure.axes[0].get_ylim()[0] == 0
    area = Area("middle", x, x, 2 * x, "@blue")
    assert words_of(draw(Plot(Axis("x"), Axis("y"), [area, Line("median", x, x, style("fedavg"))]))) == [
        "middle",
        "median",
    ]

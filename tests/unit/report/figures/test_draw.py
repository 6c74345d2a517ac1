"""Charts as matplotlib figures."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from fedradio.report.charts.chart import Area, Axis, Bars, Dot, Grid, Level, Line, Plot, Points, Wires, distribution
from fedradio.report.figures.draw import PALETTE, draw, draw_panels
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
    states, colours = np.array([[1, 0], [0, 0]]), {"arrived": "@blue", "out": "@faint"}
    grid = Grid(states, np.array([1, 2]), np.array([5, 3]), colours, np.array([7, 8]))
    figure = draw(Plot(Axis("Edge round", whole=True), Axis("Client"), [grid]))
    image = np.asarray(figure.axes[0].images[0].get_array())
    assert [to_hex(pixel).upper() for pixel in image[0]] == [PALETTE["@faint"], PALETTE["@blue"]]
    assert words_of(figure) == ["arrived", "out"]
    assert [line.get_ydata()[0] for line in figure.axes[0].lines] == [0.5]  # type: ignore[index]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["7", "8"]


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


def test_a_map_shows_values_and_sizes() -> None:
    places = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]])
    values, sizes = np.array([0.0, 0.002, np.nan]), np.array([0.0, 0.5, 1.0])
    clients = Points("clients", places, "o", [""] * 3, values, Axis("Energy", "J"), sizes, {1.0: "used 4 mJ"})
    server = Points("server", places[:1], "s", ["server"])
    figure = draw(Plot(Axis("x", "m"), Axis("y", "m"), [Wires(places, places[::-1], "@grid", ()), clients, server]))
    wires, dots = figure.axes[0].collections
    assert len(wires.get_paths()) == 3
    assert np.asarray(dots.get_array()).tolist()[:2] == [0, 2]
    areas = dots.get_sizes().tolist()  # type: ignore[attr-defined]
    assert areas[0] < areas[1] < areas[2]
    assert words_of(figure) == ["server", "used 4 mJ"]
    assert figure.axes[1].get_xlabel() == "Energy (mJ)"
    dots.update_scalarmappable()
    assert to_hex(dots.get_facecolor()[2]) == "#d9d9d9"  # it has no value


def test_dots_have_intervals_and_levels_lie_across() -> None:
    dots = [Dot("a", 2.0, 0.0, style("fedavg"), x_half=1.0), Dot("b", 3.0, 1.0, style("fedprox"))]
    y = Axis("", low=1.5, high=-0.8, names=["algorithm=a", "b$"])
    plot = Plot(Axis("Difference"), y, [Level("", 0.0, "@soft", (), upright=True), *dots])
    figure = draw(plot, {"algorithm=a": r"$\mu$"})
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [r"$\mu$", r"b\$"]
    assert axes.get_ylim() == (1.5, -0.8)
    (bars,) = [line for line in axes.collections if len(line.get_paths()) == 1]
    assert bars.get_paths()[0].vertices.tolist() == [[1, 0], [3, 0]]  # type: ignore[union-attr]
    (level, *_) = axes.lines
    assert list(level.get_xdata()) == [0, 0]  # type: ignore[arg-type]


@pytest.mark.parametrize(("unit", "values", "title"), [("J", [2e-3, 4e-3], "y (mJ)"), ("Gbit", [2.0, 4.0], "y (Gbit)")])
def test_axes_that_begin_at_0(unit: str, values: list[float], title: str) -> None:
    x = np.array([7.0, 7.1])
    axes = draw(Plot(Axis("x", zero=True), Axis("y", unit, zero=True), [Bars("a", x, np.array(values), "@blue")])).axes[
        0
    ]
    assert (axes.get_xlim()[0], axes.get_ylim()[0]) == (0, 0)
    assert axes.get_xlim()[1] > 7.1
    assert axes.get_ylim()[1] == pytest.approx(4.2)
    assert axes.get_ylabel() == title


@pytest.mark.parametrize(
    ("unit", "most", "factor", "title"),
    [
        ("", 5.0, 1, "x"),
        ("s", 0.5, 1e-3, "x (ms)"),
        ("s", 500.0, 1, "x (s)"),
        ("s", 5000.0, 60, "x (min)"),
        ("s", 90000.0, 3600, "x (h)"),
        ("J", 0.02, 1e-3, "x (mJ)"),
        ("J", 0.0, 1, "x (J)"),
        ("bit", 3e7, 1e6, "x (Mbit)"),
        ("bit", 3e12, 1e9, "x (Gbit)"),
        ("nat", 3e7, 1, "x (nat)"),
    ],
)
def test_axes_have_units_of_a_fit_size(unit: str, most: float, factor: float, title: str) -> None:
    axes = draw(Plot(Axis("x", unit), Axis("y"), [Line("a", np.array([most]), np.zeros(1), style("fedavg"))])).axes[0]
    assert axes.get_xlabel() == title
    assert axes.lines[0].get_xdata()[0] == pytest.approx(most / factor)  # type: ignore[index]


def test_panels_have_axes_and_legends_of_their_own() -> None:
    x = np.array([1.0, 2.0])
    line, other = (Line(name, x, y, style(name)) for name, y in (("fedavg", x), ("osafl", 2 * x)))
    plots = [Plot(Axis("Round"), Axis("A", "J"), [line]), Plot(Axis("Round"), Axis("B", log=True), [line, other])]
    figure = draw_panels([*plots, plots[0]])
    assert [axes.get_ylabel() for axes in figure.axes] == ["A (J)", "B", "A (J)"]
    assert [len(axes.lines) for axes in figure.axes] == [1, 2, 1]
    legends = [axes.get_legend() for axes in figure.axes]
    assert [legend is None for legend in legends] == [True, False, True]
    assert [text.get_text() for text in legends[1].get_texts()] == ["fedavg", "osafl"]  # type: ignore[union-attr]
    assert figure.axes[1].get_yscale() == "log"

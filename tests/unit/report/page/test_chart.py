"""Charts as traces and layouts of plotly, and their tables."""

import numpy as np
import pytest
from support.pages import Outline

from fedradio.report.charts.chart import (
    Absent,
    Area,
    Axis,
    Bars,
    Chart,
    Dot,
    Grid,
    Layer,
    Level,
    Line,
    Plot,
    Points,
    Wires,
    thinned,
)
from fedradio.report.page.chart import (
    MOST_POINTS,
    ROWS,
    VISIBLE,
    Layout,
    Trace,
    chart_section,
    charts,
    drawn,
    figure,
    label,
    numbers_table,
    plain,
)
from fedradio.report.style import DOT, SOLID, Style, style
from fedradio.report.table import LazyRows, Table

X = np.array([1.0, 2.0])
LINE = Line("<b>", X, X, Style("#123456", DOT, "s"))


def chart(*layers: Layer, views: tuple[str, ...] = ("",), name: str = "one") -> Chart:
    plots = {view: Plot(Axis("x"), Axis("y"), layers, f"label {view}") for view in views}
    return Chart(name, "Title", "A sentence.", plots, Table("Numbers", ["a"], [["1"]]), "Switch")


def traces(*layers: Layer) -> list[Trace]:
    return drawn(Plot(Axis("x"), Axis("y"), layers))[0]


def layout(plot: Plot) -> Layout:
    return drawn(plot)[1]


def test_thinning_keeps_both_ends() -> None:
    assert thinned(5).tolist() == [0, 1, 2, 3, 4]
    chosen = thinned(100_000, 600)
    assert len(chosen) == 600
    assert (chosen[0], chosen[-1]) == (0, 99_999)
    text = numbers_table(Table("many", ["n"], LazyRows(1000, lambda n: [str(n)]), "things"))
    assert text.count("<tr>") == ROWS + 1
    assert f"{ROWS} of 1000 things" in text


def test_numbers_for_charts() -> None:
    assert plain([1.0, 0.123456789, None, float("nan")]) == [1, 0.12346, None, None]
    assert label("<b>x</b>\ny") == "&lt;b&gt;x&lt;/b&gt;<br>y"


def test_a_line_with_its_band() -> None:
    low, high, line = traces(Line("a", X, X, LINE.style, X - 1, X + 1))
    assert (low["y"], high["y"], line["y"]) == ([0, 1], [2, 3], [1, 2])
    assert high["fillcolor"] == "@c123456/0.18"
    assert line["marker"]["symbol"] == "square"
    assert line["line"]["dash"] == "2.4px,3px"
    (steps,) = traces(Line("a", X, X, LINE.style, steps=True))
    assert (steps["mode"], steps["line"]["shape"]) == ("lines", "hv")
    assert traces(LINE)[0]["name"] == "&lt;b&gt;"


def test_markers_bars_areas_and_levels() -> None:
    (dot,) = traces(Dot("a", 1.0, 2.0, style("fedavg"), x_half=0.5))
    assert dot["error_x"]["array"] == [0.5]
    assert "error_y" not in dot
    one, two = traces(Bars("a", X, X, "@blue"), Bars("b", X, X, "@red"))
    assert [one["marker"]["color"], two["marker"]["color"]] == ["@blue", "@red"]
    _, area = traces(Area("a", X, X, 2 * X, "@blue", 0.4))
    assert (area["name"], area["y"], area["fillcolor"]) == ("a", [2, 4], "@blue/0.4")
    found = layout(Plot(Axis("x"), Axis("y"), [Level("", 3.0, "@soft", SOLID, upright=True), LINE]))
    (shape,) = found["shapes"]
    assert (shape["x0"], shape["x1"], shape["yref"]) == (3.0, 3.0, "paper")
    assert not found["showlegend"]


def test_a_grid_is_sent_as_digits_with_its_keys() -> None:
    """Two clients of edge 0 and one of edge 1: a line between them."""
    states, groups = np.array([[1, 0], [0, 0], [0, 1]]), np.array([0, 0, 1])
    grid = Grid(states, np.array([1, 2]), np.array([5, 3, 4]), {"arrived": "@blue", "out": "@faint"}, groups)
    found, its_layout = drawn(Plot(Axis("Edge round", whole=True), Axis("Client"), [grid]))
    heat, *keys = found
    assert (heat["states"], heat["y"]) == (["10", "00", "01"], [5, 3, 4])
    assert heat["colorscale"] == [(0, "@blue"), (0.5, "@blue"), (0.5, "@faint"), (1, "@faint")]
    assert [key["name"] for key in keys] == ["arrived", "out"]
    assert [shape["y0"] for shape in its_layout["shapes"]] == [1.5]
    assert its_layout["yaxis"]["type"] == "category"
    assert its_layout["xaxis"]["dtick"] == 1


def test_a_map_of_very_many_clients_shows_some() -> None:
    """Every client's wire is shown with it."""
    places = 1 + np.arange(4.0 * MOST_POINTS).reshape(-1, 2)
    texts = [f"client {number}\nfar" for number in range(len(places))]
    points = Points("clients", places, "o", texts, places[:, 0], Axis("Energy", "J", log=True), places[:, 0])
    lines, marks = traces(Wires(places, places + 1, "@grid", SOLID), points)
    assert len(lines["x"]) == 3 * MOST_POINTS
    assert marks["x"] == [x for x, after in zip(lines["x"][::3], lines["x"][1::3], strict=True) if after == x + 1]
    assert (marks["text"][0], marks["text"][-1]) == ("client 0<br>far", f"client {2 * MOST_POINTS - 1}<br>far")
    assert f"The map shows {MOST_POINTS:,} of them" in figure(chart(points))


@pytest.mark.parametrize(
    ("values", "low", "ends", "bar"),
    [([2.0, 5.0], None, (2, 5), True), ([2.0, 5.0], 0.0, (0, 5), True), ([2.0, np.nan], None, (1.5, 2.5), False)],
)
def test_colours_of_values(values: list[float], low: float | None, ends: tuple[float, float], bar: bool) -> None:
    points = Points("a", np.zeros((2, 2)), "o", ["", ""], np.array(values), Axis("Energy", "J", low))
    look = traces(points)[0]["marker"]
    assert (look["cmin"], look["cmax"], "colorbar" in look) == (*ends, bar)
    assert len(look["color"]) == 2


def test_axes() -> None:
    plot = Plot(
        Axis("Round", whole=True), Axis("Energy", "J", low=0, high=2, log=True), [Line("a", 9 * X, X, LINE.style)]
    )
    found = layout(plot)
    assert found["yaxis"] == {
        "title": {"text": "Energy [J], logarithmic"},
        "range": [0, 2],
        "type": "log",
        "tickformat": "~s",
    }
    assert "dtick" not in found["xaxis"]  # up to 18
    named = layout(Plot(Axis("", names=["<a>", "b"]), Axis("y", zero=True), [Bars("a", X, X, "@blue")]))
    assert named["xaxis"]["ticktext"] == ["&lt;a&gt;", "b"]
    assert named["yaxis"]["rangemode"] == "tozero"
    rows = layout(Plot(Axis("x"), Axis("", low=1.5, high=-0.8, names=["a", "b"]), [LINE]))
    assert [(one["y"], one["text"]) for one in rows["annotations"]] == [(0, "a"), (1, "b")]


def test_many_lines_are_hidden_at_first() -> None:
    many = [Line(str(n), X, X, style("fedavg")) for n in range(VISIBLE + 1)]
    hidden = [trace["name"] for trace in traces(*many) if trace.get("visible") == "legendonly"]
    assert hidden == [str(VISIBLE)]
    assert f"The first {VISIBLE} of {VISIBLE + 1} are shown" in figure(chart(*many))
    assert "are shown" not in figure(chart(*many[:-1], Level("", 1.0, "@soft", DOT)))


def test_charts_of_a_section_share_a_switch() -> None:
    two, one = chart(LINE, views=("", "b"), name="two"), chart(LINE, name="alone")
    text = chart_section("here", "Here", [two, one, Absent("no", "No", "it is not there")])
    found = Outline(text)
    assert list(found.values("data-charts")) == ["two-chart"]
    assert list(found.values("value")) == ["", "b"]
    assert "It is not there." in text
    assert not list(Outline(chart_section("here", "Here", [one])).values("data-charts"))


def test_a_reason_is_given_once() -> None:
    assert len(charts([Absent("a", "A", "no"), Absent("b", "B", "no"), Absent("c", "C", "never")])) == 2

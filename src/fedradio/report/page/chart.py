"""Charts on the page: traces and layouts of plotly.js, a sentence, and a table of the numbers.

Colours are names of the page's palette, such as ``@blue``, which the page's script resolves for light or dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedradio.report.charts.chart import (
    Absent,
    Area,
    Axis,
    Bars,
    Chart,
    Dot,
    Grid,
    Level,
    Line,
    Plot,
    Points,
    Wires,
    capital,
    name_lines,
    thinned,
)
from fedradio.report.page.html import Html, Piece, data_block, folded, join, paragraph, section, table, tag
from fedradio.report.style import MARKERS, Dash, plotly_dash
from fedradio.report.table import Table
from fedradio.results.run import Floats

Trace = dict[str, Any]
Layout = dict[str, Any]
"""As in plotly, except for the names of colours."""

ROWS = 200
"""Most rows of a table of numbers."""

VISIBLE = 8
"""Number of lines shown at first; a click on the legend shows others."""

MOST_POINTS = 1000
"""Most clients on a map."""

MOST_GROUPS = 12
"""Most groups of rows of a heat map that are separated by lines."""

FEW = 25
"""Most points of a line with markers."""

FEW_TICKS = 12
"""Largest value of an axis of whole numbers that has a tick at each, and most ticks of a heat map's rows."""

SCALE = [[0, "#2a1a5e"], [0.25, "#3b528b"], [0.5, "#21918c"], [0.75, "#5ec962"], [1, "#fde725"]]
"""Colour scale from low (dark) to high (bright), perceptually uniform for colour-blind readers too."""

SMALLEST = 0.3
"""Area of the smallest marker of some points, relative to the largest."""


def chart_section(
    identity: str, title: str, found: Sequence[Chart | Absent], *asides: Piece, wide: bool = False, after: Piece = None
) -> Html:
    """A section of charts, with one switch for their views."""
    drawn = [chart for chart in found if isinstance(chart, Chart)]
    choice = switch(f"{identity}-view", [chart for chart in drawn if len(chart.plots) > 1])
    return section(identity, title, *asides, choice, *charts(found, wide), after)


def charts(found: Sequence[Chart | Absent], wide: bool = False) -> list[Html]:
    """Charts side by side, and sentences on those that cannot be drawn, once for each reason."""
    drawn = [chart for chart in found if isinstance(chart, Chart)]
    whys = dict.fromkeys(one.why for one in found if isinstance(one, Absent))
    texts = [paragraph(f"{capital(why)}.", class_="aside" if drawn else "absent") for why in whys]
    figures = [figure(chart) for chart in drawn]
    pairs = [figures[at : at + 2] for at in range(0, len(figures), 2)]
    return [*texts, *(figures if wide else [tag("div", *pair, class_="pair") for pair in pairs])]


def switch(identity: str, drawn: Sequence[Chart]) -> Html | None:
    """Radio buttons that choose the view of some charts; None if there is no choice."""
    if not drawn:
        return None
    labels = {view: plot.label for chart in drawn for view, plot in chart.plots.items()}
    choices = []
    for number, (view, text) in enumerate(labels.items()):
        name = f"{identity}-{number}"
        button = tag("input", type="radio", name=identity, id=name, value=view, checked=number == 0)
        choices.append(tag("span", button, tag("label", text, for_=name), class_="choice"))
    return tag(
        "fieldset",
        tag("legend", drawn[0].switch),
        join(choices, " "),
        class_="switch",
        data_charts=" ".join(map(_identity, drawn)),
    )


def _identity(chart: Chart) -> str:
    return f"{chart.name}-chart"


def figure(chart: Chart) -> Html:
    """The markup of a chart: its container, text alternative, table of numbers and data."""
    identity = _identity(chart)
    title, says = f"{identity}-title", f"{identity}-says"
    place = tag(
        "div",
        class_="plot",
        id=identity,
        role="img",
        aria_labelledby=title,
        aria_describedby=says,
        style=f"height:{chart.height}px",
    )
    views = {view: _view(chart, plot) for view, plot in chart.plots.items()}
    live = "polite" if any(plot.says for plot in chart.plots.values()) else None
    save = f"Save as SVG: {chart.title}"
    button = tag("button", "Save as SVG", type="button", class_="save", data_chart=identity, aria_label=save)
    return tag(
        "figure",
        tag("h3", chart.title, id=title),
        tag("figcaption", next(iter(views.values()))["says"], id=says, aria_live=live),
        place,
        tag("div", folded("Numbers", numbers_table(chart.numbers)), button, class_="tools"),
        data_block(f"{identity}-data", views),
        class_="chart",
    )


def numbers_table(numbers: Table) -> Html:
    """The table of a chart's numbers, thinned if there are many rows."""
    rows = numbers.rows
    chosen = thinned(len(rows), ROWS)
    some = f"; {len(chosen)} of {len(rows)} {numbers.what}, evenly spaced" if len(chosen) < len(rows) else ""
    return table(numbers.title + some, numbers.head, [rows[number] for number in chosen.tolist()])


def _view(chart: Chart, plot: Plot) -> dict[str, Any]:
    """A view for the page's script: traces, layout and sentence."""
    traces, layout = drawn(plot)
    says = plot.says or chart.says
    lines = sum(not isinstance(layer, Level | Wires) for layer in plot.layers)
    if lines > VISIBLE:
        says += f" The first {VISIBLE} of {lines} are shown; click on the legend to show or hide each."
    most = max((len(layer.places) for layer in plot.layers if isinstance(layer, Points)), default=0)
    if most > MOST_POINTS:
        says += f" The map shows {MOST_POINTS:,} of them, evenly spaced."
    return {"traces": traces, "layout": layout, "says": says}


def drawn(plot: Plot) -> tuple[list[Trace], Layout]:
    """The traces and the layout of a plot."""
    layers = [layer for layer in plot.layers if not isinstance(layer, Level)]
    traces = [trace for place, layer in enumerate(layers) for trace in traces_of(layer, place < VISIBLE)]
    grids = [layer for layer in layers if isinstance(layer, Grid)]
    keys = [_key(name, colour) for grid in grids for name, colour in grid.colours.items()]
    shapes = [_level(layer) for layer in plot.layers if isinstance(layer, Level)]
    shapes += [shape for grid in grids for shape in _separators(grid)]
    most = max((float(layer.x.max()) for layer in layers if isinstance(layer, Line | Area | Bars | Grid)), default=0.0)
    layout: Layout = {"xaxis": _axis(plot.x, most), "yaxis": _axis(plot.y, plot.y.high or 0.0), "barmode": "stack"}
    layout["showlegend"] = sum(trace.get("showlegend", True) for trace in traces) + len(keys) > 1
    layout |= {"shapes": shapes} if shapes else {}
    if grids:
        rows = max(len(grid.y) for grid in grids)
        layout["yaxis"] |= {"autorange": "reversed", "type": "category", "dtick": math.ceil(rows / FEW_TICKS)}
    if plot.y.names:
        layout |= _named_rows(plot.y)
    if plot.equal:
        layout |= _equal(layout, any("colorbar" in trace.get("marker", {}) for trace in traces))
    return traces + keys, layout


def _axis(axis: Axis, most: float) -> Layout:
    """An axis whose largest value is ``most``."""
    title = label(f"{axis.title} [{axis.unit}]" if axis.unit else axis.title)
    found: Layout = {"title": {"text": title + ", logarithmic" * axis.log}}
    if axis.low is not None and axis.high is not None:
        found["range"] = [axis.low, axis.high]
    if axis.log:
        found |= {"type": "log", "tickformat": "~s"}
    if axis.zero:
        found["rangemode"] = "tozero"
    if axis.whole and most <= FEW_TICKS:
        found["dtick"] = 1
    if axis.names:
        found |= {"tickvals": list(range(len(axis.names))), "ticktext": [label(name) for name in axis.names]}
    return found


def _named_rows(axis: Axis) -> Layout:
    """Rows with their names above them, since long names leave no room beside them."""
    look: Layout = {"x": 0, "xref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 8, "align": "left"}
    look |= {"showarrow": False, "font": {"size": 12, "color": "@ink"}}
    names = [look | {"y": place, "text": label(name_lines(name))} for place, name in enumerate(axis.names)]
    return {
        "margin": {"l": 8, "r": 8},
        "annotations": names,
        "yaxis": {"range": [axis.low, axis.high], "visible": False},
        "showlegend": False,
    }


def _equal(layout: Layout, bar: bool) -> Layout:
    """The layout of a map; margins of its own, since plotly's search for them does not end with equal axes."""
    own = {"constrain": "domain", "automargin": False}
    return {
        "margin": {"l": 70, "b": 120 if bar else 50},
        "xaxis": layout["xaxis"] | own,
        "yaxis": layout["yaxis"] | own | {"scaleanchor": "x"},
    }


def _level(level: Level) -> Layout:
    along, across = ("y", "x") if level.upright else ("x", "y")
    ends = {f"{along}ref": "paper", f"{along}0": 0, f"{along}1": 1, f"{across}0": level.at, f"{across}1": level.at}
    return {"type": "line", "layer": "below", "line": _line_look(level.colour, level.dash)} | ends


def _line_look(colour: str, dash: Dash, width: float = 2) -> Layout:
    return {"color": token(colour), "width": width, "dash": plotly_dash(dash, width)}


def _separators(grid: Grid) -> list[Layout]:
    """Lines between groups of rows."""
    if grid.groups.max() >= MOST_GROUPS:
        return []
    look = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "line": {"color": "@ink", "width": 1}}
    return [look | {"y0": place + 0.5, "y1": place + 0.5} for place in np.flatnonzero(np.diff(grid.groups)).tolist()]


def label(text: str) -> str:
    """Text for plotly with its tags escaped, since plotly would interpret some; lines are kept."""
    return escape(text, quote=False).replace("\n", "<br>")


def plain(values: NDArray[Any] | Sequence[float | None], digits: int = 5) -> list[Any]:
    """Numbers for JSON, rounded to significant digits; undefined ones are None, whole ones integers."""
    numbers = values.tolist() if isinstance(values, np.ndarray) else values
    return [None if value is None or value != value else _short(float(value), digits) for value in numbers]


def _short(value: float, digits: int) -> float | int:
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def token(colour: str) -> str:
    """A colour of the page: a name of its palette, or a variable for a fixed colour, adjusted to the mode."""
    return colour if colour.startswith("@") else f"@c{colour.removeprefix('#').lower()}"


@singledispatch
def traces_of(layer: object, visible: bool) -> list[Trace]:
    """The traces of a layer; if it is not ``visible``, a click on the legend shows it."""
    raise TypeError(layer)


def _hidden(visible: bool) -> Trace:
    return {} if visible else {"visible": "legendonly"}


@traces_of.register
def _(layer: Line, visible: bool) -> list[Trace]:
    at = thinned(len(layer.x))
    x, style = plain(layer.x[at]), layer.style
    marked = style.marker and not layer.steps and len(at) <= FEW
    trace: Trace = {
        "type": "scatter",
        "mode": "lines+markers" if marked else "lines",
        "name": label(layer.name),
        "legendgroup": layer.name,
        "x": x,
        "y": plain(layer.y[at]),
        "line": _line_look(style.colour, style.dash) | ({"shape": "hv"} if layer.steps else {}),
    }
    if marked:
        trace["marker"] = {"color": token(style.colour), "size": 6 if len(at) > 1 else 10}
        trace["marker"]["symbol"] = MARKERS[style.marker]
    if layer.texts:
        trace["text"] = [label(layer.texts[place]) for place in at.tolist()]
    band = []
    if layer.low is not None and layer.high is not None:
        edges = plain(layer.low[at]), plain(layer.high[at])
        band = [edge | {"legendgroup": layer.name} for edge in _shade(x, *edges, f"{token(style.colour)}/0.18")]
    return [one | _hidden(visible) for one in (*band, trace)]


def _shade(x: Sequence[Any], low: Sequence[Any], high: Sequence[Any], colour: str) -> list[Trace]:
    """A shaded band between two lines."""
    edge = {"type": "scatter", "mode": "lines", "x": x, "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    return [edge | {"y": low}, edge | {"y": high, "fill": "tonexty", "fillcolor": colour}]


@traces_of.register
def _(layer: Dot, visible: bool) -> list[Trace]:
    colour = token(layer.style.colour)
    halves = {"error_x": layer.x_half, "error_y": layer.y_half}
    bars = {name: {"array": plain([half]), "color": colour} for name, half in halves.items() if half}
    look: Trace = {"color": colour, "size": 10, "symbol": MARKERS[layer.style.marker] + "-open" * layer.hollow}
    dot: Trace = {"type": "scatter", "mode": "markers", "name": label(layer.name), "marker": look}
    return [dot | {"x": plain([layer.x]), "y": plain([layer.y])} | bars | _hidden(visible)]


@traces_of.register
def _(layer: Area, visible: bool) -> list[Trace]:
    at = thinned(len(layer.x))
    colour = f"{token(layer.colour)}/{layer.strength}"
    below, above = _shade(plain(layer.x[at]), plain(layer.low[at]), plain(layer.high[at]), colour)
    return [below, above | {"name": label(layer.name), "showlegend": True} | _hidden(visible)]


@traces_of.register
def _(layer: Bars, visible: bool) -> list[Trace]:
    bar = {"color": token(layer.colour), "line": {"width": 0}}
    trace = {"type": "bar", "name": label(layer.name), "x": plain(layer.x), "y": plain(layer.y), "marker": bar}
    return [trace | _hidden(visible)]


@traces_of.register
def _(layer: Wires, visible: bool) -> list[Trace]:
    at = thinned(len(layer.start), MOST_POINTS)
    start, end = layer.start[at], layer.end[at]
    ends = np.stack([start, end, np.full_like(start, math.nan)], axis=1).reshape(-1, 2)  # [3 n, 2]
    trace: Trace = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    return [trace | _places(ends) | {"line": _line_look(layer.colour, layer.dash, 1)}]


def _places(places: Floats) -> Trace:
    return {"x": plain(places[:, 0]), "y": plain(places[:, 1])}


@traces_of.register
def _(layer: Points, visible: bool) -> list[Trace]:
    at = thinned(len(layer.places), MOST_POINTS)
    look: Trace = {"symbol": MARKERS[layer.marker], "color": "@ink", "size": 13}
    if layer.values is None or layer.scale is None:
        look["line"] = {"color": "@paper", "width": 1.5}
    else:
        largest = 15 if len(at) <= 200 else 9
        shares = np.full(len(at), 0.3) if layer.sizes is None else layer.sizes[at]
        look |= _coloured(layer.values[at], layer.scale)
        look["size"] = plain(largest * np.sqrt(SMALLEST + (1 - SMALLEST) * shares), 2)
        look["line"] = {"color": "@ink", "width": 1}
    trace: Trace = {"type": "scatter", "mode": "markers", "name": label(layer.name), "marker": look}
    hover = {"text": [label(layer.texts[place]) for place in at.tolist()], "hovertemplate": "%{text}<extra></extra>"}
    return [trace | _places(layer.places[at]) | hover]


def _coloured(values: Floats, scale: Axis) -> Trace:
    """Colours of some values, with a bar that explains them."""
    values = np.log10(values) if scale.log else values
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    low = low if scale.low is None else scale.low
    bar: Trace = {"title": {"text": label(f"{scale.title} [{scale.unit}]"), "side": "top"}, "orientation": "h"}
    bar |= {"thickness": 12, "len": 0.8, "y": -0.14, "yanchor": "top", "outlinewidth": 0}
    if scale.log:
        decades = range(math.floor(low), math.ceil(high) + 1)
        bar |= {"tickvals": list(decades), "ticktext": [f"{10.0**decade:g}" for decade in decades]}
    if high <= low:
        return {"color": plain(values), "colorscale": SCALE, "cmin": low - 0.5, "cmax": low + 0.5}
    return {"color": plain(values), "colorscale": SCALE, "cmin": low, "cmax": high, "showscale": True, "colorbar": bar}


@traces_of.register
def _(layer: Grid, visible: bool) -> list[Trace]:
    n, tones = len(layer.colours), list(layer.colours.values())
    gaps = {"xgap": int(len(layer.x) <= 60), "ygap": int(len(layer.y) <= 60)}
    trace: Trace = {
        "type": "heatmap",
        "x": layer.x.tolist(),
        "y": layer.y.tolist(),
        "states": [row.tobytes().decode() for row in (layer.states + ord("0")).astype(np.uint8)],  # a digit each
        "names": list(layer.colours),
        "zmin": -0.5,
        "zmax": n - 0.5,
        "colorscale": [(place / n, tone) for number, tone in enumerate(tones) for place in (number, number + 1)],
        "showscale": False,
        "showlegend": False,
        "hovertemplate": "client %{y}, edge round %{x}: %{text}<extra></extra>",
    }
    return [trace | gaps]


def _key(name: str, colour: str) -> Trace:
    """A legend entry of a heat map."""
    marker = {"color": token(colour), "size": 12, "symbol": "square"}
    return {"type": "scatter", "mode": "markers", "name": label(name), "x": [None], "y": [None], "marker": marker}

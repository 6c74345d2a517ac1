"""Charts of the page as plain data: traces for plotly.js, a descriptive sentence, and a table of the numbers.

Colours are names of the page's palette, such as ``@blue``, which the page's script resolves for light or dark mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedradio.report.charts.chart import Absent, Area, Axis, Bars, Dot, Grid, Group, Layer, Line, Plot, thinned
from fedradio.report.charts.chart import Chart as DrawnChart
from fedradio.report.charts.costs import costs
from fedradio.report.charts.energy import energy
from fedradio.report.charts.learning import learning
from fedradio.report.page.html import Html, data_block, folded, join, paragraph, section, table, tag
from fedradio.results.quantities import QUANTITIES, axes

Trace = dict[str, Any]
Layout = dict[str, Any]
"""As in plotly, except for the names of colours."""

ROWS = 200
"""Most rows of a table of numbers."""


@dataclass(frozen=True)
class ChartView:
    """One view of a chart; ``says`` replaces the chart's sentence while it is shown."""

    traces: Sequence[Trace]
    layout: Layout = field(default_factory=dict)
    says: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart with a title, a sentence (``says``), one or more views of which a switch shows one, and its numbers."""

    identity: str
    title: str
    says: str
    views: Mapping[str, ChartView]
    numbers: Html
    legend: Html | None = None
    height: int = 340


def figure(chart: Chart) -> Html:
    """The markup of a chart: its container, text alternative, table of numbers and data."""
    title, says = f"{chart.identity}-title", f"{chart.identity}-says"
    place = tag(
        "div",
        class_="plot",
        id=chart.identity,
        role="img",
        aria_labelledby=title,
        aria_describedby=says,
        style=f"height:{chart.height}px",
    )
    views = {
        name: {"traces": list(view.traces), "layout": view.layout, "says": view.says or chart.says}
        for name, view in chart.views.items()
    }
    live = "polite" if any(view.says for view in chart.views.values()) else None
    return tag(
        "figure",
        tag("h3", chart.title, id=title),
        tag("figcaption", chart.says, id=says, aria_live=live),
        place,
        chart.legend,
        tag("div", folded("Numbers", chart.numbers), _save(chart), class_="tools"),
        data_block(f"{chart.identity}-data", views),
        class_="chart",
    )


def _save(chart: Chart) -> Html:
    label = f"Save as SVG: {chart.title}"
    return tag("button", "Save as SVG", type="button", class_="save", data_chart=chart.identity, aria_label=label)


def switch(identity: str, legend: str, options: Mapping[str, str], charts: Sequence[str]) -> Html | None:
    """Radio buttons, ``view -> label``, that choose the view of some charts; None if there is no choice."""
    if len(options) < 2:
        return None
    choices = []
    for number, (view, text) in enumerate(options.items()):
        button = tag(
            "input",
            type="radio",
            name=identity,
            id=f"{identity}-{number}",
            value=view,
            checked=number == 0,
        )
        choices.append(tag("span", button, tag("label", text, for_=f"{identity}-{number}"), class_="choice"))
    return tag("fieldset", tag("legend", legend), join(choices, " "), class_="switch", data_charts=" ".join(charts))


def absent(title: str, why: str) -> Html:
    """A title and the reason why there is no chart."""
    return tag("div", tag("h3", title), paragraph(why, class_="absent"), class_="chart")


def legend(colours: Mapping[str, str]) -> Html:
    """A legend ``label -> colour`` for charts whose legend plotly does not draw."""
    items = [
        tag("li", tag("span", class_="swatch", style=f"background:var(--{colour.removeprefix('@')})"), text)
        for text, colour in colours.items()
    ]
    return tag("ul", *items, class_="legend")


def label(text: str) -> str:
    """Text for plotly with its tags escaped, since plotly would interpret some."""
    return escape(text, quote=False)


def axis(title: str, **more: Any) -> Layout:
    """An axis with a title."""
    return {"title": {"text": title}, **more}


def whole(title: str, most: float) -> Layout:
    """An axis of whole numbers up to ``most``."""
    return axis(title, **({"dtick": 1} if most <= 12 else {}))


def line(name: str, x: Sequence[Any], y: Sequence[Any], colour: str, **more: Any) -> Trace:
    """A line; with markers if the points are few."""
    mode = "lines+markers" if len(x) <= 25 else "lines"
    shape = {"color": colour, "width": 2, **more.pop("line", {})}
    marker = {"color": colour, "size": 6} | more.pop("marker", {})
    return {
        "type": "scatter",
        "mode": mode,
        "name": label(name),
        "x": x,
        "y": y,
        "line": shape,
        "marker": marker,
    } | more


def shade(x: Sequence[Any], low: Sequence[Any], high: Sequence[Any], colour: str, group: str = "") -> list[Trace]:
    """A shaded band between two lines."""
    edge = {"type": "scatter", "mode": "lines", "x": x, "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    edge |= {"legendgroup": group} if group else {}
    return [edge | {"y": low}, edge | {"y": high, "fill": "tonexty", "fillcolor": f"{colour}/0.18"}]


def plain(values: NDArray[Any] | Sequence[float | None], digits: int = 5) -> list[Any]:
    """Numbers for JSON, rounded to significant digits; undefined ones are None, whole ones integers."""
    numbers = values.tolist() if isinstance(values, np.ndarray) else values
    return [None if value is None or value != value else _short(float(value), digits) for value in numbers]


def _short(value: float, digits: int) -> float | int:
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def numbers_table(caption: str, head: Sequence[str], rows: Rows, what: str) -> Html:
    """The table of a chart's numbers, thinned if there are many; ``what`` names the rows, such as ``clients``."""
    chosen = thinned(len(rows), ROWS)
    title = caption if len(chosen) == len(rows) else f"{caption}; {len(chosen)} of {len(rows)} {what}, evenly spaced"
    return table(title, head, [rows[number] for number in chosen.tolist()])


@dataclass(frozen=True)
class MadeRows:
    """Rows of a table that are made on demand: ``make(0)`` to ``make(count - 1)``."""

    count: int
    make: Callable[[int], Sequence[str | None]]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> Sequence[str | None]:
        return self.make(number)


Rows = Sequence[Sequence[str | None]] | MadeRows


VISIBLE = 8
"""Number of lines shown at first; a click on the legend shows others."""


def charts(found: Sequence[DrawnChart | Absent], wide: bool = False) -> list[Html]:
    """Charts side by side, and sentences on those that cannot be drawn, once for each reason."""
    drawn = [chart for chart in found if isinstance(chart, DrawnChart)]
    whys = dict.fromkeys(one.why for one in found if isinstance(one, Absent))
    texts = [paragraph(f"{why[0].upper()}{why[1:]}.", class_="absent" if not drawn else "aside") for why in whys]
    pictures = [figure(shown(chart)) for chart in drawn]
    return [*texts, *(pictures if wide else [tag("div", *pictures, class_="pair")] * bool(pictures))]


def learning_section(groups: Sequence[Group]) -> Html:
    """The section of learning curves, with a switch for their axis."""
    known = [group for group in groups if group.runs]
    found = [learning(known, name) for name in ("accuracy", "loss")] if known else []
    drawn = [chart for chart in found if isinstance(chart, DrawnChart)]
    if not drawn:
        why = "No evaluation is on record." if known else "No run is complete yet."
        return section("learning", "Learning", paragraph(why, class_="absent"))
    options = {name: QUANTITIES[name].title for name in drawn[0].plots}
    missing = [each.absent for each in axes() if each.absent and each.name not in options]
    return section(
        "learning",
        "Learning",
        switch("against", "Plot against", options, [f"{chart.name}-chart" for chart in drawn]),
        paragraph(" ".join(missing), class_="aside") if missing else None,
        *charts(drawn),
    )


def energy_section(groups: Sequence[Group], *more: DrawnChart | Absent) -> Html:
    """The section of energy, with what it leaves out."""
    without = [group.label for group in groups if group.runs and not all(run.joules for run in group.runs)]
    text = f"Variants with undefined energy: {', '.join(without)}."
    aside = paragraph(text, class_="aside") if 0 < len(without) < len(groups) else None
    return section("energy", "Energy", aside, *charts([*energy(groups), *more]))


def cost_section(groups: Sequence[Group]) -> Html:
    """The section of costs, with a switch for the cost."""
    found = costs(groups)
    names = [name for chart in found if isinstance(chart, DrawnChart) for name in chart.plots]
    options = {name: QUANTITIES[name].title for name in names}
    return section(
        "cost", "Cost", switch("cost-of", "Cost in", options, [f"{c.name}-chart" for c in found]), *charts(found)
    )


def shown(chart: DrawnChart) -> Chart:
    """A chart as traces and layouts of plotly."""
    views = {name or "all": ChartView(*_drawn(plot)) for name, plot in chart.plots.items()}
    numbers, lines = chart.numbers, max(len(plot.layers) for plot in chart.plots.values())
    more = f" The first {VISIBLE} of {lines} are shown; click on the legend to show or hide each."
    table = numbers_table(numbers.title, numbers.head, MadeRows(numbers.count, numbers.row), numbers.what)
    return Chart(
        f"{chart.name}-chart", chart.title, chart.says + more * (lines > VISIBLE), views, table, height=chart.height
    )


def _drawn(plot: Plot) -> tuple[list[Trace], Layout]:
    traces = [trace for place, layer in enumerate(plot.layers) for trace in _traces(layer, place < VISIBLE)]
    grids = [layer for layer in plot.layers if isinstance(layer, Grid)]
    keys = [line(name, [None], [None], colour) for grid in grids for name, colour in grid.colours.items()]
    layout: Layout = {"xaxis": _layout(plot.x), "yaxis": _layout(plot.y), "showlegend": len(traces + keys) > 1}
    if grids:
        layout["yaxis"] |= {"autorange": "reversed", "type": "category"}
    return traces + keys, layout | {"barmode": "stack"}


def _layout(one: Axis) -> Layout:
    title = f"{one.title} [{one.unit}]" if one.unit else one.title
    limits = {} if one.low is None or one.high is None else {"range": [one.low, one.high]}
    log = {"type": "log", "tickformat": "~s"} if one.log else {}
    return axis(title + ", logarithmic" * one.log, **limits, **log, **({"rangemode": "tozero"} if one.zero else {}))


def token(colour: str) -> str:
    """A colour of the page: a name of its palette, or a variable for a fixed colour, adjusted to the mode."""
    return colour if colour.startswith("@") else f"@c{colour.removeprefix('#').lower()}"


def _traces(layer: Layer, visible: bool) -> list[Trace]:
    hidden: Trace = {} if visible else {"visible": "legendonly"}
    if isinstance(layer, Line):
        at = thinned(len(layer.x))
        x, colour, style = plain(layer.x[at]), token(layer.style.colour), layer.style
        marker = {"symbol": style.plotly_marker} if style.marker else {}
        dash = {"dash": style.plotly_dash} | ({"shape": "hv"} if layer.steps else {})
        mode = {"mode": "lines"} if layer.steps or not style.marker else {}
        trace = line(layer.name, x, plain(layer.y[at]), colour, line=dash, marker=marker, legendgroup=layer.name) | mode
        band = []
        if layer.low is not None and layer.high is not None:
            band = shade(x, plain(layer.low[at]), plain(layer.high[at]), colour, layer.name)
        return [one | hidden for one in (*band, trace)]
    if isinstance(layer, Dot):
        colour = token(layer.style.colour)
        halves = {"error_x": layer.x_half, "error_y": layer.y_half}
        bars = {name: {"array": plain([half]), "color": colour} for name, half in halves.items() if half}
        look: Trace = {"color": colour, "size": 10, "symbol": layer.style.plotly_marker}
        dot: Trace = {"type": "scatter", "mode": "markers", "name": label(layer.name), "marker": look}
        return [dot | {"x": plain([layer.x]), "y": plain([layer.y])} | bars | hidden]
    if isinstance(layer, Area):
        x, low, high = plain(layer.x), plain(layer.low), plain(layer.high)
        below, above = shade(x, low, high, token(layer.colour))
        colour = f"{token(layer.colour)}/{layer.strength}"
        return [below, above | {"name": layer.name, "showlegend": True, "fillcolor": colour}]
    if isinstance(layer, Bars):
        bar = {"color": token(layer.colour), "line": {"width": 0}}
        return [{"type": "bar", "name": layer.name, "x": plain(layer.x), "y": plain(layer.y), "marker": bar} | hidden]
    return [_heat_map(layer)]


def _heat_map(grid: Grid) -> Trace:
    n, tones = len(grid.colours), list(grid.colours.values())
    gaps = {"xgap": int(len(grid.x) <= 60), "ygap": int(len(grid.y) <= 60)}
    return {
        "type": "heatmap",
        "x": grid.x.tolist(),
        "y": grid.y.tolist(),
        "states": [row.tobytes().decode() for row in (grid.states + ord("0")).astype(np.uint8)],  # a digit each
        "names": list(grid.colours),
        "zmin": -0.5,
        "zmax": n - 0.5,
        "colorscale": [(place / n, tone) for number, tone in enumerate(tones) for place in (number, number + 1)],
        "showscale": False,
        "hovertemplate": "client %{y}, edge round %{x}: %{text}<extra></extra>",
    } | gaps

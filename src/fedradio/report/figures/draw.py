"""Charts as matplotlib figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fedradio.report.charts.chart import (
    Area,
    Axis,
    Bars,
    Dot,
    Grid,
    Layer,
    Level,
    Line,
    Plot,
    Points,
    Wires,
    name_lines,
)
from fedradio.report.figures.axes import (
    CLOCK,
    COLUMN_IN,
    LETTERS,
    column,
    legend,
    line,
    literal,
    printed,
    scaled,
    whole_numbers,
)
from fedradio.report.style import Dash, Style

PALETTE = {
    "@ink": "#000000",
    "@soft": "#707070",
    "@grid": "#CCCCCC",
    "@faint": "#E2E2E2",
    "@blue": "#0072B2",
    "@orange": "#E69F00",
    "@green": "#009E73",
    "@red": "#D55E00",
    "@purple": "#CC79A7",
    "@sky": "#56B4E9",
    "@yellow": "#F0E442",
}
"""Colours of the page on paper: those of Okabe and Ito."""

MOST_GROUPS = 12
"""Most groups of rows of a grid that are separated by lines."""

FEW = 300
"""Most points of a map that are drawn with outlines, and with their lines as vectors."""

NAME_LETTERS = 24
"""Most letters of a line of a name on an axis."""

PANEL_IN = 2.0
"""Height of a panel, in inches."""

FEW_BARS = 12
"""Most bars that are drawn apart."""

ROOM = 1.05
"""Limit of an axis that begins at 0, relative to the largest value."""

SCALE = colormaps["viridis"].with_extremes(bad="0.85")
"""Colours of points; grey without a value."""

SMALLEST = 0.12
"""Area of the smallest point, relative to the largest."""


def draw(plot: Plot, names: Mapping[str, str] | None = None) -> Figure:
    """The figure of a plot; ``names`` replace labels in its legend, and their formulas are typeset."""
    with printed():
        figure, axes = column(_height(plot))
        _fill(axes, plot, names or {})
        legend(figure, axes, _keys(plot.layers), names or {})
    return figure


def draw_panels(plots: Sequence[Plot], columns: int = 2) -> Figure:
    """One figure with a panel for each plot, in ``columns``; a panel with several lines has its own legend."""
    with printed():
        rows = -(-len(plots) // columns)
        figure = Figure(figsize=(COLUMN_IN * columns, PANEL_IN * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).flatten()
        for axes, plot in zip(panels, plots, strict=False):
            _fill(axes, plot, {})
            if len(plot.layers) > 1:
                axes.legend(frameon=False)
        for axes in panels[len(plots) :]:
            axes.remove()
    return figure


def _fill(axes: Axes, plot: Plot, names: Mapping[str, str]) -> None:
    """Draw a plot into axes, without a legend."""
    x_ends, y_ends = _ends(plot.layers, "x"), _ends(plot.layers, "y")
    (x_factor, x_unit), (y_factor, y_unit) = _unit(plot.x, x_ends[1]), _unit(plot.y, y_ends[1])
    for place, layer in enumerate(plot.layers):
        add(layer, axes, (x_factor, y_factor), place / len(plot.layers))
    axes.set_xlabel(_title(plot.x.title, x_unit))
    axes.set_ylabel(_title(plot.y.title, y_unit))
    _scale(axes, "x", plot.x, x_factor, x_ends[0])
    _scale(axes, "y", plot.y, y_factor, y_ends[0])
    _name_ticks(axes, plot, names)
    if plot.equal:
        axes.grid(visible=False)
        axes.set_aspect("equal")
        axes.margins(0.04)
        axes.tick_params(length=2)
    _name_groups(axes, plot.layers)


def _height(plot: Plot) -> float:
    """Height in inches: of maps by their shape, of named rows by their number."""
    if plot.equal:
        places = np.concatenate([layer.places for layer in plot.layers if isinstance(layer, Points)])
        width, height = np.ptp(places, axis=0)
        return 1.0 + 2.8 * float(np.clip(height / width if width > 0 else 1.0, 0.3, 1.15))
    if plot.y.names:
        return 0.7 + 0.2 * sum(name_lines(name, NAME_LETTERS).count("\n") + 1 for name in plot.y.names)
    return 2.6 if any(isinstance(layer, Grid) for layer in plot.layers) else 2.3


def _ends(layers: Sequence[Layer], axis: str) -> tuple[float, float]:
    """The smallest and the largest value of lines, markers and stacked bars along an axis; 0 and 0 without any."""
    bars = [layer for layer in layers if isinstance(layer, Bars)]
    values = [np.atleast_1d(getattr(layer, axis)) for layer in layers if isinstance(layer, Line | Dot)]
    values += [np.sum([layer.y for layer in bars], axis=0)] if bars and axis == "y" else []
    known = np.concatenate([np.zeros(0), *values])
    known = known[~np.isnan(known)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


def _unit(axis: Axis, most: float) -> tuple[float, str]:
    """The divisor of an axis and its unit, with a prefix where the unit takes one."""
    if axis.unit == "s":
        return next((size, unit) for size, (start, unit) in CLOCK.items() if most >= start)
    return scaled(most, axis.unit) if axis.unit in ("J", "bit", "B") else (1.0, axis.unit)


def _title(title: str, unit: str) -> str:
    return literal(f"{title} ({unit})" if unit else title)


def _scale(axes: Axes, name: str, axis: Axis, factor: float, least: float) -> None:
    """Scale, limits and ticks of the axis ``name``, x or y, whose smallest value is ``least``."""
    drawn = axes.xaxis if name == "x" else axes.yaxis
    set_limits = axes.set_xlim if name == "x" else axes.set_ylim
    if axis.log:
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    if axis.low is not None or axis.high is not None:
        set_limits(*(None if end is None else end / factor for end in (axis.low, axis.high)))
    elif axis.zero and not axis.log:
        high = float((axes.dataLim.intervalx if name == "x" else axes.dataLim.intervaly)[1])
        set_limits(min(0.0, ROOM * least / factor), max(0.0, ROOM * high) or 1.0)
    if axis.whole:
        whole_numbers(drawn)


def _name_ticks(axes: Axes, plot: Plot, names: Mapping[str, str]) -> None:
    """Names in place of the numbers of an axis; slanted below it if they are long."""
    for axis, drawn in ((plot.x, axes.xaxis), (plot.y, axes.yaxis)):
        if axis.names:
            texts = [names.get(name) or literal(name_lines(name, NAME_LETTERS)) for name in axis.names]
            drawn.set_ticks(range(len(texts)), texts)
            drawn.set_tick_params(length=0)
    if sum(map(len, plot.x.names)) > LETTERS / 2:
        axes.tick_params(axis="x", labelrotation=20)


def _keys(layers: Sequence[Layer]) -> list[Artist] | None:
    """Legend entries of layers that have none of their own; None without any."""
    keys: list[Artist] = []
    for layer in layers:
        if isinstance(layer, Grid):
            keys += [Patch(color=ink(colour), label=name) for name, colour in layer.colours.items()]
        if isinstance(layer, Points) and layer.values is None:
            keys.append(_key(layer.name, layer.marker, 5.5, "black"))
    for layer in layers:
        if isinstance(layer, Points) and layer.keys is not None:
            largest = _largest_area(len(layer.places))
            for size, name in layer.keys.items():
                keys.append(_key(name, layer.marker, float(np.sqrt(largest * _area(size))), "0.55"))
    return keys or None


def _key(name: str, marker: str, size: float, colour: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, markersize=size, color=colour, label=name)


def _name_groups(axes: Axes, layers: Sequence[Layer]) -> None:
    """Lines between the groups of a grid's rows, and their numbers in place of the rows'."""
    for grid in (layer for layer in layers if isinstance(layer, Grid)):
        starts = np.r_[0, np.flatnonzero(np.diff(grid.groups)) + 1, len(grid.groups)]
        if not 2 < len(starts) <= MOST_GROUPS + 1:
            continue
        for start in starts[1:-1]:
            axes.axhline(start - 0.5, color="black", linewidth=0.5)
        axes.set_yticks((starts[:-1] + starts[1:] - 1) / 2, [str(grid.groups[start]) for start in starts[:-1]])
        axes.set_ylabel("Clients of edge")


def ink(colour: str) -> str:
    """A colour on paper."""
    return PALETTE.get(colour, colour)


def _dashes(dash: Dash) -> Any:
    return (0, dash) if dash else "-"


Factors = tuple[float, float]
"""What the values of x and y are divided by."""


@singledispatch
def add(layer: object, axes: Axes, factors: Factors, phase: float) -> None:
    """Draw a layer; ``phase`` shifts its markers."""
    raise TypeError(layer)


@add.register
def _(layer: Line, axes: Axes, factors: Factors, phase: float) -> None:
    look = Style(ink(layer.style.colour), layer.style.dash, layer.style.marker)
    x, drawstyle = layer.x / factors[0], "steps-post" if layer.steps else "default"
    axes.plot(x, layer.y / factors[1], label=layer.name, drawstyle=drawstyle, **line(look, len(x), phase))
    if layer.low is not None and layer.high is not None:
        low, high = layer.low / factors[1], layer.high / factors[1]
        axes.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)


@add.register
def _(layer: Dot, axes: Axes, factors: Factors, phase: float) -> None:
    x, y = layer.x / factors[0], layer.y / factors[1]
    x_half, y_half = (
        None if half is None else half / factor
        for half, factor in zip((layer.x_half, layer.y_half), factors, strict=True)
    )
    colour, size = ink(layer.style.colour), 8 if layer.style.marker == "*" else 5
    axes.errorbar(x, y, y_half, x_half, fmt="none", ecolor=colour, elinewidth=1.0, capsize=2)
    look: dict[str, Any] = {"color": colour, "marker": layer.style.marker, "linestyle": "", "markersize": size}
    look |= {"markerfacecolor": "none"} if layer.hollow else {}
    axes.plot([x], [y], label=layer.name, zorder=3, **look)


@add.register
def _(layer: Area, axes: Axes, factors: Factors, phase: float) -> None:
    low, high, colour = layer.low / factors[1], layer.high / factors[1], ink(layer.colour)
    keys: dict[str, Any] = {"color": colour, "alpha": layer.strength, "linewidth": 0, "label": layer.name}
    axes.fill_between(layer.x / factors[0], low, high, **keys)


@add.register
def _(layer: Level, axes: Axes, factors: Factors, phase: float) -> None:
    keys: dict[str, Any] = {"color": ink(layer.colour), "linewidth": 0.7, "linestyle": _dashes(layer.dash), "zorder": 1}
    keys |= {"label": layer.name} if layer.name else {}
    if layer.upright:
        axes.axvline(layer.at / factors[0], **keys)
    else:
        axes.axhline(layer.at / factors[1], **keys)


@add.register
def _(layer: Bars, axes: Axes, factors: Factors, phase: float) -> None:
    floor = np.zeros(len(layer.x))
    for below in axes.containers:
        floor += [bar.get_height() for bar in below]
    width = float(np.diff(layer.x).mean()) if len(layer.x) > 1 else 1.0
    width *= 0.8 if len(layer.x) <= FEW_BARS else 1.0
    axes.bar(layer.x, layer.y / factors[1], width, floor, color=ink(layer.colour), linewidth=0, label=layer.name)
    axes.set_axisbelow(True)
    axes.margins(x=0.02)


@add.register
def _(layer: Grid, axes: Axes, factors: Factors, phase: float) -> None:
    palette = np.array([to_rgb(ink(colour)) for colour in layer.colours.values()])
    extent = (layer.x[0] - 0.5, layer.x[-1] + 0.5, len(layer.y) - 0.5, -0.5)
    axes.imshow(palette[layer.states], aspect="auto", interpolation="nearest", extent=extent)
    axes.grid(visible=False)
    axes.spines[["top", "right"]].set_visible(True)
    axes.tick_params(length=2)


@add.register
def _(layer: Wires, axes: Axes, factors: Factors, phase: float) -> None:
    lines = LineCollection(list(np.stack([layer.start, layer.end], axis=1)), zorder=1)
    lines.set(color=ink(layer.colour), linestyle=_dashes(layer.dash), rasterized=len(layer.start) > FEW)
    lines.set_linewidth(float(np.clip(150 / len(layer.start), 0.12, 0.5)))
    axes.add_collection(lines)


@add.register
def _(layer: Points, axes: Axes, factors: Factors, phase: float) -> None:
    x, y = layer.places.T
    if layer.values is None or layer.scale is None:
        size = float(np.clip(40 / len(x) ** 0.5, 3.5, 6.5))
        axes.plot(x, y, color="black", linestyle="", marker=layer.marker, markersize=size, mec="white", mew=0.5)
        return
    area = np.full(len(x), 0.5) if layer.sizes is None else _area(layer.sizes)
    factor, unit = _unit(layer.scale, float(np.nanmax(layer.values, initial=0.0)))
    scale = replace(layer.scale, unit=unit)
    colours: dict[str, Any] = {"norm": LogNorm()} if scale.log else {"vmin": scale.low}
    areas = _largest_area(len(x)) * area
    dots = axes.scatter(x, y, s=areas, c=layer.values / factor, cmap=SCALE, plotnonfinite=True, zorder=2, **colours)
    dots.set(linewidths=0.3 if len(x) <= FEW else 0.0, edgecolors="0.2")
    _colour_bar(axes, dots, scale)


def _colour_bar(axes: Axes, dots: PathCollection, scale: Axis) -> None:
    figure = axes.get_figure(root=True)
    assert figure is not None
    bar = figure.colorbar(dots, ax=axes, location="bottom", fraction=0.04, pad=0.02, aspect=45)
    bar.set_label(_title(scale.title, scale.unit))


def _largest_area(points: int) -> float:
    """Area of the largest of so many markers, in square points."""
    return float(np.clip(6000 / points, 7, 55))


def _area(share: Any) -> Any:
    """Areas of markers by their share of the largest."""
    return SMALLEST + (1 - SMALLEST) * share

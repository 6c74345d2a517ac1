"""Charts as matplotlib figures."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fedradio.report.charts.chart import Area, Axis, Bars, Dot, Grid, Line, Plot
from fedradio.report.figures.axes import CLOCK, column, legend, line, literal, printed, scaled, whole_numbers
from fedradio.report.style import Style

PALETTE = {
    "@ink": "#000000",
    "@soft": "#707070",
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


def draw(plot: Plot) -> Figure:
    """The figure of a plot."""
    with printed():
        figure, axes = column()
        ends = [float(np.nanmax(layer.x)) for layer in plot.layers if isinstance(layer, Line | Dot)]
        factor, unit = _unit(plot.x, max(ends, default=0.0))
        for place, layer in enumerate(plot.layers):
            add(layer, axes, factor, place / len(plot.layers))
        axes.set_xscale("log" if plot.x.log else "linear")
        axes.set_yscale("log" if plot.y.log else "linear")
        for axis, set_limits in ((plot.x, axes.set_xlim), (plot.y, axes.set_ylim)):
            if (axis.low, axis.high) != (None, None) or axis.zero:
                set_limits(0 if axis.zero and axis.low is None else axis.low, axis.high)
        if plot.level is not None:
            axes.axhline(plot.level, color="0.4", linewidth=0.6, linestyle=(0, (1, 2)), zorder=1)
        for axis, drawn in ((plot.x, axes.xaxis), (plot.y, axes.yaxis)):
            if axis.whole:
                whole_numbers(drawn)
        axes.set_xlabel(_title(plot.x.title, unit))
        axes.set_ylabel(_title(plot.y.title, plot.y.unit))
        grids = [layer for layer in plot.layers if isinstance(layer, Grid)]
        keys = [Patch(color=ink(colour), label=name) for grid in grids for name, colour in grid.colours.items()]
        legend(figure, axes, keys or None)
    return figure


def _unit(axis: Axis, most: float) -> tuple[float, str]:
    """The divisor of an axis and its unit, with a prefix where the unit takes one."""
    if axis.unit == "s":
        return next((size, unit) for size, (start, unit) in CLOCK.items() if most >= start)
    return scaled(most, axis.unit) if axis.unit in ("J", "bit", "B") else (1.0, axis.unit)


def _title(title: str, unit: str) -> str:
    return literal(f"{title} ({unit})" if unit else title)


def ink(colour: str) -> str:
    """A colour on paper."""
    return PALETTE.get(colour, colour)


@singledispatch
def add(layer: object, axes: Axes, factor: float, phase: float) -> None:
    """Draw a layer; ``factor`` divides ``x``, ``phase`` shifts markers."""
    raise TypeError(layer)


@add.register
def _(layer: Line, axes: Axes, factor: float, phase: float) -> None:
    look = Style(ink(layer.style.colour), layer.style.dash, layer.style.marker)
    drawstyle = "steps-post" if layer.steps else "default"
    keys = line(look, len(layer.x), phase)
    axes.plot(layer.x / factor, layer.y, label=layer.name, drawstyle=drawstyle, **keys)
    if layer.low is not None and layer.high is not None:
        axes.fill_between(layer.x / factor, layer.low, layer.high, color=look.colour, alpha=0.15, linewidth=0)


@add.register
def _(layer: Dot, axes: Axes, factor: float, phase: float) -> None:
    x_half = None if layer.x_half is None else layer.x_half / factor
    look: dict[str, Any] = {"color": ink(layer.style.colour), "marker": layer.style.marker, "linestyle": ""}
    axes.errorbar(layer.x / factor, layer.y, layer.y_half, x_half, label=layer.name, **look)


@add.register
def _(layer: Area, axes: Axes, factor: float, phase: float) -> None:
    x, colour = layer.x / factor, ink(layer.colour)
    axes.fill_between(x, layer.low, layer.high, color=colour, alpha=layer.strength, linewidth=0, label=layer.name)


@add.register
def _(layer: Bars, axes: Axes, factor: float, phase: float) -> None:
    floor = np.zeros(len(layer.x))
    for below in axes.containers:
        floor += [bar.get_height() for bar in below]
    width = float(np.diff(layer.x).mean()) if len(layer.x) > 1 else 1.0
    axes.bar(layer.x / factor, layer.y, width, floor, color=ink(layer.colour), linewidth=0, label=layer.name)


@add.register
def _(layer: Grid, axes: Axes, factor: float, phase: float) -> None:
    palette = np.array([to_rgb(ink(colour)) for colour in layer.colours.values()])
    extent = (layer.x[0] - 0.5, layer.x[-1] + 0.5, len(layer.y) - 0.5, -0.5)
    axes.imshow(palette[layer.states], aspect="auto", interpolation="nearest", extent=extent)
    axes.grid(visible=False)

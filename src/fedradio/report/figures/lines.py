"""Curves with intervals (matplotlib)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.figure import Figure

from fedradio.report.figures.axes import (
    COLOURS,
    axis,
    column,
    legend,
    line,
    metric_axis,
    printed,
    whole_numbers,
)
from fedradio.report.figures.design import COLUMN, COLUMN_IN, Design
from fedradio.report.style import Style
from fedradio.results.figure_options import Limits
from fedradio.results.run import Run
from fedradio.results.statistics import Band

Curve = tuple[Sequence[float], Sequence[float]]


def curves(series: Mapping[str, Curve], x_label: str, y_label: str, title: str = "") -> Figure:
    """Lines ``name -> (x, y)``; known algorithms keep their colour."""
    figure = Figure(figsize=(COLUMN_IN * 1.6, COLUMN_IN), layout="constrained")
    axes = figure.subplots()
    for name, (x, y) in series.items():
        axes.plot(x, y, label=name, linewidth=1.6, color=COLOURS.get(name))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return figure


def curves_figure(
    bands: Mapping[str, Band],
    looks: Mapping[str, Style],
    metric: str = "accuracy",
    against: str = "rounds",
    target: float | None = None,
    runs: Iterable[Run] = (),
    design: Design = COLUMN,
) -> Figure:
    """Mean curves ``label -> band`` with their intervals where there are several seeds; ``runs`` declare the unit of
    a metric that is not in the table of quantities."""
    with printed(design):
        figure, axes = column(design)
        most = max(float(band.x[-1]) for band in bands.values())
        factor, x_label = axis(against, most if design.x_limits[1] is None else design.x_limits[1])
        scale, y_label = metric_axis(metric, runs)
        for number, (label, band) in enumerate(bands.items()):
            x, look = band.x / factor, looks[label]
            axes.plot(x, scale * band.mean, label=label, **line(look, len(x), number / len(bands), design))
            if band.n > 1:
                low, high = scale * band.low, scale * band.high
                axes.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)
        if target is not None:
            axes.axhline(scale * target, color="0.4", linewidth=0.6, linestyle=(0, (1, 2)), zorder=1)
        if scale == 100:
            axes.set_ylim(max(axes.get_ylim()[0], 0), min(axes.get_ylim()[1], 100.5))
        axes.set_xlim(*_scaled(design.x_limits, 1 / factor))
        axes.set_ylim(*_scaled(design.y_limits, scale))
        if against == "rounds":
            whole_numbers(axes.xaxis)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        legend(figure, axes, design=design)
    return figure


def _scaled(limits: Limits, scale: float) -> Limits:
    """Limits in the unit of an axis."""
    low, high = (None if limit is None else scale * limit for limit in limits)
    return low, high

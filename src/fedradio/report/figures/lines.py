"""Line figures (matplotlib): curves with intervals, distributions of energy, accuracies per client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from fedradio.report.figures.axes import (
    COLOURS,
    axis,
    column,
    legend,
    line,
    metric_axis,
    printed,
    scaled,
    whole_numbers,
)
from fedradio.report.figures.design import COLUMN, COLUMN_IN, Design
from fedradio.report.style import Style
from fedradio.results.figure_options import Limits
from fedradio.results.run import Floats, Run
from fedradio.results.statistics import Band

MOST_POINTS = 1000
"""Of a distribution."""

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


def energy_cdf_figure(
    joules: Mapping[str, Floats], looks: Mapping[str, Style], per: str = "client", design: Design = COLUMN
) -> Figure:
    """Distributions ``label -> joules [n]``, one number ``per`` client, or per client and edge round."""
    with printed(design):
        figure, axes = column(design)
        factor, unit = scaled(max(float(values.max()) for values in joules.values()), "J")
        for number, (label, values) in enumerate(joules.items()):
            points = min(len(values), MOST_POINTS)
            levels = np.arange(1, points + 1) / points
            x = np.quantile(values, levels, method="inverted_cdf") / factor
            keys = line(looks[label], points, number / len(joules), design)
            axes.plot(x, 100 * levels, label=label, drawstyle="steps-post", **keys)
        axes.set_xlim(left=0)
        axes.set_ylim(0, 102)
        axes.set_xlabel(f"Energy per {per} ({unit})")
        axes.set_ylabel("Cumulative share (%)")
        legend(figure, axes, design=design)
    return figure


def spread_figure(
    values: Mapping[str, Floats], looks: Mapping[str, Style], metric: str = "accuracy", design: Design = COLUMN
) -> Figure:
    """Metrics per client ``label -> [n]``, from the worst to the best client."""
    with printed(design):
        figure, axes = column(design)
        scale, y_label = metric_axis(metric)
        for number, (label, some) in enumerate(values.items()):
            x = 100 * (np.arange(len(some)) + 0.5) / len(some)
            axes.plot(x, scale * np.sort(some), label=label, **line(looks[label], len(x), number / len(values), design))
        axes.set_xlim(0, 100)
        axes.set_xlabel("Clients, from worst to best (%)")
        axes.set_ylabel(y_label)
        legend(figure, axes, design=design)
    return figure

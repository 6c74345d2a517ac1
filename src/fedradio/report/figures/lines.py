"""Curves with intervals (matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from fedradio.report.figures.axes import COLOURS, COLUMN_IN

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

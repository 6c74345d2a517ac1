"""Figures for papers and pages (matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

COLUMN_IN = 3.5
"""Width of a column of a two-column paper, in inches."""

COLOURS = {
    "fedavg": "#0072B2",
    "fedprox": "#E69F00",
    "fednova": "#009E73",
    "scaffold": "#D55E00",
    "central": "#555555",
}
"""One colour per algorithm, everywhere (Okabe and Ito's palette, safe for colour-blind readers)."""

Curve = tuple[Sequence[float], Sequence[float]]


def curves(series: Mapping[str, Curve], x_label: str, y_label: str, title: str = "") -> Figure:
    """Lines ``name -> (x, y)`` at column width; known algorithms keep their colour."""
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


def save(figure: Figure, path: Path) -> None:
    """Write PNG or PDF, by the file's ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=200)

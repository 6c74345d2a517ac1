"""Message sequence chart of a request under the privacy protocol (matplotlib)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedradio.privacy.steps import PARTIES, Step, Walk

WIDTH_IN, STEP_IN = 7.0, 0.26
"""Width of a figure over both columns of a paper, and the height of a step, in inches."""

NAMES = {"UE": "client (UE)", "BS": "base station", "ISP": "ISP cloud", "CSP": "provider (CSP)", "ES": "edge server"}
COLOURS = {"UE": "#0072B2", "BS": "#E69F00", "ISP": "#D55E00", "CSP": "#009E73", "ES": "#CC79A7"}
"""One colour per party, distinguishable for colour-blind readers; arrows have the colour of their sender."""


def sequence_figure(walk: Walk) -> Figure:
    """Lifelines of the five parties and the numbered steps of a request, with octets and milliseconds."""
    rows = len(walk.steps)
    figure = Figure(figsize=(WIDTH_IN, STEP_IN * (rows + 2)), layout="constrained")
    axes = figure.subplots()
    axes.set_xlim(-0.55, len(PARTIES) + 0.35)
    axes.set_ylim(rows + 0.5, -1.4)
    axes.axis("off")
    for x, party in enumerate(PARTIES):
        axes.plot([x, x], [-0.4, rows], color="0.75", linewidth=0.8, zorder=1)
        axes.text(x, -0.8, NAMES[party], ha="center", va="center", fontsize=8, color=COLOURS[party], weight="bold")
    for at, title in ((len(PARTIES) - 0.28, "octets"), (len(PARTIES) + 0.3, "ms")):
        axes.text(at, -0.8, title, ha="right", va="center", fontsize=7, color="0.3")
    for y, step in enumerate(walk.steps):
        _draw(axes, y, step)
    return figure


def _draw(axes: Axes, y: int, step: Step) -> None:
    """One step: an arrow with its label above it, or a dot with its text beside it."""
    x, colour = PARTIES.index(step.sender), COLOURS[step.sender]
    axes.text(-0.5, y, step.number.replace("$", r"\$"), ha="left", va="center", fontsize=7, weight="bold")
    if step.receiver is None:
        axes.plot([x], [y], marker="o", markersize=5, color=colour, zorder=3)
        side = -1 if x == len(PARTIES) - 1 else 1
        align = "right" if side < 0 else "left"
        axes.text(x + 0.07 * side, y, step.what, ha=align, va="center", fontsize=7, style="italic", zorder=4)
    else:
        to = PARTIES.index(step.receiver)
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (to, y), (x, y), arrowprops=style, zorder=2)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes.text((x + to) / 2, y, step.what, ha="center", va="center", fontsize=7, bbox=box, zorder=4)
    last = len(PARTIES)
    octets = "" if step.octets is None else f"{step.octets:,}"
    axes.text(last - 0.28, y, octets, ha="right", va="center", fontsize=7)
    axes.text(last + 0.3, y, f"{step.ms:.2f}", ha="right", va="center", fontsize=7)

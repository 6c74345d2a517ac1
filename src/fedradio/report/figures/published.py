"""Reproduced figures (matplotlib) at column width; published values are hollow or dashed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedradio.report.charts.published import PLOTS, Picture
from fedradio.report.figures.axes import COLUMN_IN, column, legend, printed, save_figure
from fedradio.report.figures.draw import draw as draw_plot
from fedradio.report.style import STYLES

PALETTE = tuple(look.colour for look in STYLES.values())
"""Colours of anything that is not an algorithm."""


def save_picture(picture: Picture, stem: Path) -> list[Path]:
    """Draw a picture into a PDF and a PNG file; none if no row has data."""
    if not picture["series"]:
        return []
    files = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".pdf", ".png")]
    figure = draw(picture)
    for file in files:
        save_figure(figure, file)
    return files


def draw(picture: Picture) -> Figure:
    """Draw the data of a published figure, by its kind."""
    show = picture["show"]
    if show in PLOTS:
        return draw_plot(PLOTS[show](picture))
    with printed():
        return DRAW[show](picture)


def _bars(picture: Picture) -> Figure:
    """One group per row, one bar per column; published values are hollow."""
    figure, axes = column()
    series = picture["series"]
    keys = list(series[0]["bars"])
    width = 0.8 / len(keys)
    for number, key in enumerate(keys):
        at = np.arange(len(series)) + (number - (len(keys) - 1) / 2) * width
        bars = [row["bars"][key] for row in series]
        ours, half, theirs = (
            [math.nan if bar[name] is None else bar[name] for bar in bars] for name in ("mean", "half", "published")
        )
        axes.bar(at, ours, 0.9 * width, color=PALETTE[number], label=bars[0]["title"])
        axes.errorbar(at, ours, half, linestyle="", color="black", linewidth=0.8, capsize=2)
        axes.bar(at, theirs, 0.9 * width, facecolor="none", edgecolor="black", linewidth=0.8, linestyle="--")
    axes.set_xticks(range(len(series)), [row["label"] for row in series], rotation=30, ha="right")
    everything = [bar for row in series for bar in row["bars"].values()]
    units = {bar["unit"] for bar in everything}
    title = everything[0]["title"].capitalize() if len(keys) == 1 else ""
    axes.set_ylabel(f"{title} ({units.pop()})".strip() if len(units) == 1 and units != {""} else title)
    published = any(bar["published"] is not None for bar in everything)
    if published:
        axes.bar([0], [0], facecolor="none", edgecolor="black", linewidth=0.8, linestyle="--", label="published")
    legend(figure, axes)
    return figure


def _counts(picture: Picture) -> Figure:
    """One panel per row: edge rounds in which every client was eligible, and selected."""
    figure, panels = _panels(len(picture["series"]), 1.1)
    for number, (row, axes) in enumerate(zip(picture["series"], panels, strict=True)):
        clients = np.arange(len(row["eligible"]))
        axes.bar(clients, row["eligible"], 0.9, color="#D0D0D0", label="eligible")
        axes.bar(clients, row["selected"], 0.6, color=PALETTE[0], label="selected")
        axes.set_title(row["label"], fontsize=7, pad=2)
        axes.set_xlim(-0.7, len(clients) - 0.3)
        if number < len(panels) - 1:
            axes.tick_params(labelbottom=False)
    panels[-1].set_xlabel("Client")
    figure.supylabel("Edge rounds", fontsize=8)
    legend(figure, panels[-1])
    return figure


def _labels(picture: Picture) -> Figure:
    """One panel per row: shares of every label at some rounds; darker means more."""
    figure, panels = _panels(len(picture["series"]), 1.5)
    for row, axes in zip(picture["series"], panels, strict=True):
        shares = np.array(row["shares"])
        image = axes.imshow(shares, aspect="auto", cmap="Blues", vmin=0.0, interpolation="nearest")
        axes.set_yticks(range(len(row["at"])), [f"{at:g}" for at in row["at"]])
        axes.set_title(row["label"], fontsize=7, pad=2)
        axes.set_ylabel("Round")
        axes.grid(visible=False)
        figure.colorbar(image, ax=axes, label="Share", pad=0.02)
    panels[-1].set_xlabel("Label")
    return figure


def _map(picture: Picture) -> Figure:
    """One panel per row: map of clients and the nodes they report to."""
    figure, panels = _panels(len(picture["series"]), 3.2)
    for row, axes in zip(picture["series"], panels, strict=True):
        tiers, parents = row["network"]["positions"], row["network"]["parents"]
        for below, above, parent in zip(tiers, tiers[1:], parents, strict=False):
            for (x, y), up in zip(below, parent, strict=True):
                axes.plot([x, above[up][0]], [y, above[up][1]], color="0.85", linewidth=0.5, zorder=1)
        names = ["client", *(["edge"] if len(tiers) == 3 else []), "server"]
        for tier, (name, marker, size) in zip(tiers, _places(names), strict=True):
            x, y = zip(*tier, strict=True)
            colour = PALETTE[0] if name == "client" else "black"
            axes.scatter(x, y, s=size, marker=marker, color=colour, label=f"{name} ({len(tier)})", zorder=2)
        axes.set_aspect("equal")
        axes.set_title(row["label"], fontsize=7, pad=2)
        axes.set_ylabel("y (m)")
    panels[-1].set_xlabel("x (m)")
    legend(figure, panels[-1])
    return figure


def _places(names: Sequence[str]) -> list[tuple[str, str, float]]:
    """Marker and size of every tier."""
    known = {"client": ("o", 10.0), "edge": ("^", 34.0), "server": ("s", 34.0)}
    return [(name, *known[name]) for name in names]


DRAW: dict[str, Callable[[Picture], Figure]] = {
    "bars": _bars,
    "counts": _counts,
    "labels": _labels,
    "map": _map,
}
"""The function that draws each kind of picture that is no plot."""


def _panels(number: int, height_in: float) -> tuple[Figure, list[Axes]]:
    """A figure with stacked panels at column width; the legend adds to its height."""
    figure = Figure(figsize=(COLUMN_IN, number * height_in + 0.3), layout="constrained")
    panels = list(figure.subplots(number, 1, squeeze=False)[:, 0])
    for axes in panels:
        axes.grid(alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels

"""Reproduced figures (matplotlib) at column width; published values are hollow or dashed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedradio.report.figures.axes import (
    COLUMN_IN,
    axis,
    column,
    legend,
    line,
    metric_axis,
    printed,
    save,
    whole_numbers,
)
from fedradio.report.style import STYLES, Style, style, styles
from fedradio.results.variants import Variant

Picture = Mapping[str, Any]
"""The data of a figure, see :mod:`fedradio.papers.series`."""

Series = Mapping[str, Any]
"""What row row shows."""

PALETTE = tuple(look.colour for look in STYLES.values())
"""Colours of anything that is not an algorithm."""

LEVEL = (0, (2, 3))
"""Dashes of the line at a published final value."""

TIME = "Normalised time IT (edge rounds)"
"""The axis of curves and bounds that count edge rounds; W-HFL's word for it comes first."""

DECADES = 2.0
"""A bound that spans more powers of ten than this gets a logarithmic axis."""


def save_picture(picture: Picture, stem: Path) -> list[Path]:
    """Draw a picture into a PDF and a PNG file; none if no row has data."""
    if not picture["series"]:
        return []
    files = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".pdf", ".png")]
    figure = draw(picture)
    for file in files:
        save(figure, file)
    return files


def draw(picture: Picture) -> Figure:
    """Draw the data of a published figure, by its kind."""
    with printed():
        return DRAW[picture["show"]](picture)


def looks(series: Sequence[Series]) -> list[Style]:
    """A style for each row: the algorithm's own for its first row, styles of absent algorithms for further ones."""
    own = {row["algorithm"]: None for row in series}
    spare = iter([look for name, look in STYLES.items() if name not in own])
    chosen: list[Style] = []
    for variant, look in zip(variants := _variants(series), styles(variants), strict=True):
        first = style(variant.algorithm) not in chosen
        chosen.append(style(variant.algorithm) if first else next(spare, look))
    return chosen


def _variants(series: Sequence[Series]) -> list[Variant]:
    return [Variant(row["label"], row["algorithm"], {}) for row in series]


def _curves(picture: Picture) -> Figure:
    """Mean curves with their bands; published points hollow, a published end as a dashed line."""
    figure, axes = column()
    series = picture["series"]
    end = max(row["x"][-1] for row in series)
    factor, x_label = (1.0, TIME) if picture["x"] == "edge_rounds" else axis(picture["x"], end)
    scale, y_label = _y_axis(picture)
    for number, (row, look) in enumerate(zip(series, looks(series), strict=True)):
        x, mean, low, high = (np.array(row[key]) for key in ("x", "mean", "low", "high"))
        axes.plot(x / factor, scale * mean, label=row["label"], **line(look, len(x), number / len(series)))
        if len(row["seeds"]) > 1:
            axes.fill_between(x / factor, scale * low, scale * high, color=look.colour, alpha=0.15, linewidth=0)
        if row["level"] is not None:
            axes.axhline(scale * row["level"], color=look.colour, linestyle=LEVEL, linewidth=0.7)
        for at, value in row["points"]:
            if at <= end:
                axes.plot([at / factor], [scale * value], **_hollow(look))
    points = any(at <= end for row in series for at, _ in row["points"])
    _explain(axes, points, any(row["level"] is not None for row in series))
    if picture["x"] in ("rounds", "edge_rounds"):
        whole_numbers(axes.xaxis)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    legend(figure, axes)
    return figure


def _y_axis(picture: Picture) -> tuple[float, str]:
    """Factor and title of the y axis."""
    if picture["y"] != "energy_j":
        return metric_axis(picture["y"])
    factor, title = axis("joules", max(max(row["mean"]) for row in picture["series"]))
    return 1 / factor, title


def _hollow(look: Style) -> dict[str, Any]:
    """Keywords that draw published points."""
    return {"color": look.colour, "linestyle": "", "marker": look.marker, "markersize": 5, "markerfacecolor": "none"}


def _explain(axes: Axes, points: bool, levels: bool = False) -> None:
    """Add legend keys of hollow markers and thin dashes, if there are any."""
    if points:
        axes.plot([], [], **_hollow(Style("black", (), "o")), label="published")
    if levels:
        axes.plot([], [], color="black", linestyle=LEVEL, linewidth=0.7, label="published, at the end")


def _top(picture: Picture) -> Figure:
    """Top-M accuracy against the number of guesses M: mean lines with their bands."""
    figure, axes = column()
    series = picture["series"]
    for row, look in zip(series, looks(series), strict=True):
        m = np.arange(1, len(row["mean"]) + 1)
        mean, low, high = (100 * np.array(row[key]) for key in ("mean", "low", "high"))
        axes.plot(m, mean, label=row["label"], **line(look, 1))
        axes.fill_between(m, low, high, color=look.colour, alpha=0.15, linewidth=0)
    whole_numbers(axes.xaxis)
    axes.set_xlabel("Guesses M")
    axes.set_ylabel("Top-M accuracy (%)")
    legend(figure, axes)
    return figure


def _cdf(picture: Picture) -> Figure:
    """Cumulative distributions of samples; published medians are hollow."""
    figure, axes = column()
    series = picture["series"]
    for number, (row, look) in enumerate(zip(series, looks(series), strict=True)):
        points = len(row["samples"])
        share = 100 * np.arange(1, points + 1) / points
        keys = line(look, points, number / len(series))
        axes.plot(row["samples"], share, label=row["label"], drawstyle="steps-post", **keys)
        if row["median"] is not None:
            axes.plot([row["median"]], [50], **_hollow(look))
    _explain(axes, any(row["median"] is not None for row in series))
    axes.set_xlabel(series[0]["unit"])
    axes.set_ylabel("Cumulative share (%)")
    axes.set_ylim(0, 102)
    legend(figure, axes)
    return figure


def _bound(picture: Picture) -> Figure:
    """A bound against edge rounds; logarithmic if it spans several powers of ten."""
    figure, axes = column()
    series = picture["series"]
    for number, (row, look) in enumerate(zip(series, looks(series), strict=True)):
        axes.plot(row["x"], row["y"], label=row["label"], **line(look, len(row["x"]), number / len(series)))
    values = [value for row in series for value in row["y"]]
    if min(values) > 0 and math.log10(max(values) / min(values)) > DECADES:
        axes.set_yscale("log")
    axes.set_xlabel(TIME)
    axes.set_ylabel("Bound on the loss")
    legend(figure, axes)
    return figure


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
    "curves": _curves,
    "top": _top,
    "cdf": _cdf,
    "bound": _bound,
    "bars": _bars,
    "counts": _counts,
    "labels": _labels,
    "map": _map,
}
"""The function that draws each kind of picture."""


def _panels(number: int, height_in: float) -> tuple[Figure, list[Axes]]:
    """A figure with stacked panels at column width; the legend adds to its height."""
    figure = Figure(figsize=(COLUMN_IN, number * height_in + 0.3), layout="constrained")
    panels = list(figure.subplots(number, 1, squeeze=False)[:, 0])
    for axes in panels:
        axes.grid(alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels

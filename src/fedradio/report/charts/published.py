"""Reproduced figures: our curves, distributions and bounds; published values are hollow markers and thin dashes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fedradio.report.charts.chart import Axis, Dot, Layer, Level, Line, Plot
from fedradio.report.charts.learning import title_of
from fedradio.report.style import STYLES, Style, style, styles
from fedradio.results.quantities import QUANTITIES, entry
from fedradio.results.variants import Variant

Picture = Mapping[str, Any]
"""The data of a figure, see :mod:`fedradio.papers.series`."""

Series = Mapping[str, Any]
"""The data of one row."""

LEVEL = (2.0, 3.0)
"""Dashes of the line at a published final value."""

TIME = "Normalised time IT (edge rounds)"
"""The axis of curves and bounds that count edge rounds; W-HFL's word for it comes first."""

DECADES = 2.0
"""A bound that spans more powers of ten than this gets a logarithmic axis."""

PUBLISHED = Dot("published", math.nan, math.nan, Style("@ink", (), "o"), hollow=True)
"""Legend entry of published points."""


def looks(series: Sequence[Series]) -> list[Style]:
    """A style for each row: the algorithm's own for its first row, styles of absent algorithms for further ones."""
    own = {row["algorithm"]: None for row in series}
    spare = iter([look for name, look in STYLES.items() if name not in own])
    chosen: list[Style] = []
    variants = [Variant(row["label"], row["algorithm"], {}) for row in series]
    for variant, look in zip(variants, styles(variants), strict=True):
        first = style(variant.algorithm) not in chosen
        chosen.append(style(variant.algorithm) if first else next(spare, look))
    return chosen


def _curves(picture: Picture) -> Plot:
    """Mean curves with their bands; published points hollow, a published end as a dashed line."""
    rows: Sequence[Series] = picture["series"]
    end = max(row["x"][-1] for row in rows)
    joules = picture["y"] == "energy_j"
    y = QUANTITIES["joules"] if joules else entry(picture["y"])
    layers: list[Layer] = []
    for row, look in zip(rows, looks(rows), strict=True):
        x, mean, low, high = (np.array(row[key], dtype=np.float64) for key in ("x", "mean", "low", "high"))
        band = (y.scale * low, y.scale * high) if len(row["seeds"]) > 1 else (None, None)
        layers.append(Line(row["label"], x, y.scale * mean, look, *band))
        if row["level"] is not None:
            layers.append(Level("", y.scale * row["level"], look.colour, LEVEL))
        layers += [Dot("", at, y.scale * value, look, hollow=True) for at, value in row["points"] if at <= end]
    if any(isinstance(layer, Dot) for layer in layers):
        layers.append(PUBLISHED)
    if any(isinstance(layer, Level) for layer in layers):
        layers.append(Level("published, at the end", math.nan, "@ink", LEVEL))
    return Plot(_x(picture["x"]), Axis(title_of(y), y.unit), layers)


def _x(name: str) -> Axis:
    if name == "edge_rounds":
        return Axis(TIME, whole=True)
    return Axis(title_of(QUANTITIES[name]), QUANTITIES[name].unit, whole=name == "rounds")


def _top(picture: Picture) -> Plot:
    """Top-M accuracy against the number of guesses M: mean lines with their bands."""
    rows, layers = picture["series"], []
    for row, look in zip(rows, looks(rows), strict=True):
        mean, low, high = (100 * np.array(row[key], dtype=np.float64) for key in ("mean", "low", "high"))
        layers.append(Line(row["label"], np.arange(1.0, len(mean) + 1), mean, look, low, high))
    return Plot(Axis("Guesses M", whole=True), Axis("Top-M accuracy", "%"), layers)


def _distributions(picture: Picture) -> Plot:
    """Cumulative distributions of samples; published medians are hollow."""
    rows: Sequence[Series] = picture["series"]
    layers: list[Layer] = []
    for row, look in zip(rows, looks(rows), strict=True):
        samples = np.array(row["samples"], dtype=np.float64)
        share = 100 * np.arange(1.0, len(samples) + 1) / len(samples)
        layers.append(Line(row["label"], samples, share, look, steps=True))
        layers += [] if row["median"] is None else [Dot("", row["median"], 50.0, look, hollow=True)]
    if any(isinstance(layer, Dot) for layer in layers):
        layers.append(PUBLISHED)
    return Plot(Axis(rows[0]["unit"]), Axis("Cumulative share", "%", 0, 102), layers)


def _bound(picture: Picture) -> Plot:
    """A bound against edge rounds; logarithmic if it spans several powers of ten."""
    rows: Sequence[Series] = picture["series"]
    lines = [
        Line(row["label"], np.array(row["x"], dtype=np.float64), np.array(row["y"], dtype=np.float64), look)
        for row, look in zip(rows, looks(rows), strict=True)
    ]
    low, high = min(float(line.y.min()) for line in lines), max(float(line.y.max()) for line in lines)
    log = low > 0 and math.log10(high / low) > DECADES
    return Plot(Axis(TIME), Axis("Bound on the loss", log=log), lines)


PLOTS: dict[str, Callable[[Picture], Plot]] = {
    "curves": _curves,
    "top": _top,
    "cdf": _distributions,
    "bound": _bound,
}
"""The plot of each kind of picture that has one."""

"""Charts as plain data: layers between two axes, a sentence, and a table of numbers.

The page draws them with plotly (:mod:`fedradio.report.page.chart`), ``fedradio figures`` with matplotlib
(:mod:`fedradio.report.figures.draw`): a chart that is added here is in both.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedradio.report.style import Dash, Style
from fedradio.report.table import Table
from fedradio.results.client_states import Ints
from fedradio.results.digest import Joules
from fedradio.results.run import Curve, Floats
from fedradio.results.variants import shortened

POINTS = 600
"""Most points of a line."""


@dataclass(frozen=True)
class Axis:
    """An axis: title, unit, limits (None: those of the data), and its scale.

    ``zero``: it begins at 0. ``names``: texts at 0, 1, 2, ... in place of numbers.
    """

    title: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    zero: bool = False
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Line:
    """A line, as steps if so, with a band from ``low`` to ``high`` if it has one; ``texts`` describe its points."""

    name: str
    x: Floats
    y: Floats
    style: Style
    low: Floats | None = None
    high: Floats | None = None
    steps: bool = False
    texts: Sequence[str] = ()


@dataclass(frozen=True)
class Dot:
    """A marker, with the half-widths of its intervals if it has any; ``hollow`` without filling."""

    name: str
    x: float
    y: float
    style: Style
    x_half: float | None = None
    y_half: float | None = None
    hollow: bool = False


@dataclass(frozen=True)
class Area:
    """The area between two lines; ``strength`` is its opacity."""

    name: str
    x: Floats
    low: Floats
    high: Floats
    colour: str
    strength: float = 0.18


@dataclass(frozen=True)
class Bars:
    """Bars around ``x``, stacked on the bars before them."""

    name: str
    x: Floats
    y: Floats
    colour: str


@dataclass(frozen=True)
class Grid:
    """States ``[rows, columns]`` as numbers of ``colours``, ``name -> colour``; ``x`` and ``y`` number the cells.

    ``groups [rows]`` are the numbers of the groups of neighbouring rows, which a line separates.
    """

    states: Ints
    x: Ints
    y: Ints
    colours: Mapping[str, str]
    groups: Ints


@dataclass(frozen=True)
class Level:
    """A line across the plot at a value of ``y``, or of ``x`` if ``upright``."""

    name: str
    at: float
    colour: str
    dash: Dash
    upright: bool = False


@dataclass(frozen=True)
class Points:
    """Markers of one shape at ``places [n, 2]``; ``texts`` describe them.

    Their colours show ``values [n]`` (NaN: none) on the ``scale`` if there are values. Their areas show ``sizes [n]``,
    0 to 1, if there are any; ``keys`` name some sizes.
    """

    name: str
    places: Floats
    marker: str
    texts: Sequence[str]
    values: Floats | None = None
    scale: Axis | None = None
    sizes: Floats | None = None
    keys: Mapping[float, str] | None = None


@dataclass(frozen=True)
class Wires:
    """Lines from ``start [n, 2]`` to ``end [n, 2]``."""

    start: Floats
    end: Floats
    colour: str
    dash: Dash


Layer = Line | Dot | Area | Bars | Grid | Level | Points | Wires


@dataclass(frozen=True)
class Plot:
    """Two axes and what is drawn between them.

    ``label`` names the plot where a switch offers several. ``says`` replaces the chart's sentence while it is shown.
    ``equal``: a length is the same on both axes.
    """

    x: Axis
    y: Axis
    layers: Sequence[Layer]
    label: str = ""
    says: str = ""
    equal: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart with one or more plots by the name of their view.

    The page shows one plot, and ``switch`` is the title of the choice; every plot is a figure of its own.
    """

    name: str
    title: str
    says: str
    plots: Mapping[str, Plot]
    numbers: Table
    switch: str = ""
    height: int = 340


@dataclass(frozen=True)
class Absent:
    """A chart that cannot be drawn, and why."""

    name: str
    title: str
    why: str


class Drawable(Protocol):
    """What charts read of a run; see :class:`fedradio.results.digest.Digest`."""

    @property
    def joules(self) -> Mapping[str, Joules]: ...

    @property
    def client_metrics(self) -> Mapping[str, Mapping[int, Floats]]: ...

    @property
    def totals(self) -> Mapping[str, Floats]: ...

    @property
    def series(self) -> Mapping[str, tuple[Ints, Floats]]: ...

    def curve(self, metric: str, against: str = "rounds") -> Curve | None: ...


@dataclass(frozen=True)
class Group:
    """Runs that share a line: those of a variant."""

    label: str
    style: Style
    runs: Sequence[Drawable]


def capital(text: str) -> str:
    """The text with a capital letter."""
    return text[:1].upper() + text[1:]


def thinned(count: int, most: int = POINTS) -> Ints:
    """Indices of at most ``most`` of ``count`` items, evenly spread, first and last included."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))


NAME_LETTERS = 38
"""Most letters of a line of a name on an axis."""


def name_lines(name: str, letters: int = NAME_LETTERS) -> str:
    """The name of an axis without its obvious words, broken into lines."""
    return textwrap.fill(shortened(name), letters)


Samples = Mapping[str, tuple[Style, Floats]]
"""Values of many clients or edge rounds, by the name of their line."""


def distribution(samples: Samples, x: Axis, what: str, label: str = "") -> Plot:
    """Empirical distributions: the share of ``what`` with at most ``x``."""
    lines = []
    for name, (style, values) in samples.items():
        ordered, chosen = np.sort(values), thinned(len(values))
        y = np.r_[0, (chosen + 1) / len(ordered)]
        lines.append(Line(name, ordered[np.r_[0, chosen]], 100 * y, style, steps=True))
    return Plot(x, Axis(f"Share of {what}", "%", 0, 102), lines, label)


QUANTILES = {"lowest": 0.0, "10 %": 0.1, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "90 %": 0.9, "highest": 1.0}


def quantiles(samples: Samples, title: str, text: Callable[[float], str]) -> Table:
    """The table of quantiles, one row per sample."""
    rows = [
        [name, *(text(float(np.quantile(values, q))) for q in QUANTILES.values())]
        for name, (_, values) in samples.items()
    ]
    return Table(title, ["", *QUANTILES], rows)


def neighbours(count: int, most: int) -> tuple[list[Ints], Floats]:
    """At most ``most`` groups of neighbours among ``count`` rounds, and the numbers of their middles, from 1 on."""
    bins = np.array_split(np.arange(count), min(most, count))
    return bins, np.array([float(part.mean()) + 1 for part in bins])

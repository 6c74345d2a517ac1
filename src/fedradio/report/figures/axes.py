"""The look of all figures (matplotlib): sizes, axes, legends, and files.

The same data gives the same files, byte for byte: they contain neither the time nor the place of their making.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import MaxNLocator

from fedradio.core.files import replacing
from fedradio.core.text import harmless
from fedradio.report.style import STYLES, Style
from fedradio.results.variants import shortened

COLOURS = {name: style.colour for name, style in STYLES.items()}
"""One colour per algorithm, everywhere."""

FILES: dict[Any, Any] = {"pdf.fonttype": 42, "svg.hashsalt": "fedradio"}
"""Embed fonts as TrueType, since publishers refuse matplotlib's default, and keep names in SVG files stable."""

METADATA = {
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
    ".png": {"Software": None},
    ".svg": {"Creator": None, "Date": None},
}
"""Metadata that matplotlib would write about itself and the time."""

PREFIXES = {1e9: "G", 1e6: "M", 1e3: "k", 1.0: "", 1e-3: "m", 1e-6: "µ"}


COLUMN_IN = 3.5
"""Width of a column of a two-column paper, in inches."""

LEGEND_PT = 7
"""Font size of legends, in points."""

LETTERS = 62
"""Characters of a legend in this size that fit a column."""

SIZES: dict[Any, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": LEGEND_PT,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
"""Sizes of fonts and frames, in points, for figures printed at their original size."""


@contextmanager
def printed() -> Iterator[None]:
    """Context of figures with the fonts and lines of a printed column, or those of a style that the user has set."""
    with matplotlib.rc_context(SIZES | _chosen()):
        yield


def _chosen() -> dict[Any, Any]:
    """The settings of matplotlib that differ from its defaults: those of the user's style."""
    now, defaults = matplotlib.rcParams, matplotlib.rcParamsDefault
    keys = [key for key in defaults if not key.startswith("backend")]  # reading the backend would start one
    return {key: now[key] for key in keys if now[key] != defaults[key]}


def save_figure(figure: Figure, path: Path, dpi: int = 200) -> None:
    """Write a PNG, PDF or SVG file, chosen by its extension, atomically."""
    suffix = path.suffix.lower()
    data = io.BytesIO()
    with matplotlib.rc_context(FILES):
        figure.savefig(data, dpi=dpi, format=suffix.removeprefix("."), metadata=METADATA.get(suffix))
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(data.getvalue())


def column(height_in: float = 2.3) -> tuple[Figure, Axes]:
    """An empty figure of one column, or of the size that the user's style sets; the legend's height is not counted."""
    width, height = _chosen().get("figure.figsize", (COLUMN_IN, height_in))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    settings: dict[Any, Any] = dict(matplotlib.rcParams)
    for name, axis in (("xtick", axes.xaxis), ("ytick", axes.yaxis)):  # the same wherever the figure is saved
        axis.set_tick_params(labelsize=settings[f"{name}.labelsize"], width=settings[f"{name}.major.width"])
    return figure, axes


def line(look: Style, points: int, phase: float = 0.0) -> dict[str, Any]:
    """Keywords of a line with about eight markers; ``phase`` in [0, 1) shifts them to keep equal lines visible."""
    every = max(1, points // 8)
    return {
        "color": look.colour,
        "linestyle": (0, look.dash) if look.dash else "-",
        "marker": look.marker,
        "markevery": (int((phase + 0.5) % 1 * every), every),
    }


def legend(
    figure: Figure, axes: Axes, handles: Sequence[Artist] | None = None, names: Mapping[str, str] | None = None
) -> None:
    """Put the legend above the data, never on top of it, in as many columns as fit; the figure grows by its height.

    Entries come from ``handles``, or from the labels in the axes; a single line gets no legend unless it is in
    ``names``, which replace labels.
    """
    artists = list(axes.get_legend_handles_labels()[0]) if handles is None else list(handles)
    if handles is None and len(artists) <= 1 and not names:
        return
    key = 8 if handles is None else 5
    points = FontProperties(size=matplotlib.rcParams["legend.fontsize"]).get_size_in_points()
    letters = max(12, round(LETTERS * figure.get_figwidth() / COLUMN_IN * LEGEND_PT / points))
    labels = [_legend_label(str(artist.get_label()), names or {}, letters - key) for artist in artists]
    columns = _columns([max(map(_width, label.splitlines())) + key for label in labels], letters)
    rows = -(-sum(label.count("\n") + 1 for label in labels) // columns)
    figure.set_figheight(figure.get_figheight() + 0.15 * rows * points / LEGEND_PT)
    keys = {"handlelength": 2.6 if handles is None else 1.3, "columnspacing": 1.2, "handletextpad": 0.5}
    figure.legend(artists, labels, loc="outside upper center", ncols=columns, frameon=False, **keys)


def _legend_label(label: str, names: Mapping[str, str], letters: int) -> str:
    """The text of a legend entry: the user's name for it, or the label without its obvious words."""
    return names.get(label) or literal(textwrap.fill(shortened(label), letters))


def _width(text: str) -> int:
    """Number of characters of a line; a command in a formula, such as ``\\mu``, counts as one."""
    return len(re.sub(r"\\[a-zA-Z]+", "m", text.replace("$", "")))


def _columns(widths: Sequence[int], letters: int) -> int:
    """The largest number of columns, filled one after another, that fits this many characters."""
    for columns in range(len(widths), 1, -1):
        if sum(int(part.max()) for part in np.array_split(np.array(widths), columns)) <= letters:
            return columns
    return 1


def whole_numbers(axis: Axis) -> None:
    """Put ticks at whole numbers only."""
    axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))


def scaled(most: float, unit: str) -> tuple[float, str]:
    """A factor that brings the maximum between 1 and 1000, and the unit with its prefix."""
    factor = next((size for size in PREFIXES if most >= size), 1.0 if most == 0 else 1e-6)
    return factor, f"{PREFIXES[factor]}{unit}"


CLOCK = {3600.0: (6 * 3600.0, "h"), 60.0: (600.0, "min"), 1.0: (1.0, "s"), 1e-3: (0.0, "ms")}
"""Units of time: their seconds, and from how many on they are used."""


def literal(text: str) -> str:
    """A text from elsewhere, made safe for matplotlib: no formulas between dollar signs, no control characters."""
    return harmless(text).replace("$", r"\$")

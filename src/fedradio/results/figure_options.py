"""The choices of a figure that ``plot()`` has beside metric, axis and target: the options of ``fedradio figures``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

Limits = tuple[float | None, float | None]
"""Lower and upper limit of an axis; None leaves it to the data."""


class FigureOptions(TypedDict, total=False):
    """Limits, names and order of variants, and looks; each as the keyword of :func:`fedradio.figures`."""

    xlim: Limits
    ylim: Limits
    labels: Mapping[str, str]
    order: Sequence[str]
    without: Sequence[str]
    size: str | tuple[float, float | None]
    font: str
    font_size: float
    style: str | Path

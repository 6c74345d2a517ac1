"""The choices of a figure that ``plot()`` has beside metric, axis and target: options of ``fedradio figures``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

FORMATS = ("pdf", "png")
"""File formats of figures."""


class FigureOptions(TypedDict, total=False):
    """Names and order of variants, and which to leave out; each as the keyword of :func:`fedradio.figures`."""

    labels: Mapping[str, str]
    order: Sequence[str]
    without: Sequence[str]

"""Numbers formatted for the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedradio.core.units import show, show_count, show_number, show_percent, show_seconds
from fedradio.report.page.html import DASH, UNDEFINED
from fedradio.results.quantity import Quantity
from fedradio.results.statistics import Interval


def percent(value: float | None, digits: int = 2) -> str:
    """A share in percent."""
    return UNDEFINED if value is None else show_percent(value, digits)


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit and an SI prefix."""
    return UNDEFINED if value is None else show(value, unit)


def seconds(value: float | None) -> str:
    """A duration in the unit that fits it."""
    return UNDEFINED if value is None else show_seconds(value)


def count(value: float | None) -> str:
    """A count, whole or a mean."""
    return UNDEFINED if value is None else show_count(value)


def number(value: float | None) -> str:
    """A number with four digits."""
    return UNDEFINED if value is None else show_number(value)


def text_of(quantity: Quantity, value: float | None) -> str:
    """A value of a quantity with its unit."""
    return UNDEFINED if value is None else quantity.text(value)


def axis_title(quantity: Quantity) -> str:
    """The title of an axis with its unit."""
    return f"{quantity.heading} [{quantity.unit}]" if quantity.unit else quantity.heading


def plus_minus(mean: Interval | None, formatted: Callable[[float], str]) -> str:
    """A mean with the half width of its interval, if it has one; a common unit is written once."""
    if mean is None:
        return UNDEFINED
    sign = "\N{MINUS SIGN}" if mean.mean < 0 else ""
    text = f"{sign}{formatted(abs(mean.mean))}"
    if mean.half is None:
        return text
    half = formatted(mean.half) if mean.half else "0"
    value, _, unit = text.rpartition(" ")
    return f"{value} ± {half}" if unit == half.rpartition(" ")[2] and value else f"{text} ± {half}"


def value_words(value: Any) -> str:
    """A value of a spec as readable text."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        text = f"{value:.10g}"
        return text if "e" in text or abs(value) < 1e5 else f"{value:,.10g}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if isinstance(value, list):
        return "[" + ", ".join(value_words(item) for item in value) + "]"
    if isinstance(value, dict):
        return ", ".join(f"{key} = {value_words(item)}" for key, item in value.items())
    return str(value)

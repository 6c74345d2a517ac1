"""Numbers formatted for the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedradio.core.units import show, show_seconds
from fedradio.report.page.html import DASH, UNDEFINED
from fedradio.report.terminal.summary import WORDS
from fedradio.results.statistics import Interval

AXIS_TITLES = {
    "rounds": "Rounds",
    "seconds": "Simulated time [s]",
    "joules": "Energy [J]",
    "bits": "Uplink [bit]",
    "uses": "Channel uses",
}
"""Axis titles of what a curve can be drawn against."""

AXIS_WORDS = {
    "rounds": "rounds",
    "seconds": "simulated time",
    "joules": "energy",
    "bits": "uplink bits",
    "uses": "channel uses",
}
"""The same as words in a sentence."""

AXIS_ABSENT = {
    "seconds": "Simulated time is undefined: no part says how long things take (a fleet or a link with rates does).",
    "joules": "Energy is undefined: no part says what computing and sending cost (a fleet does).",
    "bits": "Bits are undefined: payloads are not sent as bits.",
}
"""Sentences that say why a run lacks an axis."""


def percent(value: float | None, digits: int = 2) -> str:
    """A share in percent."""
    return UNDEFINED if value is None else f"{100 * value:.{digits}f} %"


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit and an SI prefix."""
    return UNDEFINED if value is None else show(value, unit)


def seconds(value: float | None) -> str:
    """A duration in the unit that fits it."""
    return UNDEFINED if value is None else show_seconds(value)


def count(value: float | None) -> str:
    """A count, whole or a mean."""
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1e4 else f"{value:.3g}"


def number(value: float | None) -> str:
    """A number with four digits."""
    return UNDEFINED if value is None else f"{value:.4g}"


def metric_words(name: str) -> str:
    """The name of a metric in words."""
    names = WORDS | {"loss": "test loss", "train_loss": "training loss"}
    return names.get(name, name.replace("_", " "))


def metric(name: str, value: float | None) -> str:
    """A metric's value: shares in percent, all others as plain numbers."""
    shares = name in WORDS or name.endswith(("accuracy", "accuracy_spread"))
    return percent(value) if shares else number(value)


def spent(axis: str, value: float | None) -> str:
    """A position on an axis with its unit."""
    if axis == "seconds":
        return seconds(value)
    if axis in ("joules", "bits"):
        return quantity(value, {"joules": "J", "bits": "bit"}[axis])
    return count(value)


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

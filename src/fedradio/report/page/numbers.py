"""Numbers for people, as they stand on the page."""

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
"""What a curve can be drawn against, as axis titles."""

AXIS_WORDS = {
    "rounds": "rounds",
    "seconds": "simulated time",
    "joules": "energy",
    "bits": "uplink bits",
    "uses": "channel uses",
}

AXIS_ABSENT = {
    "seconds": "Simulated time is undefined: no part says how long things take (a fleet or a link with rates does).",
    "joules": "Energy is undefined: no part says what computing and sending cost (a fleet does).",
    "bits": "Bits are undefined: payloads are not sent as bits.",
}
"""Why a run has no such axis."""


def percent(value: float | None, digits: int = 2) -> str:
    return UNDEFINED if value is None else f"{100 * value:.{digits}f} %"


def quantity(value: float | None, unit: str) -> str:
    return UNDEFINED if value is None else show(value, unit)


def seconds(value: float | None) -> str:
    return UNDEFINED if value is None else show_seconds(value)


def count(value: float | None) -> str:
    """A number of things, whole or a mean."""
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1e4 else f"{value:.3g}"


def number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.4g}"


def metric_words(name: str) -> str:
    """The name of a metric for people."""
    named = WORDS | {"loss": "test loss", "train_loss": "training loss"}
    return named.get(name, name.replace("_", " "))


def metric(name: str, value: float | None) -> str:
    """A metric's value in its unit: shares in percent, all others as they are."""
    shares = name in WORDS or name.endswith(("accuracy", "accuracy_spread"))
    return percent(value) if shares else number(value)


def spent(axis: str, value: float | None) -> str:
    """A position on an axis in its unit."""
    if axis == "seconds":
        return seconds(value)
    if axis in ("joules", "bits"):
        return quantity(value, {"joules": "J", "bits": "bit"}[axis])
    return count(value)


def plus_minus(found: Interval | None, words: Callable[[float], str]) -> str:
    """A mean and the half width of its interval, where it has one; their unit once where it is the same."""
    if found is None:
        return UNDEFINED
    sign = "\N{MINUS SIGN}" if found.mean < 0 else ""
    mean = f"{sign}{words(abs(found.mean))}"
    if found.half is None:
        return mean
    half = words(found.half) if found.half else "0"
    value, _, unit = mean.rpartition(" ")
    return f"{value} ± {half}" if unit == half.rpartition(" ")[2] and value else f"{mean} ± {half}"


def value_words(value: Any) -> str:
    """A value of a spec for people."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        words = f"{value:.10g}"
        return words if "e" in words or abs(value) < 1e5 else f"{value:,.10g}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if isinstance(value, list):
        return "[" + ", ".join(value_words(item) for item in value) + "]"
    if isinstance(value, dict):
        return ", ".join(f"{key} = {value_words(item)}" for key, item in value.items())
    return str(value)

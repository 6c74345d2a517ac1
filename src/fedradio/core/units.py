"""Conversions between decibel and linear units, and numbers as text.

Everything inside fedradio is linear SI; names carry their unit. An undefined number is ``'-'`` in text.
"""

from __future__ import annotations

import math


def db_to_linear(value_db: float) -> float:
    """``10^(x/10)``: 3 dB is 1.995."""
    return float(10.0 ** (value_db / 10.0))


def linear_to_db(value: float) -> float:
    """``10 log10(x)`` of a positive ratio."""
    return 10.0 * math.log10(value)


def dbm_to_w(value_dbm: float) -> float:
    """Power in watt: 30 dBm is 1 W."""
    return db_to_linear(value_dbm - 30.0)


def w_to_dbm(value_w: float) -> float:
    """Power in dBm: 0.1 W is 20 dBm."""
    return linear_to_db(value_w) + 30.0


def _scaled(value: float, unit: str, prefixes: dict[float, str], lowest: str) -> str:
    for scale, prefix in prefixes.items():
        if abs(value) >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {lowest}{unit}"


_LARGE = {1e12: "T", 1e9: "G", 1e6: "M", 1e3: "k", 1.0: ""}


def show(value: float | None, unit: str) -> str:
    """A quantity as text: ``show(7_248_384, "bit")`` is ``'7.25 Mbit'``; an undefined one is ``'-'``."""
    if value is None:
        return "-"
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {unit}"
    if abs(value) < 1.0:
        return _scaled(value * 1e3, unit, {1.0: "m"}, "m") if abs(value) >= 1e-3 else f"{value * 1e6:.3g} u{unit}"
    return _scaled(value, unit, _LARGE, "")


def show_seconds(value: float | None) -> str:
    """A duration as text: ``75`` is ``'1 min 15 s'``; an undefined one is ``'-'``."""
    if value is None:
        return "-"
    if value < 60:
        return f"{value:.3g} s"
    minutes, seconds = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def show_percent(value: float | None, digits: int = 2) -> str:
    """A share as text: ``0.5`` is ``'50.00 %'``."""
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def show_count(value: float | None) -> str:
    """A count, or a mean of counts, as text: ``4875`` is ``'4,875'``, ``4.625`` is ``'4.62'``."""
    if value is None:
        return "-"
    if float(value).is_integer() or abs(value) >= 1e4:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"


def show_number(value: float | None) -> str:
    """A plain number as text, with four digits."""
    return "-" if value is None else f"{value:.4g}"


def add(total: float | None, part: float | None) -> float | None:
    """A sum that is undefined as soon as one of its parts is."""
    return None if total is None or part is None else total + part

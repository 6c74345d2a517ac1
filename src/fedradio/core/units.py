"""Conversions between decibel and linear units. Everything inside fedradio is linear SI; names carry their unit."""

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


def add(total: float | None, part: float | None) -> float | None:
    """A sum that is undefined as soon as one of its parts is."""
    return None if total is None or part is None else total + part

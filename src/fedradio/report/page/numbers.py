"""Numbers formatted for the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import yaml

from fedradio.core.units import show, show_count, show_percent, show_seconds
from fedradio.report.page.html import DASH, UNDEFINED
from fedradio.results import statistics
from fedradio.results.quantity import Quantity
from fedradio.results.statistics import Interval

LARGE = 1e5
"""Numbers from this size on may be written with a power of ten."""


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


def text_of(quantity: Quantity, value: float | None) -> str:
    """A value of a quantity with its unit."""
    return UNDEFINED if value is None else quantity.text(value)


def plus_minus(mean: Interval | None, formatted: Callable[[float], str]) -> str:
    """A mean with the half-width of its interval, if it has one."""
    return UNDEFINED if mean is None else statistics.plus_minus(mean, formatted)


def value_words(value: Any) -> str:
    """A value of a spec as readable text."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number_words(value)
    if isinstance(value, list):
        return "[" + ", ".join(value_words(item) for item in value) + "]"
    if isinstance(value, dict):
        rest = ", ".join(f"{key} = {value_words(item)}" for key, item in value.items() if key != "kind")
        return rest if "kind" not in value else f"{value['kind']} ({rest})" if rest else str(value["kind"])
    return str(value)


def _number_words(value: float) -> str:
    """A number of a spec; large ones as people write them there, ``2.4e9``, or in groups of digits if none is 0."""
    text = f"{value:.10g}"
    short = _powered(text)
    if abs(value) < LARGE:
        return short if "e" in text else text
    return short if len(short) < len(text) else f"{value:,.10g}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _powered(text: str) -> str:
    """A number with a power of ten, ``2.4e9``."""
    return f"{Decimal(text).normalize():e}".replace("e+", "e")


class _Dumper(yaml.SafeDumper):
    """Writes large numbers of specs as ``2.4e9``."""

    def represent_number(self, value: float) -> yaml.ScalarNode:
        node: yaml.ScalarNode = super().represent_float(value)
        if LARGE <= abs(value) < float("inf") and len(short := _powered(repr(value))) < len(node.value):
            node.value = short
        return node


_Dumper.add_representer(float, _Dumper.represent_number)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^-?\d(\.\d+)?e\d+$"), list("-0123456789"))


def spec_yaml(plain: Mapping[str, Any]) -> str:
    """A spec in YAML to be read by people and by fedradio: the same values to the last bit."""
    text: str = yaml.dump(dict(plain), Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=110)
    return text

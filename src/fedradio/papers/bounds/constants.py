"""Constants of a theorem: given by the user or estimated from replayed rounds, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedradio.papers.bounds.assessment import Constant


@dataclass(frozen=True)
class Estimate:
    """An estimated value and how it was found."""

    value: float
    source: str


def largest(values: list[float], rounds: int) -> Estimate:
    """The largest of some estimates from replayed rounds; 0 without any."""
    return Estimate(max(values, default=0.0), f"estimated: largest of {rounds} replayed round(s)")


def settle(
    symbols: Mapping[str, str], estimates: Mapping[str, Estimate], given: Mapping[str, float]
) -> tuple[dict[str, float], list[Constant]]:
    """The value of every constant, given before estimated, and the same as rows with symbols and sources."""
    used = {name: Estimate(given[name], "given") if name in given else estimates[name] for name in symbols}
    rows = [Constant(name, symbol, used[name].value, used[name].source) for name, symbol in symbols.items()]
    return {name: estimate.value for name, estimate in used.items()}, rows

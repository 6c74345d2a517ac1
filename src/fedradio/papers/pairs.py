"""Numbers of two rows, seed by seed: ratios and differences."""

from __future__ import annotations

from collections.abc import Mapping


def ratios(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """The ratio ``one / other`` by seed, where it is defined."""
    return {seed: value / other[seed] for seed, value in one.items() if other.get(seed, 0.0) != 0.0}


def differences(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """The difference ``one - other`` by seed, where both are known."""
    return {seed: value - other[seed] for seed, value in one.items() if seed in other}

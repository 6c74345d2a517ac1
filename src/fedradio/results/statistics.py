"""Means over seeds with their intervals, and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from fedradio.results.run import Curve, Floats

LEVEL = 0.95
"""Confidence level of every interval."""


@dataclass(frozen=True)
class Interval:
    """Mean of ``n`` values and the half-width of its 95 % confidence interval (Student's t); None for one value."""

    mean: float
    half: float | None
    n: int

    @property
    def low(self) -> float | None:
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        return None if self.half is None else self.mean + self.half

    @property
    def ends(self) -> tuple[float, float] | None:
        return None if self.half is None else (self.mean - self.half, self.mean + self.half)

    def excludes(self, value: float) -> bool:
        """Whether the value lies outside the interval; never if there is no interval."""
        return self.half is not None and abs(self.mean - value) > self.half


@dataclass(frozen=True)
class Band:
    """A mean curve and the ends of its interval at every ``x``, all ``[points]``; for one curve they are equal."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    n: int


def interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Confidence interval ``mean +- t(n-1) s / sqrt(n)`` of a mean, with ``s`` the unbiased standard deviation."""
    n = len(values)
    if n == 0:
        raise ValueError("there are no values to average")
    half = None if n == 1 else float(_t(n, level) * np.std(values, ddof=1) / np.sqrt(n))
    return Interval(float(np.mean(values)), half, n)


def mean_of(values: Iterable[float | None]) -> Interval | None:
    """The mean of values with its interval; None without any, or if one is undefined."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return interval(known) if known and len(known) == len(listed) else None


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> Interval | None:
    """Mean difference ``one - other`` over common seeds, whose shared world cancels; None without a common seed."""
    common = sorted(one.keys() & other.keys())
    return interval([one[seed] - other[seed] for seed in common]) if common else None


def band(curves: Sequence[Curve], points: int = 200) -> Band:
    """Mean of several curves with its confidence interval, where all of them are defined.

    On their own ``x`` if they share it (rounds), else between their points on a common grid, by straight lines. Where
    no ``x`` lies in all of them there is one point, the latest start: curves that have ended keep their last value.
    """
    if not curves:
        raise ValueError("there are no curves to average")
    x = curves[0][0]
    if any(len(other) != len(x) or not np.array_equal(other, x) for other, _ in curves):
        low, high = max(other[0] for other, _ in curves), min(other[-1] for other, _ in curves)
        x = np.linspace(low, high, points) if high > low else np.array([low])
    y = np.stack([np.interp(x, *curve) for curve in curves])
    mean, n = y.mean(axis=0), len(curves)
    half = np.zeros_like(mean) if n == 1 else _t(n) * y.std(axis=0, ddof=1) / np.sqrt(n)
    return Band(x, mean, mean - half, mean + half, n)


def pooled(bands: Sequence[Band]) -> Band:
    """Band over the curves of several bands, from their sizes, means and intervals.

    With n curves, mean m and standard deviation s in every band, N = sum n and M = sum n m / N, the squares add up to
    S = sum [(n - 1) s^2 + n (m - M)^2], so that the interval is M +- t(N-1) sqrt(S / ((N - 1) N)). On their own ``x``
    if they share it, else on that of :func:`band`.

    By hand: one band of the values 1 and 3 (m = 2, s^2 = 2) and one of the value 5 have M = 3 and
    S = 2 + 2 (2 - 3)^2 + (5 - 3)^2 = 8, as the values 1, 3 and 5 have.
    """
    if len(bands) == 1:
        return bands[0]
    x = band([(one.x, one.mean) for one in bands]).x
    sizes = np.array([one.n for one in bands], dtype=np.float64)[:, None]
    means = np.stack([np.interp(x, one.x, one.mean) for one in bands])
    squares = np.stack([(one.n - 1) * _deviation(one, x) ** 2 for one in bands])
    n = int(sizes.sum())
    mean = (sizes * means).sum(axis=0) / n
    half = _t(n) * np.sqrt((squares + sizes * (means - mean) ** 2).sum(axis=0) / (n - 1) / n)
    return Band(x, mean, mean - half, mean + half, n)


def _deviation(one: Band, x: Floats) -> Floats:
    """Standard deviation of a band's curves at ``x``, from its interval; 0 for one curve."""
    if one.n == 1:
        return np.zeros_like(x)
    half = np.interp(x, one.x, one.high - one.mean)
    return np.asarray(half * np.sqrt(one.n) / _t(one.n), dtype=np.float64)


def _t(n: int, level: float = LEVEL) -> float:
    """Quantile of Student's t for the interval of a mean of ``n`` values."""
    return float(stdtrit(n - 1, 0.5 + level / 2))


def plus_minus(mean: Interval | None, formatted: Callable[[float], str]) -> str:
    """A mean with the half-width of its interval, if it has one; a common unit is written once."""
    if mean is None:
        return "-"
    sign = "\N{MINUS SIGN}" if mean.mean < 0 else ""
    text = f"{sign}{formatted(abs(mean.mean))}"
    if mean.half is None:
        return text
    half = formatted(mean.half) if mean.half else "0"
    value, _, unit = text.rpartition(" ")
    return f"{value} ± {half}" if unit == half.rpartition(" ")[2] and value else f"{text} ± {half}"

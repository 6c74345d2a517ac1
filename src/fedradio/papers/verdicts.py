"""Verdicts on claims, from numbers by seed: holds, does not hold, or undecided.

A test is about the mean ``mu`` of a number over seeds and claims a region ``R`` for it. With the interval of Student's
t for ``mu``,

- the test holds if the 95 % interval lies inside of ``R``; a claim holds if all of its tests do;
- a claim does not hold if for one of its ``k`` tests the interval of level ``1 - .05/k`` lies outside of ``R``;
- everything else is undecided.

So for normal numbers a false claim is said to hold in at most 5 % of all studies, however many tests it has: its false
test would have to hold. A true claim is said not to hold in at most 5 % of them: ``k`` chances of at most ``.05/k``.

By hand: .02, .03, .04 have the mean .03 and the deviation .01, t(2) = 4.303, so the interval is .03 +- .0248: "above 0"
holds, "above .06" does not, "above .02" is undecided. For one of two tests t(2) = 6.205 and .03 +- .0358 reaches .06.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

from fedradio.results.statistics import LEVEL, Interval, interval

Verdict = Literal["holds", "does not hold", "undecided"]

SAME = 1e-12
"""Numbers whose spread is below this share of their size are the same: the rest is rounding."""


@dataclass(frozen=True)
class Region:
    """Where a number is claimed to lie: between ``low`` and ``high``; ``closed``: these belong to it."""

    low: float = -inf
    high: float = inf
    closed: bool = False

    def contains(self, low: float, high: float) -> bool:
        """Whether the whole interval from ``low`` to ``high`` lies inside."""
        if self.closed:
            return self.low <= low and high <= self.high
        return (self.low < low or self.low == -inf) and (high < self.high or self.high == inf)

    def excludes(self, low: float, high: float) -> bool:
        """Whether the whole interval lies outside."""
        return high < self.low or low > self.high if self.closed else high <= self.low or low >= self.high


def mean_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """The interval of the mean that a verdict uses; without a half width it decides nothing.

    Equal numbers (counts of rounds, say) say nothing about their spread. They count as an interval from the seed on
    from which chance would hardly put all of them on the same side of a wrong median: ``2 * 2^-n <= 1 - level``, which
    is six seeds at 95 %.
    """
    found = interval(values, level)
    same = max(values) - min(values) <= SAME * max(map(abs, values))
    if same and 2.0 ** (1 - len(values)) > 1 - level:
        return Interval(found.mean, None, found.n)
    return found


def decide(values: Sequence[float], region: Region, *, exact: bool = False, tests: int = 1) -> Verdict:
    """The verdict of one of ``tests`` tests of a claim on its number by seed.

    Numbers that are ``exact`` do not depend on chance: each of them has to lie in the region.
    """
    if not values:
        return "undecided"
    if exact:
        return "holds" if all(region.contains(value, value) for value in values) else "does not hold"
    inside, outside = mean_interval(values), mean_interval(values, corrected_level(tests))
    if inside.ends is not None and region.contains(*inside.ends):
        return "holds"
    if outside.ends is not None and region.excludes(*outside.ends):
        return "does not hold"
    return "undecided"


def decide_spans(
    spans: Sequence[tuple[float, float]], region: Region, *, exact: bool = False, tests: int = 1
) -> Verdict:
    """The verdict where numbers are only known to lie between two ends: as for every choice of the numbers.

    The mean of the lower ends is no larger than that of the numbers, and the mean of the upper ends no smaller; an end
    that is infinite tells nothing.

    By hand: rounds 94 and 98, and one seed that is above 100, have the lower ends 94, 98, 100 with the interval
    97.33 +- 7.59: "above 80" holds, "below 85" does not, "above 95" and "below 105" are undecided.
    """
    if not spans:
        return "undecided"
    if exact:
        if all(region.contains(*span) for span in spans):
            return "holds"
        return "does not hold" if any(region.excludes(*span) for span in spans) else "undecided"
    if region.contains(*_outer_ends(spans, LEVEL)):
        return "holds"
    return "does not hold" if region.excludes(*_outer_ends(spans, corrected_level(tests))) else "undecided"


def _outer_ends(spans: Sequence[tuple[float, float]], level: float) -> tuple[float, float]:
    """The lower end of the interval of the lower ends' mean, and the upper one of the upper ends' mean."""
    ends = []
    for side, unknown in ((0, -inf), (1, inf)):
        numbers = [span[side] for span in spans]
        found = mean_interval(numbers, level).ends if all(map(isfinite, numbers)) else None
        ends.append(unknown if found is None else found[side])
    return ends[0], ends[1]


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of a claim from those of its tests, each decided as one of ``len(verdicts)``."""
    if "does not hold" in verdicts:
        return "does not hold"
    return "holds" if all(verdict == "holds" for verdict in verdicts) else "undecided"


def corrected_level(tests: int) -> float:
    """The level at which one of so many tests refutes a claim (Bonferroni)."""
    return 1 - (1 - LEVEL) / tests

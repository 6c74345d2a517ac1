"""Many items in order of cost, and the estimated time that the rest of them takes at the pace so far.

By hand: items of 10, 20 and 70 expected seconds, of which the first took 15, leave (20 + 70) * 15/10 = 135 seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedradio.papers.plan import Reproduction, cost, expected


@dataclass(frozen=True)
class Pace:
    """How this machine does against what was expected: expected and real wall seconds of what it has made."""

    expected_s: float = 0.0
    took_s: float = 0.0

    def after(self, expected_s: float, took_s: float) -> Pace:
        """The pace after another item."""
        return Pace(self.expected_s + expected_s, self.took_s + took_s)

    @property
    def factor(self) -> float:
        """Real seconds for an expected one; 1 before anything is known."""
        return self.took_s / self.expected_s if self.expected_s > 0 and self.took_s > 0 else 1.0


def cheapest(plans: Sequence[Reproduction]) -> Reproduction:
    """The reproduction of which least time is left; the first of equals."""
    return min(plans, key=lambda plan: cost(plan).left_s)


def left_s(plans: Iterable[Reproduction], pace: Pace) -> float:
    """Wall seconds that are left for all of these at this pace; what several of them need counts once."""
    by_path: dict[object, float] = {}
    for plan in plans:
        wall_s = expected(plan)
        for unit in plan.units:
            if unit.path not in by_path and not unit.settled():
                by_path[unit.path] = wall_s[unit.path]
    return pace.factor * sum(by_path.values())

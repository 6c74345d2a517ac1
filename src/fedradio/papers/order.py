"""Many items in order of cost, and the estimated time that the rest of them takes at the pace so far.

By hand: items of 10, 20 and 70 expected seconds, of which the first took 15, leave (20 + 70) * 15/10 = 135 seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedradio.papers.plan import Reproduction, Unit, cost, expected


@dataclass(frozen=True)
class Work:
    """CPU seconds of runs, which use several cores, and of studies, which use one."""

    runs_s: float = 0.0
    studies_s: float = 0.0

    @property
    def cpu_s(self) -> float:
        """CPU seconds of both."""
        return self.runs_s + self.studies_s

    def wall_s(self, cores: int) -> float:
        """Wall seconds if runs keep so many cores busy. By hand: 30 s of runs and 5 s of studies take 20 s on two."""
        return self.runs_s / cores + self.studies_s


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
    """The reproduction of which least CPU time is left; the first of equals."""
    return min(plans, key=lambda plan: cost(plan).left_s)


def work_left(plans: Iterable[Reproduction]) -> Work:
    """What is left of all of these; what several of them need counts once."""
    found: dict[Path, tuple[Unit, float]] = {}
    for plan in plans:
        cpu_s = expected(plan)
        for unit in plan.units:
            if unit.work.path not in found and not unit.settled():
                found[unit.work.path] = unit, cpu_s[unit.path]
    runs_s = sum(cpu_s for unit, cpu_s in found.values() if unit.study is None)
    return Work(runs_s, sum(cpu_s for unit, cpu_s in found.values() if unit.study is not None))

"""Learning-rate schedules: a factor on the rate in round ``t`` (from 0) at local update ``j`` (from 0)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from fedradio.core.contracts import Constant, Schedule
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register


@register("schedule", "constant")
def constant() -> Schedule:
    """Constant learning rate."""
    return Constant()


@dataclass(frozen=True)
class Step:
    """``factor^n`` after ``n`` of the rounds ``at``."""

    at: tuple[int, ...]
    factor: float

    def __call__(self, t: int, j: int) -> float:
        return float(self.factor ** sum(t >= drop for drop in self.at))


@register("schedule", "step", paper="OSAFL, Appendix A")
def step(
    *,
    at: Annotated[tuple[int, ...], Arg("rounds at which the rate drops", ge=1)],
    factor: Annotated[float, Arg("factor on the rate at each of them", gt=0, le=1)] = 0.1,
) -> Schedule:
    """Step decay: the learning rate is multiplied by a factor at given rounds."""
    if list(at) != sorted(set(at)):
        raise SpecError(Problem("schedule.at", "rounds must increase", "list each once, in increasing order", list(at)))
    return Step(tuple(at), factor)


@dataclass(frozen=True)
class Linear:
    """From 1 to ``last`` in ``rounds`` rounds, along a line."""

    rounds: int
    last: float

    def __call__(self, t: int, j: int) -> float:
        return 1.0 + (self.last - 1.0) * min(t / self.rounds, 1.0)


@register("schedule", "linear", paper="W-HFL, Fig. 4")
def linear(
    *,
    rounds: Annotated[int, Arg("rounds until the final factor is reached", ge=1)],
    last: Annotated[float, Arg("final factor", ge=0, le=1)] = 0.0,
) -> Schedule:
    """Linear decay of the learning rate, from factor 1 down to a final factor."""
    return Linear(rounds, last)


@dataclass(frozen=True)
class Cosine:
    """From 1 to ``last`` in ``rounds`` rounds, along half a cosine."""

    rounds: int
    last: float

    def __call__(self, t: int, j: int) -> float:
        return self.last + (1.0 - self.last) * 0.5 * (1.0 + math.cos(math.pi * min(t / self.rounds, 1.0)))


@register("schedule", "cosine")
def cosine(
    *,
    rounds: Annotated[int, Arg("rounds until the final factor is reached", ge=1)],
    last: Annotated[float, Arg("final factor", ge=0, le=1)] = 0.0,
) -> Schedule:
    """Cosine decay of the learning rate, from factor 1 down to a final factor."""
    return Cosine(rounds, last)


@dataclass(frozen=True)
class Inverse:
    """``1 / (1 + decay n)`` with ``n`` rounds, or local updates of this round."""

    decay: float
    per: Literal["round", "update"]

    def __call__(self, t: int, j: int) -> float:
        return 1.0 / (1.0 + self.decay * (t if self.per == "round" else j))


@register("schedule", "inverse")
def inverse(
    *,
    decay: Annotated[float, Arg("how fast the rate falls: 1 / (1 + decay * n)", ge=0, le=1e6)] = 0.01,
    per: Annotated[Literal["round", "update"], Arg("what n counts: rounds, or local updates within a round")] = "round",
) -> Schedule:
    """Inverse decay of the learning rate, ``1 / (1 + decay n)``, over rounds or over the local updates of a round."""
    return Inverse(decay, per)

"""Full participation with an amplitude that grows from round to round, for over-the-air and ideal links (W-HFL)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import torch

from fedradio.core.contracts import Allocation, Policy, Slots, View
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.policies.effort import Epochs, Steps, effort
from fedradio.policies.fixed import Fixed

LEAST = 1e-9
"""Smallest amplitude, far below any noise, whose square is still an ordinary number."""


@dataclass(frozen=True)
class Ramp(Policy):
    """Full participation on the air with a growing amplitude, see :func:`ramp`."""

    effort: Fixed
    start_amplitude: float
    slope: float
    needs = frozenset({"amplitude"})
    everyone = True

    def amplitude(self, t: int) -> float:
        """Amplitude ``P_t`` of round ``t``, counted from 0 here and from 1 in the paper."""
        return self.start_amplitude + self.slope * (t + 1)

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        """As ``fixed``, with an amplitude instead of a power, which is undefined before the payload exists."""
        alloc, state = self.effort.decide(view, state, rng)
        amplitude = torch.full((view.senders,), self.amplitude(view.clock.t), dtype=torch.float64)
        return replace(alloc, power_w=None, amplitude=amplitude), state


@register("policy", "ramp", paper="W-HFL, section V")
def ramp(
    *,
    start: Annotated[float, Arg("amplitude before the first round", ge=0, le=1e6)] = 1.0,
    slope: Annotated[float, Arg("increase of the amplitude per round", ge=0, le=1e6)] = 0.01,
    scale: Annotated[
        float, Arg("factor on both: 20 for W-HFL's edges, 0.5 for its low-power setting", gt=0, le=1e6)
    ] = 1.0,
    steps: Steps = None,
    epochs: Epochs = None,
) -> Ramp:
    """Full participation over the air with amplitude ``P_t = scale (start + slope t)`` in round t = 1, 2, ...

    Local steps and epochs work as in ``fixed`` (default: one epoch). Over an ideal link the amplitude has no effect.
    """
    if scale * (start + slope) < LEAST:
        reason = f"the amplitude of the first round is below {LEAST:g}: nothing would be received"
        raise SpecError(Problem("policy.start", reason, "use a larger start, slope or scale", start))
    return Ramp(Fixed(effort(steps, epochs)), scale * start, scale * slope)

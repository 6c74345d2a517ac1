"""Full participation at full CPU and power."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import Allocation, Policy, Reason, Slots, View
from fedradio.core.registry import register
from fedradio.core.rng import Rng
from fedradio.policies.effort import Effort, Epochs, Steps, effort


def at_full_power(view: View, active: Tensor, steps: Tensor, reason: Tensor) -> Allocation:
    """Allocation at ``f_max`` and ``P_max``; both are undefined without a fleet."""
    fleet = view.fleet
    return Allocation(
        active=active,
        steps=torch.where(active, steps, 0),
        cpu_hz=None if fleet is None else fleet.f_max_hz,
        power_w=None if fleet is None else fleet.p_max_w,
        reason=reason,
    )


@dataclass(frozen=True)
class Fixed(Policy):
    """Full participation with the same effort every time, see :func:`fixed`."""

    effort: Effort
    everyone = True

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        active = torch.ones(view.senders, dtype=torch.bool)
        reason = torch.full((view.senders,), int(Reason.NONE))
        return at_full_power(view, active, self.effort.draw(view, rng.child("effort")), reason), state


@register("policy", "fixed")
def fixed(
    *,
    steps: Steps = None,
    epochs: Epochs = None,
) -> Fixed:
    """Full participation: every sender at full CPU and power, for given steps or epochs (default: one epoch)."""
    return Fixed(effort(steps, epochs))

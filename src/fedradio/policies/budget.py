"""Full-power baselines within the energy budget: H-FedAvg-M1 and M2 of RawHFL, with equal local steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch

from fedradio.core.contracts import Allocation, Noted, Policy, Slots, View
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.policies.joint import allocation
from fedradio.policies.slot import SLOT_NEEDS, full_power_offer, slot_of

Share = Literal["all_or_nothing", "common", "own"]


@dataclass(frozen=True)
class Budget(Policy):
    """Most local steps within deadline and energy budget at full power, see :func:`budget`."""

    max_steps: int
    share: Share
    needs = SLOT_NEEDS
    notes = frozenset({"eligible"})

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        slot = slot_of(view)
        offer = full_power_offer(slot, self.max_steps)
        active = offer.eligible
        if self.share == "all_or_nothing" and not bool(active.all()):
            active = torch.zeros_like(active)
        if self.share != "own" and bool(active.any()):
            offer = replace(offer, steps=torch.where(active, offer.steps[active].min(), offer.steps))
        eligible = torch.bincount(slot.parent[offer.eligible], minlength=slot.receivers)
        return allocation(offer, active, {"eligible": Noted("receiver", eligible)}), state


@register("policy", "budget", paper="RawHFL, section V: H-FedAvg-M1 (all_or_nothing) and H-FedAvg-M2 (common)")
def budget(
    *,
    max_steps: Annotated[int, Arg("largest number of local steps per client, L", ge=1, le=1000)] = 50,
    share: Annotated[
        Share,
        Arg(
            "all_or_nothing: the minimum over all clients, nobody trains if it is 0; common: the minimum over clients "
            "that can train; own: each client its own"
        ),
    ] = "common",
) -> Budget:
    """All clients at full CPU and power, with as many local steps as deadline and energy budget allow."""
    return Budget(max_steps, share)

"""Full-power baselines within the energy budget: H-FedAvg-M1 and M2 of RawHFL, with equal local steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch

from fedradio.core.contracts import Allocation, Noted, Policy, Reason, Slots, View
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.policies.joint import allocation
from fedradio.policies.slot import ROUNDING, SLOT_NEEDS, Offer, SlotProblem, full_power_offer, slot_of

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
        if self.share != "own" and bool(offer.eligible.any()):
            offer = _with_common_steps(slot, offer)
        active = offer.eligible
        if self.share == "all_or_nothing" and not bool(active.all()):
            active = torch.zeros_like(active)
        eligible = torch.bincount(slot.parent[offer.eligible], minlength=slot.receivers)
        return allocation(offer, active, {"eligible": Noted("receiver", eligible)}), state


def _with_common_steps(slot: SlotProblem, offer: Offer) -> Offer:
    """The offers with the least steps of all eligible clients.

    Where waiting costs more than computing, fewer steps may exceed the energy budget; such clients are not eligible.
    """
    on = offer.eligible
    steps = torch.where(on, offer.steps[on].min(), offer.steps)
    over = on & (slot.joules(steps, offer.cpu_hz, offer.power_w) > slot.fleet.energy_j * (1 + ROUNDING))
    reason = torch.where(over, int(Reason.ENERGY), offer.reason)
    return replace(offer, eligible=on & ~over, steps=steps, reason=reason)


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

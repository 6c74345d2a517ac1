"""Per-client optimisation (OSAFL): as many local steps as each client's deadline and energy budget allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch

from fedradio.core.contracts import Allocation, Noted, Policy, Slots, View
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.policies.joint import allocation
from fedradio.policies.sca import iterated_offer
from fedradio.policies.slot import SLOT_NEEDS, Offer, SlotProblem, full_power_offer, slot_of
from fedradio.policies.solvers import most_steps_offer

Mode = Literal["optimal", "paper"]


@dataclass(frozen=True)
class PerClient(Policy):
    """Per-client choice of steps, CPU frequency and power (OSAFL), see :func:`per_client`."""

    max_steps: int
    mode: Mode
    iterations: int
    point: tuple[float, float] = (1.0, 1.0)
    needs = SLOT_NEEDS
    notes = frozenset({"eligible", "full_power_steps"})

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        slot = slot_of(view)
        offer = self.solve(slot)
        notes = {
            "eligible": Noted("receiver", torch.bincount(slot.parent[offer.eligible], minlength=slot.receivers)),
            "full_power_steps": Noted("sender", full_power_offer(slot, self.max_steps).steps),
        }
        return allocation(offer, offer.eligible, notes), state

    def solve(self, slot: SlotProblem) -> Offer:
        """Every client's offer; all eligible clients take part."""
        if self.mode == "paper":
            return iterated_offer(slot, self.max_steps, self.iterations, self.point)
        return most_steps_offer(slot, self.max_steps)


@register("policy", "per_client", paper="OSAFL, problem (5), Algorithms 3 and 4")
def per_client(
    *,
    max_steps: Annotated[int, Arg("largest number of local steps per client, kappa", ge=1, le=1000)] = 5,
    mode: Annotated[
        Mode, Arg("optimal: the most steps at the lowest energy; paper: the published iteration, see start")
    ] = "optimal",
    iterations: Annotated[
        int, Arg("mode paper: passes of Algorithm 4; nothing changes after the first", ge=1, le=1000)
    ] = 1,
    start: Annotated[
        tuple[float, float], Arg("mode paper: starting point, as fractions of f_max and P_max", gt=0, le=1)
    ] = (
        1.0,
        1.0,
    ),
) -> PerClient:
    """Every client that can do a local step takes part, with as many steps as its deadline and energy budget allow.

    There is no selection; a client that cannot do a single step is recorded as a straggler, with a reason. ``optimal``
    finds, exactly, the largest number of steps that is feasible for each client at any frequency and power, and the
    lowest energy for it. ``paper`` counts the steps that fit at its starting point (7), slows the CPU down (9) and
    leaves the power unchanged (Algorithm 4 as published), which causes most of the energy use and most stragglers. The
    paper does not say where Algorithm 4 starts; here it starts at full CPU and power unless you set ``start``. The
    notes of a round contain ``eligible`` per receiver and ``full_power_steps`` per client, the steps that fit at full
    CPU and power.
    """
    if mode == "optimal" and iterations != 1:
        reason = "the exact solution does not iterate"
        raise SpecError(Problem("policy.iterations", reason, "leave it out, or set mode: paper", iterations))
    if mode == "optimal" and tuple(start) != (1.0, 1.0):
        reason = "the exact solution has no starting point"
        raise SpecError(Problem("policy.start", reason, "leave it out, or set mode: paper", list(start)))
    return PerClient(max_steps, mode, iterations, (start[0], start[1]))

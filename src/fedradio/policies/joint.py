"""Joint client selection and allocation of local steps, CPU and power in a time slot (RawHFL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.core.contracts import Allocation, Noted, Policy, Reason, Slots, View, noted
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.policies.effort import too_many_clients
from fedradio.policies.slot import SLOT_NEEDS, USUAL, Iteration, Offer, SlotProblem, Start, full_power_offer, slot_of
from fedradio.policies.solvers import least_energy_offer, select

Mode = Literal["optimal", "paper", "dc"]

ALGORITHM_2 = ("rho", "iterations", "precision", "start")
"""Keywords of :func:`joint` that apply to mode dc only."""


def allocation(offer: Offer, active: Tensor, notes: dict[str, Noted]) -> Allocation:
    """Allocation of the active clients' offers; the others get the reason why they do not take part."""
    idle = torch.where(offer.eligible, int(Reason.NOT_SELECTED), offer.reason)
    return Allocation(
        active=active,
        steps=torch.where(active, offer.steps, 0),
        cpu_hz=offer.cpu_hz,
        power_w=offer.power_w,
        reason=torch.where(active, int(Reason.NONE), idle),
        notes=notes,
    )


@dataclass(frozen=True)
class Joint(Policy):
    """Joint selection of clients, steps, CPU frequencies and powers (RawHFL), see :func:`joint`."""

    clients: int
    max_steps: int
    mode: Mode
    theta: float
    overlap: int
    iteration: Iteration = USUAL
    needs = SLOT_NEEDS

    @property
    def notes(self) -> frozenset[str]:
        usual = frozenset({"eligible", "short", "relaxed"})
        return usual | {"iterations"} if self.mode == "dc" else usual

    def check(self, parent: Tensor, receivers: int) -> str:
        return too_many_clients(self.clients, parent, receivers)

    def start(self, senders: int) -> Slots:
        return {"before": torch.zeros(senders, dtype=torch.bool)}

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        slot = slot_of(view)
        offer, active, notes = self.solve(slot, state["before"])
        return allocation(offer, active, noted("receiver", notes)), {"before": active}

    def solve(self, slot: SlotProblem, before: Tensor) -> tuple[Offer, Tensor, dict[str, Tensor]]:
        """Offers, selection ``[S]`` and notes ``[R]`` of one slot; ``before [S]`` marks the selection before it."""
        if self.mode == "dc":
            from fedradio.policies.joint_dc import dc_decision  # its solver loads scipy: only for those who ask

            return dc_decision(slot, self.clients, self.max_steps, self.theta, self.overlap, before, self.iteration)
        if self.mode == "paper":
            offer = full_power_offer(slot, self.max_steps)
        else:
            offer = least_energy_offer(slot, self.max_steps, self.theta)
        active, notes = select(slot, offer, self.theta, self.clients, self.overlap, before)
        return offer, active, notes


@register("policy", "joint", paper="RawHFL, problem (28)/(29) and Algorithm 2")
def joint(
    *,
    clients: Annotated[int, Arg("clients selected per cell, Z, with one resource block each", ge=1, le=10_000)] = 4,
    max_steps: Annotated[int, Arg("largest number of local steps per client, L", ge=1, le=1000)] = 50,
    mode: Annotated[
        Mode,
        Arg(
            "optimal: exact optimum; paper: everyone at f_max and P_max; dc: the iterative convex programmes of "
            "Algorithm 2"
        ),
    ] = "optimal",
    theta: Annotated[float, Arg("weight of local steps against joules", ge=0, le=1)] = 0.4,
    overlap: Annotated[
        int | None,
        Arg("largest number of clients selected twice in a row, Psi; null: half of clients", ge=0, le=10_000),
    ] = None,
    rho: Annotated[
        float,
        Arg("mode dc: penalty on fractional selections; the paper uses 1, which freezes the first selection", ge=0),
    ] = 0.0,
    iterations: Annotated[int, Arg("mode dc: largest number of iterations of Algorithm 2, I", ge=1, le=10_000)] = 50,
    precision: Annotated[
        float, Arg("mode dc: stop when no scaled variable changes by more than this", ge=0, le=1)
    ] = 1e-3,
    start: Annotated[
        Start,
        Arg("mode dc: starting point: full CPU and power, the cheapest single step, or the clients' exact optimum"),
    ] = "full_power",
) -> Joint:
    """Joint optimisation of client selection, local steps, CPU frequency and power within deadline and energy budgets.

    ``optimal`` solves the problem exactly: it separates into one convex search per client and a selection per cell.
    ``paper`` runs all clients at full CPU and power, which comes close to the published joules. ``dc`` is the published
    difference-of-convex iteration, repaired where it fails as printed; ``rho``, ``iterations``, ``precision`` and
    ``start`` are its settings.
    """
    iteration = Iteration(rho, iterations, precision, start)
    if mode != "dc" and iteration != USUAL:
        reason = f"{', '.join(ALGORITHM_2)} apply to mode dc only"
        raise SpecError(Problem("policy.mode", reason, "set mode: dc, or leave them out", mode))
    return Joint(clients, max_steps, mode, theta, clients // 2 if overlap is None else overlap, iteration)

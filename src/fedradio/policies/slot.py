"""Optimisation problem of one time slot, RawHFL's (28)/(29), for all clients at once.

Constraints C4-C8 concern one client each, so they are vectors ``[S]``; only the selection couples clients, inside a
cell. A client's computing of ``L`` local steps takes ``n = L*C`` cycles; its upload of ``s`` bits in ``tau`` seconds
takes the power ``P = u (2^(s/(w tau)) - 1)`` where ``u = N0 w / g``. A client that ends before the deadline waits for
it: planners count its idle power until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from fedradio.core.contracts import Fleet, LinkTrait, Piece, Reason, View
from fedradio.fleet.costs import beyond_idle, compute_j, compute_s, sender_j, transmit_j
from fedradio.links.rates import airtime_s

Start = Literal["full_power", "one_step", "optimum"]
"""Where the iteration of Algorithm 2 starts: at full CPU and power, at the cheapest single step, or at each client's
exact optimum."""

SLACK = 1e-12
"""Share of the deadline that plans leave unused, so that rounding never makes a planned upload late."""

ROUNDING = 1e-9
"""Share of the energy budget by which a plan that fits it exactly may seem to exceed it."""

SLOT_NEEDS: frozenset[LinkTrait | Piece] = frozenset({"rate", "fleet", "channel", "deadline", "steps"})
"""Needs of every policy that solves a slot problem."""


@dataclass(frozen=True)
class Iteration:
    """Settings of RawHFL's Algorithm 2: ``rho`` weighs selections between 0 and 1 (35), ``most`` iterations I, and the
    ``precision`` of scaled variables at which they end earlier; ``start`` is its first point."""

    rho: float = 0.0
    most: int = 50
    precision: float = 1e-3
    start: Start = "full_power"


USUAL = Iteration()
"""Settings without more said."""


@dataclass(frozen=True)
class SlotProblem:
    """Data of one time slot: ``cycles [S]`` of a local step, ``unit_w [S]`` the power for an SNR of 1, ``bits`` of a
    payload; ``unable [S]`` is the reason why a client cannot take part, 0 if it can."""

    parent: Tensor
    receivers: int
    cycles: Tensor
    unit_w: Tensor
    fleet: Fleet
    bits: float
    bandwidth_hz: float
    deadline_s: float
    unable: Tensor

    @property
    def clients(self) -> int:
        return len(self.parent)

    @property
    def able(self) -> Tensor:
        """Whether each client can take part, ``[S]``."""
        return self.unable == 0

    @cached_property
    def busy_fleet(self) -> Fleet:
        """The devices with powers counted from their idle power on; ``idle_j`` is the rest of their energy."""
        return beyond_idle(self.fleet)

    @property
    def idle_j(self) -> float:
        """Energy of a client that waits from the beginning to the deadline, ``P_idle T``."""
        return self.fleet.idle_w * self.deadline_s

    def joules(self, steps: Tensor, cpu_hz: Tensor, power_w: Tensor) -> Tensor:
        """Energy ``[S]`` of so many steps, an upload at that power, and waiting for the deadline."""
        tau = airtime_s(self.bits, self.bandwidth_hz, power_w, self.unit_w)
        return sender_j(self.fleet, steps * self.cycles, cpu_hz, power_w, tau, self.deadline_s)


@dataclass(frozen=True)
class Offer:
    """Each client's feasible allocation in a slot ``[S]``: eligible or why not; steps, CPU, power, energy."""

    eligible: Tensor
    steps: Tensor
    cpu_hz: Tensor
    power_w: Tensor
    energy_j: Tensor
    reason: Tensor


def slot_of(view: View) -> SlotProblem:
    """The slot problem of a policy's view; ``needs`` ensures that fleet, channel, rate and deadline are there."""
    assert view.fleet is not None
    assert view.cycles_per_step is not None
    assert view.payload_bits is not None
    assert view.deadline_s is not None
    rates = view.rates
    assert rates is not None
    return SlotProblem(
        parent=view.parent,
        receivers=view.receivers,
        cycles=view.cycles_per_step,
        unit_w=rates.unit_w,
        fleet=view.fleet,
        bits=view.payload_bits,
        bandwidth_hz=rates.bandwidth_hz,
        deadline_s=view.deadline_s * (1.0 - SLACK),
        unable=torch.zeros(view.senders, dtype=torch.long) if view.unable is None else view.unable,
    )


def full_power_offer(slot: SlotProblem, max_steps: int) -> Offer:
    """Offers at ``f_max`` and ``P_max``: the most steps (at most ``max_steps``) that fit deadline and budget."""
    return offer_at(slot, max_steps, slot.fleet.f_max_hz, slot.fleet.p_max_w)


def offer_at(slot: SlotProblem, max_steps: int, cpu_hz: Tensor, power_w: Tensor, grace_s: float = 0.0) -> Offer:
    """Offers at given frequencies and powers ``[S]``: the most steps (at most ``max_steps``) that fit.

    Deadline and budget as in OSAFL's Lemma 1, eq. (7), rounded down. With ``grace_s`` a step that ends so much after
    the deadline still counts: for points at which the deadline is tight up to rounding.
    """
    fleet = slot.busy_fleet
    tau = airtime_s(slot.bits, slot.bandwidth_hz, power_w, slot.unit_w)
    up_j = transmit_j(fleet, power_w * tau, tau)
    step_s = compute_s(slot.cycles, cpu_hz)
    step_j = compute_j(fleet, slot.cycles, cpu_hz)
    left_j = fleet.energy_j - slot.idle_j - up_j
    in_time = torch.floor((slot.deadline_s + grace_s - tau) / step_s).nan_to_num(posinf=max_steps)
    in_budget = torch.floor(left_j / step_j).nan_to_num(posinf=max_steps)
    if fleet.cpu_static_w < 0:  # a step may cost less than waiting: then it is the most steps that must be affordable
        most = in_time.clamp(max=max_steps)
        in_budget = torch.where(step_j > 0, in_budget, torch.where(most * step_j <= left_j, most, 0.0))
    steps = torch.minimum(in_time, in_budget).clamp(max=max_steps).long()
    eligible = (steps >= 1) & slot.able
    late = torch.where(in_time < 1, int(Reason.DEADLINE), int(Reason.ENERGY))
    late = torch.where(slot.able, late, slot.unable)
    steps = steps.clamp(min=0)
    return Offer(
        eligible=eligible,
        steps=steps,
        cpu_hz=cpu_hz,
        power_w=power_w,
        energy_j=up_j + steps * step_j + slot.idle_j,
        reason=torch.where(eligible, int(Reason.NONE), late),
    )

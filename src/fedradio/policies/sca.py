"""OSAFL's successive convex approximation of problem (5) in closed form: Algorithms 3 and 4 (1 of the main text).

Algorithm 4 starts at a point that is not printed, here ``(f_max, P_max)`` or shares of them, and repeats three steps:
the most local steps that fit (7), the lowest frequency that keeps the deadline (9), the best power for both (Algorithm
3). The last one is a successive convex approximation of (10): problem (52) maximises the tangent of the energy
efficiency ``w log2(1 + p/u) / p`` at the point reached, under the tangent of the upload energy
``s p / (w log2(1 + p/u))``. It needs no solver:

- the efficiency falls with ``p`` everywhere, so its tangent does, and the best power is the least one allowed;
- the upload energy rises with ``p``, so its tangent does, and a power below one that keeps the budget keeps it too.

Hence (52) has the solution (10c), the least power that keeps the deadline, wherever it starts, and Algorithm 3 ends
after one step. This takes the tangent's slope from (50); in (12) the factor ``1 + p/u`` has slipped from the
denominator into the numerator, which makes the slope positive and would raise the power to its limit.

Two properties follow. **It stalls:** after (9) the deadline is tight at the power before, so (10c) gives that power
back, and then (7) gives the same steps. One pass settles everything; power is never optimised. And **problem (5) is
ill-posed:** its first term ``kappa / f^2`` is unbounded, for with ``f`` proportional to ``kappa``, as (9) has it, it
grows like ``1 / kappa``; of whole steps ``kappa = 1`` is always best. That Algorithm 4 trains for longer is due to the
order of its steps, not to the objective.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import Reason
from fedradio.links.rates import airtime_s, power_for_w
from fedradio.policies.slot import ROUNDING, SLACK, Offer, SlotProblem, offer_at


def frequency_9(slot: SlotProblem, cycles: Tensor, power_w: Tensor) -> Tensor:
    """Lemma 2, eq. (9): the frequency ``[S]`` at which ``cycles [S]`` and an upload at that power take the deadline."""
    left = slot.deadline_s - airtime_s(slot.bits, slot.bandwidth_hz, power_w, slot.unit_w)
    return cycles / left


def power_10c(slot: SlotProblem, cycles: Tensor, cpu_hz: Tensor) -> Tensor:
    """Eq. (10c), the solution of (52): the power ``[S]`` that sends in what ``cycles [S]`` leave of the deadline."""
    return power_for_w(slot.bits, slot.bandwidth_hz, slot.deadline_s - cycles / cpu_hz, slot.unit_w)


def iterated_offer(
    slot: SlotProblem, max_steps: int, iterations: int, start: tuple[float, float] = (1.0, 1.0)
) -> Offer:
    """Offers after ``iterations`` passes of Algorithm 4 from shares ``start`` of ``(f_max, P_max)``. Stragglers, who
    cannot do a step there, stay at it.

    Devices may have floors, circuit and static power, which the paper's have not: frequency and power are then at
    least the floors, and a client that exceeds the energy budget after the last pass, because (9) runs the CPU for
    longer than at ``f_max``, is a straggler as well (Lemma 2 calls it infeasible).
    """
    fleet = slot.fleet
    cpu, power = (start[0] * fleet.f_max_hz).clamp(min=fleet.cpu_min_hz), (start[1] * fleet.p_max_w)
    offer = offer_at(slot, max_steps, cpu, power.clamp(min=fleet.tx_min_w))
    for _ in range(iterations - 1):
        cpu, power = _pass(slot, offer)
        offer = offer_at(slot, max_steps, cpu, power, grace_s=0.5 * SLACK * slot.deadline_s)
    cpu, power = _pass(slot, offer)
    joules = slot.joules(offer.steps, cpu, power)
    eligible = offer.eligible & (joules <= fleet.energy_j * (1 + ROUNDING))
    return Offer(
        eligible=eligible,
        steps=torch.where(eligible, offer.steps, 0),
        cpu_hz=cpu,
        power_w=power,
        energy_j=torch.where(eligible, joules, 0.0),
        reason=torch.where(offer.eligible & ~eligible, int(Reason.ENERGY), offer.reason),
    )


def _pass(slot: SlotProblem, offer: Offer) -> tuple[Tensor, Tensor]:
    """Frequency (9) and power (10c) for an offer's steps; stragglers stay where they are.

    Neither exceeds what the offer was made at but for rounding, which is cut off.
    """
    fleet, on = slot.fleet, offer.eligible
    cycles = offer.steps * slot.cycles
    cpu = frequency_9(slot, cycles, offer.power_w).clamp(min=fleet.cpu_min_hz)
    cpu = torch.where(on, torch.minimum(cpu, fleet.f_max_hz), offer.cpu_hz)
    power = power_10c(slot, cycles, cpu).clamp(min=fleet.tx_min_w)
    return cpu, torch.where(on, torch.minimum(power, fleet.p_max_w), offer.power_w)

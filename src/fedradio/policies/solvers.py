"""Exact solver of RawHFL's problem (28)/(29).

For a client with ``n = L*C`` cycles the joules of a plan that sends for ``tau`` seconds are
``E(tau) = P_idle T + tau [u/eta (2^(s/(w tau)) - 1) + P_circuit] + h(min(T - tau, t_cap))`` with
``h(t) = zeta/2 n^3/t^2 + P_static t``, where ``t_cap`` is the computing time beyond which slowing down further is
impossible (``n / f_min``) or no longer pays (``n (zeta/P_static)^(1/3)``). ``P_circuit`` and ``P_static`` are counted
from the idle power on (:func:`fedradio.fleet.costs.beyond_idle`) and may be negative. Both terms are convex in ``tau``
on ``[tau(P_max), min(T - n/f_max, tau(P_min))]``, so the sign of the derivative decides: bisection, for all clients
and all ``L`` together.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fedradio.core.contracts import Reason
from fedradio.core.params import group_rank, group_sum
from fedradio.links.rates import airtime_s, power_for_w
from fedradio.policies.slot import Offer, SlotProblem

BISECTIONS = 36
"""The airtime is then known to 1e-11 of its range and the energy, which is flat there, to the last digit."""


def least_energy_offer(slot: SlotProblem, max_steps: int, theta: float) -> Offer:
    """Each client's best plan: the ``L`` in ``1..max_steps`` that minimises ``-theta L + (1 - theta) E*(L)``.

    A client whose fastest upload misses the deadline is shown at full CPU and power.
    """
    fleet = slot.busy_fleet
    steps = torch.arange(1, max_steps + 1, dtype=torch.float64)
    n = slot.cycles[:, None] * steps  # [S, L] cycles
    fastest = airtime_s(slot.bits, slot.bandwidth_hz, fleet.p_max_w, slot.unit_w)[:, None].expand_as(n)
    slowest = _slowest_upload(slot, n)
    cap = _computing_cap(slot, n)
    possible = slowest >= fastest
    tau = _bisect(slot, n, cap, fastest, torch.maximum(slowest, fastest))
    computing = torch.where(possible, torch.minimum(slot.deadline_s - tau, cap), n / fleet.f_max_hz[:, None])
    power = power_for_w(slot.bits, slot.bandwidth_hz, tau, slot.unit_w[:, None])
    power = torch.minimum(power, fleet.p_max_w[:, None]).clamp(min=fleet.tx_min_w)
    joules = tau * (power / fleet.pa_efficiency + fleet.circuit_w) + _computing_j(slot, n, computing) + slot.idle_j
    feasible = possible & (joules <= fleet.energy_j[:, None])
    cost = torch.where(feasible, (1 - theta) * joules - theta * steps, math.inf)
    best = cost.argmin(dim=1, keepdim=True)
    eligible = feasible.any(dim=1) & slot.able
    refusal = torch.where(possible[:, 0], int(Reason.ENERGY), int(Reason.DEADLINE))
    refusal = torch.where(slot.able, refusal, slot.unable)

    def chosen(values: Tensor) -> Tensor:
        return values.gather(1, best).squeeze(1)

    return Offer(
        eligible=eligible,
        steps=torch.where(eligible, best.squeeze(1) + 1, 0),
        cpu_hz=torch.minimum(chosen(n) / chosen(computing), fleet.f_max_hz),
        power_w=chosen(power),
        energy_j=torch.where(eligible, chosen(joules), 0.0),
        reason=torch.where(eligible, int(Reason.NONE), refusal),
    )


def most_steps_offer(slot: SlotProblem, max_steps: int) -> Offer:
    """Each client's largest feasible ``L`` in ``1..max_steps``, for the least energy.

    ``E*(L)`` is least for every ``L`` already, so this is the weight 1: no energy is worth a step.
    """
    return least_energy_offer(slot, max_steps, theta=1.0)


def _slowest_upload(slot: SlotProblem, n: Tensor) -> Tensor:
    """Longest airtime ``[S, L]`` that leaves time to compute at ``f_max`` and needs no less than the lowest power."""
    left = slot.deadline_s - n / slot.fleet.f_max_hz[:, None]
    if slot.fleet.tx_min_w == 0:
        return left
    lowest = torch.full_like(slot.unit_w, slot.fleet.tx_min_w)
    return torch.minimum(left, airtime_s(slot.bits, slot.bandwidth_hz, lowest, slot.unit_w)[:, None])


def _computing_cap(slot: SlotProblem, n: Tensor) -> Tensor:
    """Longest useful computing time ``[S, L]``: at the lowest frequency, or where static power outweighs the saving."""
    fleet = slot.busy_fleet
    pays = math.inf if fleet.cpu_static_w <= 0 else (fleet.capacitance / fleet.cpu_static_w) ** (1 / 3)
    slowest = math.inf if fleet.cpu_min_hz == 0 else 1.0 / fleet.cpu_min_hz
    return (n * min(pays, slowest)).clamp(min=n / fleet.f_max_hz[:, None])


def _computing_j(slot: SlotProblem, n: Tensor, seconds: Tensor) -> Tensor:
    """``h(t) = zeta/2 n^3/t^2 + P_static t``."""
    return 0.5 * slot.fleet.capacitance * n**3 / seconds**2 + slot.busy_fleet.cpu_static_w * seconds


def _bisect(slot: SlotProblem, n: Tensor, cap: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """The minimiser of ``E`` on ``[low, high]``: where the derivative, which increases, changes its sign."""
    low, high = low.clone(), high.clone()
    first, last = low.clone(), high.clone()
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        rising = _slope(slot, n, cap, middle) > 0
        high = torch.where(rising, middle, high)
        low = torch.where(rising, low, middle)
    ends_low = _slope(slot, n, cap, first) >= 0
    ends_high = _slope(slot, n, cap, last) <= 0
    return torch.where(ends_low, first, torch.where(ends_high, last, 0.5 * (low + high)))


def _slope(slot: SlotProblem, n: Tensor, cap: Tensor, tau: Tensor) -> Tensor:
    """``dE/dtau = u/eta (2^x - 1 - x ln2 2^x) + P_circuit + [T - tau < t_cap] (zeta n^3/(T - tau)^3 - P_static)``."""
    fleet = slot.busy_fleet
    y = (slot.bits * math.log(2.0) / slot.bandwidth_hz) / tau
    power = torch.expm1(y)  # in units of u; 2^x - 1 - x ln2 2^x = power - y (1 + power)
    sending = slot.unit_w[:, None] / fleet.pa_efficiency * (power - y - y * power) + fleet.circuit_w
    left = slot.deadline_s - tau
    frequency = n / left
    squeezed = fleet.capacitance * frequency * frequency * frequency - fleet.cpu_static_w
    return sending + torch.where(left < cap, squeezed, 0.0)


def select(
    slot: SlotProblem, offer: Offer, theta: float, clients: int, overlap: int, before: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """The cheapest ``clients`` of every cell of which at most ``overlap`` took part the last time (C2, C3), exactly.

    For every overlap ``r`` the best set has the ``r`` cheapest repeated and the ``clients - r`` cheapest new ones. With
    too few eligible all of them are taken; where C3 cannot be kept, the least possible overlap is. Returns the
    selection ``[S]``, and notes per cell ``[R]``: ``eligible``, ``short`` (how many fewer than wanted), ``relaxed``
    (overlap beyond the allowed one).
    """
    cost = torch.where(offer.eligible, (1 - theta) * offer.energy_j - theta * offer.steps, math.inf)
    returning, fresh = offer.eligible & before, offer.eligible & ~before
    many_returning = group_sum(returning.long(), slot.parent, slot.receivers)
    many_fresh = group_sum(fresh.long(), slot.parent, slot.receivers)
    wanted = (many_returning + many_fresh).clamp(max=clients)  # [R]
    least = (wanted - many_fresh).clamp(min=0)
    most = torch.minimum(torch.maximum(least, torch.full_like(least, overlap)), torch.minimum(many_returning, wanted))
    repeated = _cheapest_sums(slot, cost, returning, clients)
    new = _cheapest_sums(slot, cost, fresh, clients)
    r = torch.arange(clients + 1).expand(slot.receivers, -1)
    rest = (wanted[:, None] - r).clamp(min=0)
    total = repeated + new.gather(1, rest)
    total = torch.where((r >= least[:, None]) & (r <= most[:, None]), total, math.inf)
    repeats = total.argmin(dim=1)  # [R]
    active = returning & (_rank(slot, cost, returning) < repeats[slot.parent])
    active = active | (fresh & (_rank(slot, cost, fresh) < (wanted - repeats)[slot.parent]))
    notes = {
        "eligible": many_returning + many_fresh,
        "short": clients - wanted,
        "relaxed": (repeats - overlap).clamp(min=0),
    }
    return active, notes


def _rank(slot: SlotProblem, cost: Tensor, among: Tensor) -> Tensor:
    """Rank by cost inside the cell, counting only ``among``."""
    return group_rank(torch.where(among, cost, math.inf), slot.parent)


def _cheapest_sums(slot: SlotProblem, cost: Tensor, among: Tensor, most: int) -> Tensor:
    """``out[b, r]`` is the cost of the ``r`` cheapest of cell ``b`` in ``among``, infinite where there are fewer."""
    rank = _rank(slot, cost, among)
    kept = among & (rank < most)
    table = torch.full((slot.receivers, most), math.inf, dtype=torch.float64)
    table[slot.parent[kept], rank[kept]] = cost[kept]
    return torch.cat((torch.zeros(slot.receivers, 1, dtype=torch.float64), table.cumsum(dim=1)), dim=1)

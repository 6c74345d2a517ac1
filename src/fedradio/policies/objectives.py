"""The papers' objectives of a slot, at an allocation and at the exact optimum: RawHFL's (28), (29) and OSAFL's (5).

RawHFL, with weights ``alpha_b = 1/B`` of the cells and ``alpha_u = 1/|U_b|`` of a cell's clients:
``X = sum_b alpha_b sum_u alpha_u L_u`` over the selected clients, ``Y`` the same of their joules; (28) is ``1/X``, (29)
is ``-theta X + (1 - theta) Y``. Both are minimised. By hand: one cell with two clients, both selected, with 3 and 5
steps and .1 and .3 J: ``X = 4``, ``Y = .2``, (28) = .25, (29) = -.4*4 + .6*.2 = -1.48.

OSAFL, for each client: ``eps kappa / (zeta/2 C f^2) + (1 - eps) w log2(1 + p/u) / p``, which is maximised. The first
term is steps over the joules of a step, the second bits a joule. By hand: ``C = 1e9`` cycles, ``f = 1 GHz``,
``zeta = 2e-28``: a step takes .1 J, so one step counts 10; ``w = 1 MHz``, ``p/u = 3``, ``p = .3 W``: 6.67 Mbit/J.
The paper does not print ``eps``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.params import group_sum
from fedradio.fleet.costs import compute_j, transmit_j
from fedradio.links.rates import airtime_s, power_for_w
from fedradio.policies.slot import SlotProblem
from fedradio.policies.solvers import least_energy_offer, select

EPSILON = 0.5
"""Weight of OSAFL's (5) where none is given: ours, the paper prints none."""

OF_28, OF_29, OF_5 = "(28) 1/steps", "(29)", "(5) at epsilon {:g}"
"""Titles of the objectives."""

GRID = 1000
"""Airtimes at which (5) is first looked at; the best is then refined between its neighbours."""
REFINEMENTS = 40
"""Steps of that refinement, each by a third."""


@dataclass(frozen=True)
class Point:
    """A point of a slot's problem: the plan ``name``, and its quantities by title, the unit in the title.

    ``best`` is the quantity of which it is the optimum, None for the chosen plan.
    """

    name: str
    best: str | None
    quantities: Mapping[str, float | None]


@dataclass(frozen=True)
class Plan:
    """Steps, frequency and power of the clients that are ``active``, all ``[S]``."""

    active: Tensor
    steps: Tensor
    cpu_hz: Tensor
    power_w: Tensor

    def joules(self, slot: SlotProblem) -> Tensor:
        """Joules ``[S]`` of computing, sending and waiting for the deadline; 0 for idle clients."""
        return torch.where(self.active, slot.joules(self.steps, self.cpu_hz, self.power_w), 0.0)


def rawhfl_points(
    slot: SlotProblem, chosen: Plan, *, clients: int, max_steps: int, theta: float, overlap: int, before: Tensor
) -> list[Point]:
    """(28) and (29) at the chosen plan and at the exact optimum of each; ``before [S]`` was selected the last time."""
    points = [_rawhfl_point("chosen", None, slot, chosen, theta)]
    for best, weight in ((OF_29, theta), (OF_28, 1.0)):  # without joules (29) counts steps
        offer = least_energy_offer(slot, max_steps, weight)
        active, _ = select(slot, offer, weight, clients, overlap, before)
        plan = Plan(active, torch.where(active, offer.steps, 0), offer.cpu_hz, offer.power_w)
        points.append(_rawhfl_point(f"optimum of {best.split()[0]}", best, slot, plan, theta))
    return points


def _rawhfl_point(name: str, best: str | None, slot: SlotProblem, plan: Plan, theta: float) -> Point:
    joules, steps = plan.joules(slot), torch.where(plan.active, plan.steps, 0)
    x, y = _weighted(slot, steps.double()), _weighted(slot, joules)
    return Point(
        name,
        best,
        {
            "clients": float(plan.active.sum()),
            "steps": float(steps.sum()),
            "J": float(joules.sum()),
            OF_28: 1 / x if x > 0 else None,
            OF_29: -theta * x + (1 - theta) * y,
        },
    )


def _weighted(slot: SlotProblem, values: Tensor) -> float:
    """``sum_b alpha_b sum_u alpha_u values_u`` with equal weights; cells without clients count nothing."""
    size = group_sum(torch.ones_like(slot.parent), slot.parent, slot.receivers)
    sums = group_sum(values, slot.parent, slot.receivers)
    return float((sums[size > 0] / size[size > 0]).mean())


def osafl_points(slot: SlotProblem, chosen: Plan, *, max_steps: int, epsilon: float = EPSILON) -> list[Point]:
    """Means of (5) and its terms over the clients of the chosen plan: there, and at every client's exact optimum."""
    best = best_of_5(slot, max_steps, epsilon)
    on = chosen.active & best.active
    points = (("chosen", None, chosen), ("optimum of (5)", OF_5.format(epsilon), best))
    return [Point(name, title, _osafl_means(slot, plan, on, epsilon)) for name, title, plan in points]


def _osafl_means(slot: SlotProblem, plan: Plan, on: Tensor, epsilon: float) -> dict[str, float | None]:
    """Means of (5), its terms, steps and joules over the clients ``on [S]``."""
    first, second = terms_of_5(slot, plan.steps, plan.cpu_hz, plan.power_w)
    columns = {
        "mean steps": plan.steps.double(),
        "mean J": plan.joules(slot),
        "(5) steps/(J a step)": first,
        "(5) Mbit/J": second / 1e6,
        OF_5.format(epsilon): epsilon * first + (1 - epsilon) * second,
    }
    means = {title: float(values[on].mean()) if bool(on.any()) else None for title, values in columns.items()}
    return {"clients": float(on.sum()), **means}


def terms_of_5(slot: SlotProblem, steps: Tensor, cpu_hz: Tensor, power_w: Tensor) -> tuple[Tensor, Tensor]:
    """Both terms of (5) without their weights: ``kappa / (zeta/2 C f^2)``, and bits a joule."""
    unit, cycles = (values.view(-1, *[1] * (power_w.dim() - 1)) for values in (slot.unit_w, slot.cycles))
    seconds = airtime_s(slot.bits, slot.bandwidth_hz, power_w, unit)
    return steps / (0.5 * slot.fleet.capacitance * cycles * cpu_hz**2), slot.bits / (seconds * power_w)


def best_of_5(slot: SlotProblem, max_steps: int, epsilon: float = EPSILON) -> Plan:
    """Every client's maximum of (5) over whole steps from 1, frequencies and powers, within (5a) to (5e).

    For given steps and airtime the power is known, and the lowest frequency that keeps the deadline is best, so that
    one variable is left, the airtime. Idle are clients that cannot do a step.
    """
    plans = [_best_airtime(slot, steps, epsilon) for steps in range(1, max_steps + 1)]
    value = torch.stack([value for value, _, _ in plans], dim=1)  # [S, L]
    best = value.argmax(dim=1, keepdim=True)
    cpu, power = (torch.stack([plan[k] for plan in plans], dim=1).gather(1, best).squeeze(1) for k in (1, 2))
    active = torch.isfinite(value.amax(dim=1)) & slot.able
    return Plan(active, torch.where(active, best.squeeze(1) + 1, 0), cpu, power)


def _best_airtime(slot: SlotProblem, steps: int, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """The maximum ``[S]`` of (5) with so many steps, -inf where there is none, and its frequency and power."""
    fleet = slot.fleet
    n = steps * slot.cycles
    low = airtime_s(slot.bits, slot.bandwidth_hz, fleet.p_max_w, slot.unit_w)
    idle = torch.full_like(low, fleet.tx_min_w)
    high = torch.minimum(
        slot.deadline_s - n / fleet.f_max_hz, airtime_s(slot.bits, slot.bandwidth_hz, idle, slot.unit_w)
    )
    possible = high >= low
    high = torch.maximum(high, low)
    tau = low[:, None] + (high - low)[:, None] * torch.linspace(0, 1, GRID + 1, dtype=low.dtype)  # [S, grid]
    best = _value_of_5(slot, steps, tau, epsilon)[0].argmax(dim=1)
    left = tau.gather(1, (best - 1).clamp(min=0)[:, None])
    right = tau.gather(1, (best + 1).clamp(max=GRID)[:, None])
    start = tau.gather(1, best[:, None])
    for _ in range(REFINEMENTS):
        one, two = left + (right - left) / 3, right - (right - left) / 3
        rising = _value_of_5(slot, steps, one, epsilon)[0] < _value_of_5(slot, steps, two, epsilon)[0]
        left, right = torch.where(rising, one, left), torch.where(rising, right, two)
    tau = torch.cat((start, 0.5 * (left + right)), dim=1)  # [S, 2]
    value, cpu, power = _value_of_5(slot, steps, tau, epsilon)
    better = value.argmax(dim=1, keepdim=True)
    value, cpu, power = (each.gather(1, better).squeeze(1) for each in (value, cpu, power))
    return torch.where(possible, value, -math.inf), cpu, power


def _value_of_5(slot: SlotProblem, steps: int, tau: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """(5) for airtimes ``tau [S, n]``, -inf where the budget (5d) is exceeded; frequency and power."""
    fleet = slot.busy_fleet
    n = (steps * slot.cycles)[:, None]
    power = power_for_w(slot.bits, slot.bandwidth_hz, tau, slot.unit_w[:, None])
    power = torch.minimum(power, fleet.p_max_w[:, None]).clamp(min=fleet.tx_min_w)
    slowest = torch.minimum((n / (slot.deadline_s - tau)).clamp(min=fleet.cpu_min_hz), fleet.f_max_hz[:, None])
    budget = fleet.energy_j[:, None] - slot.idle_j - transmit_j(fleet, power * tau, tau)
    cpu = _within(slot, n, slowest, budget)
    first, second = terms_of_5(slot, torch.full_like(tau, steps), cpu, power)
    fits = compute_j(fleet, n.expand_as(cpu), cpu) <= budget
    return torch.where(fits, epsilon * first + (1 - epsilon) * second, -math.inf), cpu, power


def _within(slot: SlotProblem, n: Tensor, slowest: Tensor, budget: Tensor) -> Tensor:
    """The lowest frequency from ``slowest`` on whose joules keep the budget; with static power slower may cost more."""
    fleet, cycles = slot.busy_fleet, n.expand_as(slowest)
    over = compute_j(fleet, cycles, slowest) > budget
    if fleet.cpu_static_w <= 0 or not bool(over.any()):
        return slowest
    cheapest = torch.full_like(slowest, (fleet.cpu_static_w / fleet.capacitance) ** (1 / 3))
    low, high = slowest, torch.maximum(torch.minimum(cheapest, fleet.f_max_hz[:, None]), slowest)
    for _ in range(REFINEMENTS):
        middle = 0.5 * (low + high)
        dear = compute_j(fleet, cycles, middle) > budget
        low, high = torch.where(dear, middle, low), torch.where(dear, high, middle)
    return torch.where(over, high, slowest)

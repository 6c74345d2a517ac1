"""Objectives of a slot: cases by hand, and optima that no grid beats."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from support.slots import HARDWARE_KINDS, one_client, osafl_slot, rawhfl_slot, seconds_and_joules

from fedradio.links.rates import airtime_s
from fedradio.policies.objectives import Plan, best_of_5, osafl_points, rawhfl_points, terms_of_5
from fedradio.policies.sca import iterated_offer
from fedradio.policies.slot import SlotProblem, full_power_offer, slot_of
from fedradio.policies.solvers import least_energy_offer, most_steps_offer, select

ONE = torch.ones(1, dtype=torch.float64)


def plan_of(slot: SlotProblem, offer, active: torch.Tensor | None = None) -> Plan:  # type: ignore[no-untyped-def]
    on = offer.eligible if active is None else active
    return Plan(on, torch.where(on, offer.steps, 0), offer.cpu_hz, offer.power_w)


def test_terms_of_5_by_hand() -> None:
    slot = slot_of(one_client(budget_j=9.0))
    first, second = terms_of_5(slot, ONE, 1e9 * ONE, 0.3 * ONE)
    assert float(first) == pytest.approx(10.0)
    assert float(second) == pytest.approx(2e6 / 0.3)
    chosen, best = osafl_points(slot, Plan(ONE > 0, ONE, 1e9 * ONE, 0.3 * ONE), max_steps=3)
    assert chosen.quantities["(5) at epsilon 0.5"] == pytest.approx(0.5 * 10 + 0.5 * 2e6 / 0.3)
    assert chosen.quantities["mean J"] == pytest.approx(0.1 + 3.0)  # .1 J a step, 10 s at .3 W
    # bits count most: 29 s for sending, one second for a step
    assert best.quantities["(5) Mbit/J"] == pytest.approx(20 / 29 / (0.1 * (2 ** (20 / 29) - 1)))
    assert best.quantities["(5) steps/(J a step)"] == pytest.approx(10.0)


def test_steps_alone_take_all_the_time() -> None:
    """With epsilon 1 the upload is as fast as it can be, 10 s, and the step lasts 20: 10 * 20^2."""
    slot = slot_of(one_client(budget_j=9.0))
    _, best = osafl_points(slot, Plan(ONE > 0, ONE, 1e9 * ONE, 0.3 * ONE), max_steps=3, epsilon=1.0)
    assert best.quantities["(5) at epsilon 1"] == pytest.approx(4000.0)
    assert best.quantities["mean steps"] == 1.0  # more steps count less: the objective is ill-posed


@HARDWARE_KINDS
@pytest.mark.parametrize("epsilon", [0.5, 0.9999])
def test_no_grid_beats_the_optimum_of_5(floors: dict[str, float], epsilon: float) -> None:
    slot = osafl_slot(1, clients=4, **floors)
    best = best_of_5(slot, 3, epsilon)
    fleet = slot.fleet
    first, second = terms_of_5(slot, best.steps, best.cpu_hz, best.power_w)
    found = torch.where(best.active, epsilon * first + (1 - epsilon) * second, -math.inf)
    time, energy = seconds_and_joules(slot, best.steps.double(), best.cpu_hz, best.power_w)
    assert bool((time <= slot.deadline_s * (1 + 1e-9))[best.active].all())
    assert bool((energy <= fleet.energy_j * (1 + 1e-9))[best.active].all())
    low_f, low_p = max(fleet.cpu_min_hz, 1e5), max(fleet.tx_min_w, 1e-9)
    f = low_f * (fleet.f_max_hz / low_f)[:, None] ** torch.linspace(0, 1, 200, dtype=torch.float64)
    p = low_p * (fleet.p_max_w / low_p)[:, None] ** torch.linspace(0, 1, 200, dtype=torch.float64)
    tau = airtime_s(slot.bits, slot.bandwidth_hz, p, slot.unit_w[:, None])
    for steps in range(1, 4):
        n = (steps * slot.cycles)[:, None]
        spent = 0.5 * fleet.capacitance * n * f**2 + fleet.cpu_static_w * n / f
        time = (n / f)[:, :, None] + tau[:, None]
        energy = spent[:, :, None] + ((p / fleet.pa_efficiency + fleet.circuit_w) * tau)[:, None]
        energy = energy + fleet.idle_w * (slot.deadline_s - time).clamp(min=0)
        fits = (time <= slot.deadline_s) & (energy <= fleet.energy_j[:, None, None])
        value = epsilon * (steps / (0.5 * fleet.capacitance * slot.cycles[:, None] * f**2))[:, :, None]
        value = value + ((1 - epsilon) * slot.bits / (tau * p))[:, None]
        on_grid = torch.where(fits, value, -math.inf).flatten(1).amax(dim=1)
        assert bool((on_grid <= found * (1 + 1e-9)).all())


@pytest.mark.wide
def test_the_published_plans_are_no_better_than_the_optimum() -> None:
    slot = osafl_slot(2)
    for offer in (iterated_offer(slot, 5, 1), most_steps_offer(slot, 5)):
        chosen, best = osafl_points(slot, plan_of(slot, offer), max_steps=5)
        assert chosen.quantities["clients"] == best.quantities["clients"] == float(offer.eligible.sum())
        assert chosen.quantities["(5) at epsilon 0.5"] < best.quantities["(5) at epsilon 0.5"]  # type: ignore[operator]
    nobody = replace(plan_of(slot, offer), active=torch.zeros(slot.clients, dtype=torch.bool))
    assert osafl_points(slot, nobody, max_steps=5)[0].quantities["mean J"] is None


RAWHFL = {"clients": 4, "max_steps": 50, "theta": 0.4, "overlap": 2}


def test_28_and_29_by_hand() -> None:
    slot = rawhfl_slot(1, edges=1, each=2)
    offer = full_power_offer(slot, 50)
    plan = Plan(torch.tensor([True, True]), torch.tensor([3, 5]), offer.cpu_hz, offer.power_w)
    joules = plan.joules(slot).tolist()
    before = torch.zeros(2, dtype=torch.bool)
    chosen = rawhfl_points(slot, plan, clients=2, max_steps=50, theta=0.4, overlap=1, before=before)[0].quantities
    assert (chosen["clients"], chosen["steps"]) == (2, 8)
    assert chosen["(28) 1/steps"] == pytest.approx(0.25)
    assert chosen["(29)"] == pytest.approx(-0.4 * 4 + 0.6 * sum(joules) / 2)
    assert chosen["J"] == pytest.approx(sum(joules))


def test_cells_weigh_the_same_and_nobody_has_no_28() -> None:
    slot = rawhfl_slot(1, edges=2, each=2)
    offer = full_power_offer(slot, 50)
    before = torch.zeros(4, dtype=torch.bool)
    on = slot.parent == 0
    plan = Plan(on, torch.where(on, 4, 0), offer.cpu_hz, offer.power_w)
    chosen = rawhfl_points(slot, plan, clients=2, max_steps=50, theta=1.0, overlap=2, before=before)[0].quantities
    assert chosen["(28) 1/steps"] == pytest.approx(1 / 2)  # 4 in one cell, 0 in the other
    assert chosen["(29)"] == pytest.approx(-2.0)
    idle = rawhfl_points(
        slot, replace(plan, active=before), clients=2, max_steps=50, theta=0.4, overlap=2, before=before
    )[0].quantities
    assert idle["(28) 1/steps"] is None
    assert idle["(29)"] == 0.0


def test_no_plan_is_better_than_the_optimum_of_29() -> None:
    slot = rawhfl_slot(3)
    before = torch.zeros(slot.clients, dtype=torch.bool)
    before[::3] = True
    for offer in (full_power_offer(slot, 50), least_energy_offer(slot, 50, 0.4), least_energy_offer(slot, 10, 0.4)):
        active, _ = select(slot, offer, 0.4, 4, 2, before)
        points = rawhfl_points(slot, plan_of(slot, offer, active), before=before, **RAWHFL)  # type: ignore[arg-type]
        chosen, best, most = (point.quantities for point in points)
        assert chosen["(29)"] >= best["(29)"] - 1e-9  # type: ignore[operator]
        assert chosen["(28) 1/steps"] >= most["(28) 1/steps"] - 1e-12  # type: ignore[operator]
    offer = least_energy_offer(slot, 50, 0.4)
    active, _ = select(slot, offer, 0.4, 4, 2, before)
    same = rawhfl_points(slot, plan_of(slot, offer, active), before=before, **RAWHFL)  # type: ignore[arg-type]
    assert same[0].quantities == pytest.approx(same[1].quantities)

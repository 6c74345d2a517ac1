"""OSAFL's iterations for one client: closed forms by hand and by CVXPY, and the stall."""

import math

import cvxpy as cp
import pytest
import torch
from support.slots import (
    cost_of,
    one_client,
    osafl_slot,
)
from torch import Tensor

from fedradio.core.contracts import Reason
from fedradio.links.rates import airtime_s
from fedradio.policies.sca import frequency_9, iterated_offer, power_10c
from fedradio.policies.slot import SlotProblem, full_power_offer, slot_of
from fedradio.policies.solvers import most_steps_offer


def test_the_published_pass_by_hand() -> None:
    """Rate 1e6 log2(1 + 3) = 2 Mbit/s: 10 s and 3 J; a step at f_max takes 1 s and .5*2e-28*1e9*1e18 = .1 J.

    Budget 3.35 J: (7) gives min(8, .35/.1 = 3.5, 20/1) = 3 steps; (9) f = 3e9/(30 - 10) = 150 MHz; (10c) again
    P = .1*(2^(20/10) - 1) = .3 W. Joules 3 + .5*2e-28*3e9*(1.5e8)^2 = 3.00675.
    """
    s = slot_of(one_client(3.35))
    for iterations in (1, 2, 10):
        offer = iterated_offer(s, 8, iterations)
        assert offer.steps.tolist() == [3]
        assert offer.cpu_hz.item() == pytest.approx(1.5e8)
        assert offer.power_w.item() == pytest.approx(0.3)
        assert offer.energy_j.item() == pytest.approx(3.00675)
    assert iterated_offer(s, 2, 1).steps.tolist() == [2]
    assert iterated_offer(slot_of(one_client(3.05)), 8, 1).reason.tolist() == [int(Reason.ENERGY)]  # half a step fits


def test_another_start_by_hand() -> None:
    """The same client from f_max and a third of P_max: .1 W, an SNR of 1, rate 1 Mbit/s: 20 s and 2 J.

    Of 3.35 J are 1.35 left for steps of .1 J, of 30 s ten for steps of 1 s: 8 of at most 8; (9) f = 8e9/10 = 800 MHz,
    (10c) the power of the start. At .55 f_max steps take 1.82 s, five fit, f = 5e9/10 = 500 MHz.
    """
    s = slot_of(one_client(3.35))
    for iterations in (1, 3):
        offer = iterated_offer(s, 8, iterations, (1.0, 1 / 3))
        assert (offer.steps.tolist(), offer.cpu_hz.item()) == ([8], pytest.approx(8e8))
        assert offer.power_w.item() == pytest.approx(0.1)
        assert offer.energy_j.item() == pytest.approx(2 + 0.5 * 2e-28 * 8e9 * 8e8**2)
    slow = iterated_offer(s, 8, 1, (0.55, 1 / 3))
    assert (slow.steps.tolist(), slow.cpu_hz.item()) == ([5], pytest.approx(5e8))


def test_stragglers_are_those_who_cannot_do_a_step_at_full_power() -> None:
    for seed in range(10):
        s = osafl_slot(seed)
        full, paper = full_power_offer(s, 5), iterated_offer(s, 5, 1)
        assert torch.equal(paper.eligible, full.eligible)
        assert torch.equal(paper.reason, full.reason)
        assert torch.equal(paper.steps, torch.where(full.eligible, full.steps, 0))
        assert bool((paper.energy_j <= full.energy_j)[full.eligible].all())
        assert 0 < int(full.eligible.sum()) < 60


@pytest.mark.parametrize("iterations", [2, 3, 10])
def test_algorithm_4_stalls_after_its_first_pass(iterations: int) -> None:
    """Steps, frequency and power of the first pass stay: power at P_max, although a hundredth would do."""
    for seed in range(10):
        s = osafl_slot(seed)
        once, often = iterated_offer(s, 5, 1), iterated_offer(s, 5, iterations)
        on = once.eligible
        assert torch.equal(often.eligible, on)
        assert torch.equal(often.steps, once.steps)
        assert torch.allclose(often.cpu_hz, once.cpu_hz, rtol=1e-9)
        assert torch.allclose(often.power_w[on], s.fleet.p_max_w[on], rtol=1e-9)
        best = most_steps_offer(s, 5)
        assert float(best.power_w[on].median()) < 0.01 * float(often.power_w[on].median())


def test_floors_leave_time_for_less_power() -> None:
    """A CPU that cannot slow down to (9) leaves seconds, and only then does Algorithm 3 lower the power."""
    s = osafl_slot(1, cpu_min_hz=9e8)
    offer = iterated_offer(s, 5, 1)
    on = offer.eligible
    assert bool((offer.cpu_hz >= 9e8).all())
    assert bool((offer.power_w < 0.5 * s.fleet.p_max_w)[on].all())
    seconds, _ = cost_of(s, offer)
    assert torch.allclose(seconds[on], torch.full_like(seconds[on], s.deadline_s))


def test_static_power_makes_a_slow_cpu_exceed_the_budget() -> None:
    """Half a watt for two hundred seconds: (9) is no longer feasible for anybody, at f_max a second each would be."""
    s = osafl_slot(1, cpu_static_w=0.5)
    assert int(full_power_offer(s, 1).eligible.sum()) > 20
    offer = iterated_offer(s, 1, 1)
    assert not bool(offer.eligible.any())
    assert set(offer.reason.tolist()) == {int(Reason.ENERGY)}
    assert most_steps_offer(s, 1).eligible.sum() > 20


def efficiency(p: Tensor, u: Tensor) -> Tensor:
    """log2(1 + p/u) / p in bit/J/Hz."""
    return torch.log1p(p / u) / math.log(2) / p


def upload_j(s: SlotProblem, p: Tensor) -> Tensor:
    return p * airtime_s(s.bits, s.bandwidth_hz, p, s.unit_w)


def slope_50(p: float, u: float) -> float:
    """d/dp of ln(1 + p/u)/p as (50) prints it: 1/(p u (1 + p/u)) - ln(1 + p/u)/p^2."""
    return 1 / (p * u * (1 + p / u)) - math.log1p(p / u) / p**2


def slope_12(p: float, u: float) -> float:
    """The same as (12) prints it: (1 + p/u)/(p u) - ln(1 + p/u)/p^2."""
    return (1 + p / u) / (p * u) - math.log1p(p / u) / p**2


def test_the_tangents_rise_and_fall_as_the_closed_form_needs() -> None:
    """(50) is the derivative and negative; (12) is neither. The upload energy rises, and is concave: its tangent (13)
    lies above, so what keeps the linear budget keeps the true one."""
    s = osafl_slot(0)
    powers = torch.logspace(-6, 0, 61, dtype=torch.float64)
    p = powers[:, None].repeat(1, s.clients).requires_grad_(True)
    (slope,) = torch.autograd.grad(efficiency(p, s.unit_w).sum(), p)
    (rise,) = torch.autograd.grad(upload_j(s, p).sum(), p, create_graph=True)
    (bend,) = torch.autograd.grad(rise.sum(), p)
    assert bool((slope < 0).all())
    assert bool((rise > 0).all())
    assert bool((bend < 0).all())
    for row, client in ((0, 0), (30, 7), (60, 40)):
        here, u = float(powers[row]), float(s.unit_w[client])
        assert slope_50(here, u) / math.log(2) == pytest.approx(float(slope[row, client]), rel=1e-6)
        assert slope_12(here, u) > 0


def solved_52(
    s: SlotProblem, client: int, cycles: float, cpu_hz: float, start_w: float
) -> tuple[float | None, float | None]:
    """Problem (52) of one client as CVXPY solves it, with the slopes (50) and (12); powers in units of P_max."""
    u, most = float(s.unit_w[client]), float(s.fleet.p_max_w[client])
    ln = math.log1p(start_w / u)
    least = u * (2 ** (s.bits / (s.bandwidth_hz * (s.deadline_s - cycles / cpu_hz))) - 1)  # (52c)
    computing = 0.5 * s.fleet.capacitance * cycles * cpu_hz**2
    scale = math.log(2) * s.bits / s.bandwidth_hz
    found = []
    for slope in (slope_50(start_w, u), slope_12(start_w, u)):
        x = cp.Variable()
        gradient = 1 / ln - start_w / (ln**2 * (u + start_w))
        sending = scale * (start_w / ln + gradient * (most * x - start_w))  # (51)
        limits = [x >= least / most, x <= 1, computing + sending <= float(s.fleet.energy_j[client])]
        problem = cp.Problem(cp.Maximize(math.copysign(1.0, slope) * x), limits)
        problem.solve(solver=cp.CLARABEL)
        found.append(None if x.value is None else most * float(x.value))
    return found[0], found[1]


@pytest.mark.parametrize("share", [1.0, 0.98], ids=["tight", "slack"])
def test_closed_form_of_the_convex_step_against_cvxpy(share: float) -> None:
    """At (9) the step returns P_max itself; with a CPU so much faster that time is left, the least power (10c).

    The misprinted slope of (12) asks for the most power instead."""
    s = osafl_slot(2)
    offer = full_power_offer(s, 5)
    cycles = offer.steps * s.cycles
    cpu = torch.minimum(frequency_9(s, cycles, s.fleet.p_max_w) / share, s.fleet.f_max_hz)
    power = power_10c(s, cycles, cpu)
    for client in offer.eligible.nonzero().flatten().tolist()[:12]:
        start = float(s.fleet.p_max_w[client])
        ours, printed = solved_52(s, client, float(cycles[client]), float(cpu[client]), start)
        assert ours is not None
        assert printed is not None
        solver = 1e-7 * start  # its accuracy, in units of P_max
        assert ours == pytest.approx(float(power[client]), rel=1e-5, abs=solver)
        assert printed == pytest.approx(start, rel=1e-5)
        again, _ = solved_52(s, client, float(cycles[client]), float(cpu[client]), ours)
        assert again == pytest.approx(ours, rel=1e-5, abs=solver)  # Algorithm 3 ends after one step
        assert (float(power[client]) == pytest.approx(start, rel=1e-9)) == (share == 1.0)


def test_the_objective_5_prefers_one_step() -> None:
    """Over whole steps at their best frequency (9), kappa/f^2 falls like 1/kappa."""
    s = osafl_slot(3)
    values = []
    for steps in range(1, 6):
        f = frequency_9(s, steps * s.cycles, s.fleet.p_max_w)
        values.append(steps / (0.5 * s.fleet.capacitance * s.cycles * f**2))
    for steps, value in enumerate(values, start=1):
        assert torch.allclose(value, values[0] / steps)

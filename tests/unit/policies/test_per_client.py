"""OSAFL's problem of one client: closed forms by hand and by CVXPY, the stall, and an optimum no grid beats."""

import math
from dataclasses import replace

import cvxpy as cp
import pytest
import torch
from torch import Tensor

from fedradio.core.contracts import ChannelState, Clock, Fleet, Reason, View
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.fleet.costs import compute_j, compute_s, cycles_per_step, transmit_j
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.links.rates import airtime_s
from fedradio.network.channel import urban_macro
from fedradio.network.topology import flat
from fedradio.policies.per_client import PerClient, per_client
from fedradio.policies.sca import frequency_9, iterated_offer, power_10c
from fedradio.policies.slot import Offer, SlotProblem, full_power_offer, slot_of
from fedradio.policies.solvers import least_energy_offer, most_steps_offer

FLOORS = {"cpu_min_hz": 3e8, "tx_min_w": 1e-3, "circuit_w": 0.1, "cpu_static_w": 0.05}
VALUES, SAMPLE_BITS, SAMPLES = 1_026_772, 101_376, 160  # OSAFL's CNN on data set 1: five mini-batches of 32 a step


def view(seed: int, values: int = VALUES, clients: int = 60, deadline_s: float = 200.0, **floors: float) -> View:
    """OSAFL's world in one slot."""
    topology = flat(Rng(seed), clients=clients, radius_m=200.0, area="square")
    channel = urban_macro().realise(topology.positions[1], topology.positions[0], topology.parents[0], Rng(seed))
    fleet = cellular(clients, Rng(seed).child("f"), f_max_hz=(1e9, 1.8e9), energy_j=(1.2, 2.5), **floors)  # type: ignore[arg-type]
    cycles = cycles_per_step(fleet, SAMPLE_BITS, SAMPLES, 1.0)
    link = digital()
    return View(Clock(0), topology.parents[0], 1, channel, link, fleet, cycles, link.bits(values), deadline_s, {})


def slot(seed: int, **more: float) -> SlotProblem:
    return slot_of(view(seed, **more))  # type: ignore[arg-type]


def by_hand(budget_j: float = 1.0) -> View:
    """One client: 1e9 cycles a step, f_max 1 GHz, zeta 2e-28; P_max .3 W, an SNR of 3; 20 Mbit over 1 MHz in 30 s."""
    one = torch.ones(1, dtype=torch.float64)
    fleet = Fleet(one, 1e9 * one, 0.3 * one, budget_j * one, capacitance=2e-28)
    link = digital(bandwidth_hz=1e6, bits_per_value=20.0)
    channel = ChannelState(torch.full((1, 1), 1e-10, dtype=torch.float64), 1e-17)  # N0 w / g = 0.1 W
    return View(Clock(0), torch.zeros(1).long(), 1, channel, link, fleet, 1e9 * one, link.bits(10**6), 30.0, {})


def seconds_and_joules(slot: SlotProblem, offer: Offer) -> tuple[Tensor, Tensor]:
    """The plain cost of an offer, from the cost functions alone."""
    tau = airtime_s(slot.bits, slot.bandwidth_hz, offer.power_w, slot.unit_w)
    cycles = offer.steps * slot.cycles
    joules = compute_j(slot.fleet, cycles, offer.cpu_hz) + transmit_j(slot.fleet, offer.power_w, tau)
    return compute_s(cycles, offer.cpu_hz) + tau, joules


def test_the_published_pass_by_hand() -> None:
    """Rate 1e6 log2(1 + 3) = 2 Mbit/s: 10 s and 3 J; a step at f_max takes 1 s and .5*2e-28*1e9*1e18 = .1 J.

    Budget 3.35 J: (7) gives min(8, .35/.1 = 3.5, 20/1) = 3 steps; (9) f = 3e9/(30 - 10) = 150 MHz; (10c) again
    P = .1*(2^(20/10) - 1) = .3 W. Joules 3 + .5*2e-28*3e9*(1.5e8)^2 = 3.00675.
    """
    s = slot_of(by_hand(3.35))
    for iterations in (1, 2, 10):
        offer = iterated_offer(s, 8, iterations)
        assert offer.steps.tolist() == [3]
        assert offer.cpu_hz.item() == pytest.approx(1.5e8)
        assert offer.power_w.item() == pytest.approx(0.3)
        assert offer.energy_j.item() == pytest.approx(3.00675)
    assert iterated_offer(s, 2, 1).steps.tolist() == [2]
    assert iterated_offer(slot_of(by_hand(3.05)), 8, 1).reason.tolist() == [int(Reason.ENERGY)]  # half a step fits


def test_the_optimum_by_hand() -> None:
    """The least energy of L steps by a fine scan over the airtime; a budget just above it gives L steps, just below
    L - 1. Sending 20 Mbit takes .1 W * ln 2 * 20 s = 1.386 J at any speed, so 1.38 J will never do."""
    assert most_steps_offer(slot_of(by_hand(1.38)), 8).reason.tolist() == [int(Reason.ENERGY)]
    s = slot_of(by_hand(5.0))
    for steps in range(1, 9):
        tau = torch.linspace(5.0, 30.0 - 1e-9, 200_001, dtype=torch.float64)
        up = tau * 0.1 * (torch.exp2(20.0 / tau) - 1)
        computing = 0.5 * 2e-28 * (steps * 1e9) ** 3 / (30.0 - tau) ** 2
        allowed = (tau >= 10.0) & (steps * 1e9 / (30.0 - tau) <= 1e9)
        least = float(torch.where(allowed, up + computing, math.inf).min())
        assert most_steps_offer(s, steps).energy_j.item() == pytest.approx(least, rel=1e-6)
        enough = most_steps_offer(slot_of(by_hand(least * 1.0001)), 8)
        assert enough.steps.tolist() == [steps]
        too_little = most_steps_offer(slot_of(by_hand(least * 0.9999)), 8)
        assert too_little.steps.tolist() == [steps - 1]


@pytest.mark.parametrize("floors", [{}, FLOORS], ids=["free", "floors"])
@pytest.mark.parametrize("deadline_s", [200.0, 7.0], ids=["slow", "quick"])
def test_most_steps_then_least_energy_no_grid_does_better(floors: dict[str, float], deadline_s: float) -> None:
    """60 clients x 3 slots, every L, 60 frequencies x 120 powers: never more steps, never as many for less energy.

    In seven seconds clients differ in their steps."""
    for seed in range(3):
        s = slot(seed, deadline_s=deadline_s, **floors)
        fleet, offer = s.fleet, most_steps_offer(s, 5)
        low_f, low_p = max(fleet.cpu_min_hz, 1e6), max(fleet.tx_min_w, 1e-7)
        f = low_f * (fleet.f_max_hz / low_f)[:, None] ** torch.linspace(0, 1, 60, dtype=torch.float64)
        p = low_p * (fleet.p_max_w / low_p)[:, None] ** torch.linspace(0, 1, 120, dtype=torch.float64)
        tau = airtime_s(s.bits, s.bandwidth_hz, p, s.unit_w[:, None])
        up = (p + fleet.circuit_w) * tau
        for steps in range(1, 6):
            n = (steps * s.cycles)[:, None]
            energy = (0.5 * fleet.capacitance * n * f**2 + fleet.cpu_static_w * n / f)[:, :, None] + up[:, None, :]
            allowed = ((n / f)[:, :, None] + tau[:, None, :] <= s.deadline_s) & (
                energy <= fleet.energy_j[:, None, None]
            )
            possible = allowed.flatten(1).any(dim=1)
            assert bool((offer.steps[possible] >= steps).all())
            least = torch.where(allowed, energy, math.inf).flatten(1).min(dim=1).values
            same = offer.steps == steps
            assert bool((offer.energy_j <= least + 1e-9)[same].all())
        assert deadline_s > 7 or len(set(offer.steps.tolist())) > 3


@pytest.mark.parametrize("floors", [{}, FLOORS], ids=["free", "floors"])
@pytest.mark.parametrize("mode", ["optimal", "paper"])
def test_plans_keep_every_constraint(mode: str, floors: dict[str, float]) -> None:
    policy = per_client(mode=mode)  # type: ignore[arg-type]
    took_part = 0
    for seed in range(10):
        v = view(seed, **floors)  # type: ignore[arg-type]
        alloc, _ = policy.decide(v, policy.start(60), Rng(0))
        s, fleet, on = slot_of(v), v.fleet, alloc.active
        assert fleet is not None
        assert alloc.cpu_hz is not None
        assert alloc.power_w is not None
        offer = Offer(on, alloc.steps, alloc.cpu_hz, alloc.power_w, torch.zeros(60), alloc.reason)
        seconds, joules = seconds_and_joules(s, offer)
        assert bool((seconds <= 200.0)[on].all())
        assert bool((joules <= fleet.energy_j * (1 + 1e-9))[on].all())
        assert bool((alloc.cpu_hz <= fleet.f_max_hz)[on].all())
        assert bool((alloc.power_w <= fleet.p_max_w)[on].all())
        assert bool((alloc.cpu_hz * (1 + 1e-9) >= fleet.cpu_min_hz)[on].all())
        assert bool((alloc.power_w * (1 + 1e-9) >= fleet.tx_min_w)[on].all())
        assert bool(((alloc.steps >= 1) & (alloc.steps <= 5))[on].all())
        assert torch.equal(alloc.steps > 0, on)
        assert torch.equal(alloc.reason == Reason.NONE, on)
        assert torch.allclose(policy.solve(s).energy_j[on], joules[on], rtol=1e-9)
        took_part += int(on.sum())
    assert took_part > 100


def test_published_plans_arrive() -> None:
    """The deadline is tight in both modes, and the link must not call it missed."""
    link = digital()
    for mode, iterations in (("optimal", 1), ("paper", 1), ("paper", 7)):
        policy = per_client(mode=mode, iterations=iterations)  # type: ignore[arg-type]
        for seed in range(10):
            v = view(seed)
            alloc, _ = policy.decide(v, {}, Rng(0))
            assert v.cycles_per_step is not None
            assert alloc.cpu_hz is not None
            ready = compute_s(v.cycles_per_step * alloc.steps, alloc.cpu_hz)
            airtime = link.plan(v.channel, alloc, v.parent, VALUES, ready, v.deadline_s, Rng(0))
            assert torch.equal(airtime.arrived, alloc.active)
            assert airtime.done_s is not None
            assert bool((airtime.done_s[alloc.active] > 199.999).all())


def test_stragglers_are_those_who_cannot_do_a_step_at_full_power() -> None:
    for seed in range(10):
        s = slot(seed)
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
        s = slot(seed)
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
    s = slot(1, cpu_min_hz=9e8)
    offer = iterated_offer(s, 5, 1)
    on = offer.eligible
    assert bool((offer.cpu_hz >= 9e8).all())
    assert bool((offer.power_w < 0.5 * s.fleet.p_max_w)[on].all())
    seconds, _ = seconds_and_joules(s, offer)
    assert torch.allclose(seconds[on], torch.full_like(seconds[on], s.deadline_s))


def test_static_power_makes_a_slow_cpu_exceed_the_budget() -> None:
    """Half a watt for two hundred seconds: (9) is no longer feasible for anybody, at f_max a second each would be."""
    s = slot(1, cpu_static_w=0.5)
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
    s = slot(0)
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
    s = slot(2)
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
    s = slot(3)
    values = []
    for steps in range(1, 6):
        f = frequency_9(s, steps * s.cycles, s.fleet.p_max_w)
        values.append(steps / (0.5 * s.fleet.capacitance * s.cycles * f**2))
    for steps, value in enumerate(values, start=1):
        assert torch.allclose(value, values[0] / steps)


def test_reasons_and_notes() -> None:
    base = view(0)
    assert base.fleet is not None
    broke = replace(base, fleet=replace(base.fleet, energy_j=torch.zeros(60, dtype=torch.float64)))
    rushed = replace(base, deadline_s=1e-3)
    empty = replace(base, able=torch.arange(60) >= 10)
    for mode in ("optimal", "paper"):
        policy = per_client(mode=mode)
        for v, why in ((broke, Reason.ENERGY), (rushed, Reason.DEADLINE)):
            alloc, _ = policy.decide(v, {}, Rng(0))
            assert not bool(alloc.active.any())
            assert set(alloc.reason.tolist()) == {int(why)}
            assert alloc.notes["eligible"].tolist() == [0]
        everybody, _ = policy.decide(base, {}, Rng(0))
        alloc, _ = policy.decide(empty, {}, Rng(0))
        assert set(alloc.reason[:10].tolist()) == {int(Reason.NO_DATA)}
        assert torch.equal(alloc.active[10:], everybody.active[10:])
        assert alloc.notes["eligible"].tolist() == [int(alloc.active.sum())]
        assert torch.equal(alloc.notes["full_power_steps"], full_power_offer(slot_of(base), 5).steps)


def test_more_steps_are_always_preferred() -> None:
    """Nobody does fewer steps than with any weight against energy, and with one step at most both are the same."""
    s = slot(4, deadline_s=7.0)
    most, weighed = most_steps_offer(s, 5), least_energy_offer(s, 5, 0.01)
    assert bool((most.steps >= weighed.steps).all())
    assert bool((most.steps > weighed.steps).any())
    assert torch.equal(most_steps_offer(s, 1).energy_j, least_energy_offer(s, 1, 0.0).energy_j)


def test_defaults_and_refusals() -> None:
    assert per_client() == PerClient(5, "optimal", 1)
    assert per_client().check(torch.zeros(3).long(), 1) == ""
    with pytest.raises(SpecError, match="does not iterate"):
        per_client(iterations=2)

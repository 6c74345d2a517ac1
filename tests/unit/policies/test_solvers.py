"""Solvers of the slot problem: never beaten by a grid, the selection never by enumeration."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.slots import (
    FLEET_KINDS,
    FLOORS,
    one_client,
    osafl_slot,
    rawhfl_slot,
    seconds_and_joules,
)

from fedradio.core.contracts import Reason
from fedradio.core.rng import Rng
from fedradio.links.rates import airtime_s
from fedradio.policies.slot import Offer, SlotProblem, full_power_offer, slot_of
from fedradio.policies.solvers import least_energy_offer, most_steps_offer, select


def assert_feasible(slot: SlotProblem, offer: Offer, max_steps: int) -> None:
    """C4-C8 of every eligible client, to 1e-9 relative."""
    on, fleet = offer.eligible, slot.fleet
    time, energy = seconds_and_joules(slot, offer.steps.double(), offer.cpu_hz, offer.power_w)
    tight = 1 + 1e-9
    assert bool(((offer.steps >= 1) & (offer.steps <= max_steps))[on].all())
    assert bool((offer.cpu_hz <= fleet.f_max_hz * tight)[on].all())
    assert bool((offer.cpu_hz * tight >= fleet.cpu_min_hz)[on].all())
    assert bool((offer.power_w <= fleet.p_max_w * tight)[on].all())
    assert bool((offer.power_w * tight >= fleet.tx_min_w)[on].all())
    assert bool((time <= slot.deadline_s * tight)[on].all())
    assert bool((energy <= fleet.energy_j * tight)[on].all())
    assert torch.allclose(energy[on], offer.energy_j[on], rtol=1e-9)


@pytest.mark.parametrize("floors", [{}, FLOORS], ids=["free", "floors"])
def test_never_beaten_by_a_grid(floors: dict[str, float]) -> None:
    """5 slots x 48 clients; every third L, 60 frequencies x 120 powers, log-spaced over what the device can do."""
    for seed in range(5):
        s = rawhfl_slot(seed, **floors)
        offer = least_energy_offer(s, 50, 0.4)
        assert_feasible(s, offer, 50)
        best = torch.full((s.clients,), math.inf, dtype=torch.float64)
        low_f, low_p = max(s.fleet.cpu_min_hz, 1e5), max(s.fleet.tx_min_w, 1e-9)
        for steps in (1, 2, 5, 10, 20, 35, 49, 50):
            f = low_f * (s.fleet.f_max_hz / low_f)[:, None] ** torch.linspace(0, 1, 60, dtype=torch.float64)
            p = low_p * (s.fleet.p_max_w / low_p)[:, None] ** torch.linspace(0, 1, 120, dtype=torch.float64)
            tau = airtime_s(s.bits, s.bandwidth_hz, p, s.unit_w[:, None])
            up = (p + s.fleet.circuit_w) * tau
            n = (steps * s.cycles)[:, None]
            computing = 0.5 * s.fleet.capacitance * n * f**2 + s.fleet.cpu_static_w * n / f
            time = (n / f)[:, :, None] + tau[:, None, :]
            energy = computing[:, :, None] + up[:, None, :]
            allowed = (time <= s.deadline_s) & (energy <= s.fleet.energy_j[:, None, None])
            cost = torch.where(allowed, 0.6 * energy - 0.4 * steps, math.inf).flatten(1).min(dim=1).values
            best = torch.minimum(best, cost)
        ours = torch.where(offer.eligible, 0.6 * offer.energy_j - 0.4 * offer.steps, math.inf)
        assert bool((ours <= best + 1e-9).all())


def enumerated(s: SlotProblem, steps: int, powers: int = 20_001) -> torch.Tensor:
    """Least energy ``[S]`` of so many steps over a grid of powers, each with its best frequency; inf if impossible."""
    fleet, grid = s.fleet, torch.linspace(0, 1, powers, dtype=torch.float64)
    low = max(fleet.tx_min_w, 1e-12)
    p = low * (fleet.p_max_w / low)[:, None] ** grid  # [S, powers]
    left = s.deadline_s - airtime_s(s.bits, s.bandwidth_hz, p, s.unit_w[:, None])
    n = (steps * s.cycles)[:, None]
    slowest = torch.where(left > 0, n / left, math.inf).clamp(min=fleet.cpu_min_hz)
    saved_w = fleet.cpu_static_w - fleet.idle_w  # a second of computing less is a second of waiting more
    cheapest = max(saved_w / fleet.capacitance, 0.0) ** (1 / 3)
    f = torch.minimum(slowest.clamp(min=cheapest), fleet.f_max_hz[:, None])
    _, joules = seconds_and_joules(s, torch.full_like(f, steps), f, p)
    allowed = (slowest <= fleet.f_max_hz[:, None]) & (joules <= fleet.energy_j[:, None])
    return torch.where(allowed, joules, math.inf).amin(dim=1)


@FLEET_KINDS
@pytest.mark.parametrize("deadline_s", [150.0, 4.0], ids=["slow", "quick"])
def test_plans_equal_enumeration(floors: dict[str, float], deadline_s: float) -> None:
    """20,001 powers and every number of steps: the same decision, and its energy to the fineness of the grid, on which
    two powers differ by .14 %."""
    s = rawhfl_slot(2, edges=1, each=4, deadline_s=deadline_s, **floors)
    least = torch.stack([enumerated(s, steps) for steps in range(1, 5)], dim=1)
    for theta in (0.4, 0.0, 1.0):
        offer = least_energy_offer(s, 4, theta)
        assert torch.equal(offer.eligible, least.isfinite().any(dim=1))
        assert bool(offer.eligible.any())
        on, steps = offer.eligible, torch.arange(1, 5)
        cost = torch.where(least.isfinite(), (1 - theta) * least - theta * steps, math.inf)
        assert torch.equal(offer.steps[on], cost.argmin(dim=1)[on] + 1)
        found = least.gather(1, (offer.steps - 1).clamp(min=0)[:, None]).squeeze(1)
        assert torch.allclose(offer.energy_j[on], found[on], rtol=1e-3)
        assert bool((offer.energy_j <= found * (1 + 1e-12))[on].all())


@FLEET_KINDS
def test_full_power_offers_equal_enumeration(floors: dict[str, float]) -> None:
    """The most steps that fit at full CPU and power, waiting included, by trying all of them."""
    for deadline_s in (150.0, 4.0):
        s = rawhfl_slot(4, deadline_s=deadline_s, **floors)
        offer, fleet = full_power_offer(s, 50), s.fleet
        most = torch.zeros(s.clients, dtype=torch.long)
        for steps in range(1, 51):
            time, joules = seconds_and_joules(s, torch.full_like(s.cycles, steps), fleet.f_max_hz, fleet.p_max_w)
            most = torch.where((time <= s.deadline_s) & (joules <= fleet.energy_j), steps, most)
        assert torch.equal(torch.where(offer.eligible, offer.steps, 0), most)
        _, joules = seconds_and_joules(s, offer.steps.double(), fleet.f_max_hz, fleet.p_max_w)
        assert torch.allclose(offer.energy_j[offer.eligible], joules[offer.eligible], rtol=1e-12)


def test_full_power_offers_where_waiting_costs_more_than_a_step() -> None:
    """Sending takes 10 of 30 s and 3 J, a step 1 s and .1 J, a second of waiting .3 J: 19 steps and a last second of
    waiting take 3 + 1.9 + .3 = 5.2 J, 15 steps and five seconds 3 + 1.5 + 1.5 = 6 J."""
    v = one_client(5.25)
    assert v.fleet is not None
    s = slot_of(replace(v, fleet=replace(v.fleet, idle_w=0.3)))
    assert full_power_offer(s, 19).steps.tolist() == [19]
    assert full_power_offer(s, 19).energy_j.item() == pytest.approx(5.2)
    short = full_power_offer(s, 15)
    assert short.eligible.tolist() == [False]
    assert short.reason.tolist() == [int(Reason.ENERGY)]


def test_hand_checked_plan() -> None:
    """One client, no floors: the deadline is tight and the slope of the energy vanishes, found by a fine scan."""
    s = rawhfl_slot(3)
    offer = least_energy_offer(s, 1, 0.0)
    client = int(offer.eligible.nonzero()[0])
    n = float(s.cycles[client])
    left = s.deadline_s - n / float(s.fleet.f_max_hz[client])
    tau = left - torch.logspace(-6, 2, 400_001, dtype=torch.float64)
    up = tau * s.unit_w[client] * torch.expm1(s.bits / (s.bandwidth_hz * tau) * math.log(2))
    energy = up + 0.5 * 2e-28 * n**3 / (s.deadline_s - tau) ** 2
    assert offer.energy_j[client].item() == pytest.approx(float(energy.min()), rel=1e-6)
    time, _ = seconds_and_joules(s, offer.steps.double(), offer.cpu_hz, offer.power_w)
    assert time[client].item() == pytest.approx(s.deadline_s, rel=1e-9)


def brute(cost: list[float], before: list[bool], z: int, psi: int) -> float:
    """The least cost of z of the clients with at most psi repeated; the overlap is relaxed only if it must be."""
    eligible = [i for i, c in enumerate(cost) if math.isfinite(c)]
    z = min(z, len(eligible))
    sets = list(itertools.combinations(eligible, z))
    allowed = max(psi, min(sum(before[i] for i in chosen) for chosen in sets))
    return min(sum(cost[i] for i in chosen) for chosen in sets if sum(before[i] for i in chosen) <= allowed)


@examples(500)
@given(
    energy=st.lists(st.one_of(st.floats(0.01, 2.0), st.none()), min_size=1, max_size=9),
    seed=st.integers(0, 2**20),
    z=st.integers(1, 6),
    psi=st.integers(0, 6),
)
def test_selection_equals_enumeration(energy: list[float | None], seed: int, z: int, psi: int) -> None:
    n = len(energy)
    before = torch.from_numpy(Rng(seed).numpy().random(n) < 0.5)
    offer = _offer([0.0 if e is None else e for e in energy], [e is not None for e in energy])
    s = replace(rawhfl_slot(0, edges=1, each=n), parent=torch.zeros(n, dtype=torch.long), receivers=1)
    active, notes = select(s, offer, 0.4, z, psi, before)
    cost = (0.6 * offer.energy_j - 0.4 * offer.steps).tolist()
    cost = [c if ok else math.inf for c, ok in zip(cost, offer.eligible.tolist(), strict=True)]
    assert not bool((active & ~offer.eligible).any())
    assert int(active.sum()) == min(z, int(offer.eligible.sum())) == z - int(notes["short"])
    repeated = int((active & before).sum())
    assert int(notes["relaxed"]) == max(0, repeated - psi)
    if bool(offer.eligible.any()):
        chosen = sum(c for c, on in zip(cost, active.tolist(), strict=True) if on)
        assert chosen == pytest.approx(brute(cost, before.tolist(), z, psi), abs=1e-9)


def test_cells_are_selected_independently() -> None:
    s = rawhfl_slot(1)
    offer = least_energy_offer(s, 50, 0.4)
    before = torch.from_numpy(Rng(5).numpy().random(48) < 0.3)
    together, _ = select(s, offer, 0.4, 4, 2, before)
    for cell in range(4):
        rows = s.parent == cell
        alone = replace(s, parent=torch.zeros(12, dtype=torch.long), receivers=1)
        part = Offer(*(getattr(offer, name)[rows] for name in Offer.__dataclass_fields__))
        assert torch.equal(select(alone, part, 0.4, 4, 2, before[rows])[0], together[rows])


def test_an_overlap_by_hand() -> None:
    """Two of four clients at .1, .2, .4 and .5 J, of which the cheap ones took part before. With no more than one of
    them again it is 0 and 2, with both 0 and 1, with none 2 and 3."""
    s = replace(rawhfl_slot(0, edges=1, each=4), parent=torch.zeros(4, dtype=torch.long), receivers=1)
    offer, before = _offer([0.1, 0.2, 0.4, 0.5], [True] * 4), torch.tensor([True, True, False, False])
    for overlap, chosen in ((0, [2, 3]), (1, [0, 2]), (2, [0, 1])):
        active, notes = select(s, offer, 0.0, 2, overlap, before)
        assert active.nonzero().flatten().tolist() == chosen
        assert notes["relaxed"].tolist() == [0]


def _offer(energy: list[float], eligible: list[bool]) -> Offer:
    n = len(energy)
    ones = torch.ones(n, dtype=torch.float64)
    ok = torch.tensor(eligible)
    steps = torch.where(ok, 1 + torch.arange(n) % 3, 0)
    return Offer(ok, steps, ones, ones, torch.tensor(energy, dtype=torch.float64), torch.zeros(n).long())


def test_the_optimum_by_hand() -> None:
    """The least energy of L steps by a fine scan over the airtime; a budget just above it gives L steps, just below
    L - 1. Sending 20 Mbit takes .1 W * ln 2 * 20 s = 1.386 J at any speed, so 1.38 J will never do."""
    assert most_steps_offer(slot_of(one_client(1.38)), 8).reason.tolist() == [int(Reason.ENERGY)]
    s = slot_of(one_client(5.0))
    for steps in range(1, 9):
        tau = torch.linspace(5.0, 30.0 - 1e-9, 200_001, dtype=torch.float64)
        up = tau * 0.1 * (torch.exp2(20.0 / tau) - 1)
        computing = 0.5 * 2e-28 * (steps * 1e9) ** 3 / (30.0 - tau) ** 2
        allowed = (tau >= 10.0) & (steps * 1e9 / (30.0 - tau) <= 1e9)
        least = float(torch.where(allowed, up + computing, math.inf).min())
        assert most_steps_offer(s, steps).energy_j.item() == pytest.approx(least, rel=1e-6)
        enough = most_steps_offer(slot_of(one_client(least * 1.0001)), 8)
        assert enough.steps.tolist() == [steps]
        too_little = most_steps_offer(slot_of(one_client(least * 0.9999)), 8)
        assert too_little.steps.tolist() == [steps - 1]


@pytest.mark.parametrize("floors", [{}, FLOORS], ids=["free", "floors"])
@pytest.mark.parametrize("deadline_s", [200.0, 7.0], ids=["slow", "quick"])
def test_most_steps_then_least_energy_no_grid_does_better(floors: dict[str, float], deadline_s: float) -> None:
    """60 clients x 3 slots, every L, 60 frequencies x 120 powers: never more steps, never as many for less energy.

    In seven seconds clients differ in their steps."""
    for seed in range(3):
        s = osafl_slot(seed, deadline_s=deadline_s, **floors)
        fleet, offer = s.fleet, most_steps_offer(s, 5)
        low_f, low_p = max(fleet.cpu_min_hz, 1e6), max(fleet.tx_min_w, 1e-7)
        f = low_f * (fleet.f_max_hz / low_f)[:, None] ** torch.linspace(0, 1, 60, dtype=torch.float64)
        p = low_p * (fleet.p_max_w / low_p)[:, None] ** torch.linspace(0, 1, 120, dtype=torch.float64)
        tau = airtime_s(s.bits, s.bandwidth_hz, p, s.unit_w[:, None])
        up = (p + fleet.circuit_w) * tau
        for steps in range(1, 6):
            n = (steps * s.cycles)[:, None]
            time = (n / f)[:, :, None] + tau[:, None, :]
            energy = (0.5 * fleet.capacitance * n * f**2 + fleet.cpu_static_w * n / f)[:, :, None] + up[:, None, :]
            allowed = (time <= s.deadline_s) & (energy <= fleet.energy_j[:, None, None])
            possible = allowed.flatten(1).any(dim=1)
            assert bool((offer.steps[possible] >= steps).all())
            least = torch.where(allowed, energy, math.inf).flatten(1).min(dim=1).values
            same = offer.steps == steps
            assert bool((offer.energy_j <= least + 1e-9)[same].all())
        assert deadline_s > 7 or len(set(offer.steps.tolist())) > 3


def test_more_steps_are_always_preferred() -> None:
    """Nobody does fewer steps than with any weight against energy, and with one step at most both are the same."""
    s = osafl_slot(4, deadline_s=7.0)
    most, weighed = most_steps_offer(s, 5), least_energy_offer(s, 5, 0.01)
    assert bool((most.steps >= weighed.steps).all())
    assert bool((most.steps > weighed.steps).any())
    assert torch.equal(most_steps_offer(s, 1).energy_j, least_energy_offer(s, 1, 0.0).energy_j)


def test_clients_that_are_late_at_full_power_have_full_cpu_and_power() -> None:
    """In half a second nobody can send RawHFL's payload and compute a step: no frequency or power is negative."""
    s = rawhfl_slot(1, deadline_s=0.5)
    offer = least_energy_offer(s, 50, 0.4)
    late = offer.reason == Reason.DEADLINE
    assert bool(late.any())
    assert torch.allclose(offer.cpu_hz[late], s.fleet.f_max_hz[late])
    assert torch.allclose(offer.power_w[late], s.fleet.p_max_w[late])
    assert bool((offer.cpu_hz > 0).all())

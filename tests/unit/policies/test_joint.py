"""RawHFL's slot problem: the solver is never beaten by a grid, the selection never by enumeration."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedradio.core.contracts import Clock, Fleet, Reason, View
from fedradio.core.rng import Rng
from fedradio.fleet.costs import compute_j, compute_s, transmit_j
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.links.rates import airtime_s
from fedradio.network.channel import urban_macro
from fedradio.network.topology import hierarchical
from fedradio.policies.budget import budget
from fedradio.policies.joint import Joint, joint
from fedradio.policies.slot import Offer, SlotProblem, slot_of
from fedradio.policies.solvers import least_energy_offer, select

BITS = 219_648 * 33
FLOORS = {"cpu_min_hz": 3e8, "tx_min_w": 1e-3, "circuit_w": 0.1, "cpu_static_w": 0.05}


def view(seed: int, edges: int = 4, each: int = 12, deadline_s: float = 150.0, **floors: float) -> View:
    """RawHFL's world in one slot."""
    topology = hierarchical(Rng(seed), edges=edges, clients_per_edge=each)
    channel = urban_macro().realise(topology.positions[1], topology.positions[0], topology.parents[0], Rng(seed))
    fleet = cellular(edges * each, Rng(seed).child("fleet"), **floors)  # type: ignore[arg-type]
    cycles = fleet.cycles_per_bit * 440_320
    return View(Clock(0), topology.parents[0], edges, channel, digital(), fleet, cycles, BITS, deadline_s, {})


def slot(seed: int, **more: float) -> SlotProblem:
    return slot_of(view(seed, **more))  # type: ignore[arg-type]


def seconds_and_joules(slot: SlotProblem, steps: Tensor, f: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """The plain cost of an allocation, from the cost functions alone."""
    tau = airtime_s(slot.bits, slot.bandwidth_hz, p, slot.unit_w)
    cycles = steps * slot.cycles
    return compute_s(cycles, f) + tau, compute_j(slot.fleet, cycles, f) + transmit_j(slot.fleet, p, tau)


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
        s = slot(seed, **floors)
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


def test_hand_checked_plan() -> None:
    """One client, no floors: the deadline is tight and the slope of the energy vanishes, found by a fine scan."""
    s = slot(3)
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


@settings(max_examples=500, deadline=None)
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
    s = replace(slot(0, edges=1, each=n), parent=torch.zeros(n, dtype=torch.long), receivers=1)
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
    s = slot(1)
    offer = least_energy_offer(s, 50, 0.4)
    before = torch.from_numpy(Rng(5).numpy().random(48) < 0.3)
    together, _ = select(s, offer, 0.4, 4, 2, before)
    for cell in range(4):
        rows = s.parent == cell
        alone = replace(s, parent=torch.zeros(12, dtype=torch.long), receivers=1)
        part = Offer(*(getattr(offer, name)[rows] for name in Offer.__dataclass_fields__))
        assert torch.equal(select(alone, part, 0.4, 4, 2, before[rows])[0], together[rows])


@pytest.mark.parametrize("mode", ["optimal", "paper"])
def test_allocations_keep_every_constraint(mode: str) -> None:
    policy = joint(clients=4, mode=mode)  # type: ignore[arg-type]
    state = policy.start(48)
    for seed in range(10):
        v = view(seed)
        previous = state["before"]
        alloc, state = policy.decide(v, state, Rng(seed))
        counts = torch.bincount(v.parent[alloc.active], minlength=4)
        assert torch.equal(counts + alloc.notes["short"], torch.full((4,), 4))
        overlap = torch.bincount(v.parent[alloc.active & previous], minlength=4)
        assert bool((overlap <= 2 + alloc.notes["relaxed"]).all())
        time, energy = seconds_and_joules(slot_of(v), alloc.steps.double(), alloc.cpu_hz, alloc.power_w)  # type: ignore[arg-type]
        assert v.fleet is not None
        assert bool((time <= 150.0 * (1 + 1e-9))[alloc.active].all())
        assert bool((energy <= v.fleet.energy_j * (1 + 1e-9))[alloc.active].all())
        assert bool((alloc.reason[~alloc.active] != Reason.NONE).all())


def test_optimal_costs_a_fraction_of_full_power_with_as_many_steps() -> None:
    """Four of each cell, ten slots: the exact plans need less than a fiftieth of the joules for no fewer steps."""
    total = {"optimal": 0.0, "paper": 0.0}
    steps = {"optimal": 0, "paper": 0}
    nobody = torch.zeros(48, dtype=torch.bool)
    for seed in range(10):
        for mode in ("optimal", "paper"):
            offer, active, _ = joint(clients=4, mode=mode).solve(slot(seed), nobody)  # type: ignore[arg-type]
            total[mode] += float(offer.energy_j[active].sum())
            steps[mode] += int(offer.steps[active].sum())
    assert steps["optimal"] >= steps["paper"]
    assert total["paper"] > 50 * total["optimal"]


def test_infeasible_corners_have_reasons() -> None:
    base = view(0)
    assert base.fleet is not None
    broke = replace(base, fleet=replace(base.fleet, energy_j=torch.zeros(48, dtype=torch.float64)))
    rushed = replace(base, deadline_s=1e-3)
    for mode in ("optimal", "paper"):
        policy = joint(clients=4, mode=mode)  # type: ignore[arg-type]
        for v, why in ((broke, Reason.ENERGY), (rushed, Reason.DEADLINE)):
            alloc, state = policy.decide(v, policy.start(48), Rng(0))
            assert not bool(alloc.active.any())
            assert set(alloc.reason.tolist()) == {int(why)}
            assert alloc.notes["short"].tolist() == [4] * 4
            assert not bool(state["before"].any())


def test_an_impossible_overlap_is_relaxed_as_little_as_possible() -> None:
    """Three of a cell of three, all of them selected before: overlap 3 with Psi = 1."""
    v = view(0, edges=1, each=3)
    policy = joint(clients=3, overlap=1)
    alloc, state = policy.decide(v, policy.start(3), Rng(0))
    alloc, _ = policy.decide(v, state, Rng(0))
    assert alloc.active.tolist() == [True] * 3
    assert alloc.notes["relaxed"].tolist() == [2]


def test_budget_baselines() -> None:
    v = view(11)
    own, _ = budget(share="own").decide(v, {}, Rng(0))
    common, _ = budget(share="common").decide(v, {}, Rng(0))
    nothing, _ = budget(share="all_or_nothing").decide(v, {}, Rng(0))
    eligible = own.active
    assert 0 < int(eligible.sum()) < 48
    assert torch.equal(common.active, eligible)
    assert set(common.steps[eligible].tolist()) == {int(own.steps[eligible].min())}
    assert not bool(nothing.active.any())
    assert set(nothing.reason.tolist()) <= {Reason.NOT_SELECTED, Reason.ENERGY, Reason.DEADLINE}
    rich = cellular(48, Rng(0), energy_j=(1e6, 1e6))
    everyone, _ = budget(share="all_or_nothing").decide(replace(v, fleet=rich, deadline_s=1e9), {}, Rng(0))
    assert everyone.steps.tolist() == [50] * 48


def test_defaults_and_refusals() -> None:
    assert joint(clients=4).overlap == 2
    assert joint(clients=4, overlap=0).overlap == 0
    assert "only 12" in joint(clients=13).check(view(0).parent, 4)
    assert isinstance(joint(), Joint)


def _offer(energy: list[float], eligible: list[bool]) -> Offer:
    n = len(energy)
    ones = torch.ones(n, dtype=torch.float64)
    ok = torch.tensor(eligible)
    steps = torch.where(ok, 1 + torch.arange(n) % 3, 0)
    return Offer(ok, steps, ones, ones, torch.tensor(energy, dtype=torch.float64), torch.zeros(n).long())


def test_the_fleet_of_a_slot_is_the_hops() -> None:
    v = view(0)
    assert isinstance(v.fleet, Fleet)
    assert slot_of(v).fleet is v.fleet

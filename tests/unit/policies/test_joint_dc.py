"""RawHFL's Algorithm 2: whatever the iteration does, plans are feasible and never beat the exact optimum.

A full solution takes half a second, so the 40 random slots run 6 iterations each (feasibility must not depend on
how far the iteration came), and three slots run them all.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import clarabel
import cvxpy as cp
import numpy as np
import pytest
import torch
from support.exchanges import exchange, realised
from torch import Tensor

from fedradio.core.contracts import Reason, View
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.network.channel import urban_macro
from fedradio.network.topology import hierarchical
from fedradio.policies import joint_dc
from fedradio.policies.joint import joint
from fedradio.policies.joint_dc import Point, dc_decision
from fedradio.policies.slot import Iteration, Offer, SlotProblem, Start, slot_of
from fedradio.policies.solvers import least_energy_offer, select

Z, PSI, MOST, THETA = 4, 2, 50, 0.4
FEW = Iteration(most=6)
FLOORS = {"cpu_min_hz": 3e8, "tx_min_w": 1e-3, "circuit_w": 0.1, "cpu_static_w": 0.05}
WAITING = FLOORS | {"pa_efficiency": 0.25, "idle_w": 5e-4}
DEVICES = pytest.mark.parametrize("floors", [{}, FLOORS, WAITING], ids=["free", "floors", "waiting"])


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tensors of 2400 numbers: a second torch thread gains nothing and waits for long on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def view(seed: int, edges: int = 4, each: int = 12, **floors: float) -> View:
    topology = hierarchical(Rng(seed), edges=edges, clients_per_edge=each)
    parent = topology.parents[0]
    channel = realised(urban_macro(), topology, Rng(seed).child("channel"))
    fleet = cellular(edges * each, Rng(seed).child("fleet"), **floors)  # type: ignore[arg-type]
    cycles = fleet.cycles_per_bit * (43 * 32 * 320)
    slot = {"channel": channel, "link": digital(), "fleet": fleet, "message": 219_648, "deadline_s": 150.0}
    return exchange(parent, cycles_per_step=cycles, **slot)  # type: ignore[arg-type]


def with_budget(slot: SlotProblem, factor: float) -> SlotProblem:
    return replace(slot, fleet=replace(slot.fleet, energy_j=slot.fleet.energy_j * factor))


def some_before(slot: SlotProblem, seed: int, share: float = 1 / 3) -> Tensor:
    return torch.from_numpy(Rng(seed).child("before").numpy().random(slot.clients) < share)


def broken(
    slot: SlotProblem,
    offer: Offer,
    active: Tensor,
    notes: dict[str, Tensor],
    before: Tensor,
    psi: int = PSI,
    most: int = MOST,
) -> list[str]:
    """Which of C1-C8 of (28) a decision breaks, client by client in plain numbers from the paper's formulas."""
    out, fleet, tight = [], slot.fleet, 1 + 1e-9
    if active.dtype != torch.bool or active.shape != slot.parent.shape:
        out.append("C1")
    for cell in range(slot.receivers):
        here = [u for u in range(slot.clients) if int(slot.parent[u]) == cell]
        able = [u for u in here if bool(offer.eligible[u])]
        chosen = [u for u in here if bool(active[u])]
        new = sum(not bool(before[u]) for u in able)
        wanted = min(Z, len(able))
        least = max(0, wanted - new)  # overlap that cannot be avoided
        if (
            len(chosen) != wanted
            or Z - wanted != int(notes["short"][cell])
            or len(able) != int(notes["eligible"][cell])
        ):
            out.append(f"C2 in cell {cell}")
        if sum(bool(before[u]) for u in chosen) > max(psi, least) or int(notes["relaxed"][cell]) > max(0, least - psi):
            out.append(f"C3 in cell {cell}")
    for u in active.nonzero().flatten().tolist():
        steps, f, p = int(offer.steps[u]), float(offer.cpu_hz[u]), float(offer.power_w[u])
        n = steps * float(slot.cycles[u])
        tau = slot.bits / (slot.bandwidth_hz * math.log2(1 + p / float(slot.unit_w[u])))
        computing_j = 0.5 * fleet.capacitance * n * f**2 + fleet.cpu_static_w * n / f
        waiting_j = fleet.idle_w * max(slot.deadline_s - n / f - tau, 0.0)
        joules = computing_j + (p / fleet.pa_efficiency + fleet.circuit_w) * tau + waiting_j
        checks = {
            "C1: eligible": bool(offer.eligible[u]) and int(offer.reason[u]) == Reason.NONE,
            "C4": 1 <= steps <= most,
            "C5": fleet.cpu_min_hz <= f * tight and f <= float(fleet.f_max_hz[u]) * tight,
            "C6": fleet.tx_min_w <= p * tight and p <= float(fleet.p_max_w[u]) * tight,
            "C7": n / f + tau <= slot.deadline_s * tight,
            "C8": joules <= float(fleet.energy_j[u]) * tight,
            "energy": math.isclose(joules, float(offer.energy_j[u]), rel_tol=1e-9),
        }
        out += [f"{name} of client {u}" for name, good in checks.items() if not good]
    return out


def objective(offer: Offer, active: Tensor) -> float:
    return float(((1 - THETA) * offer.energy_j - THETA * offer.steps)[active].sum())


def exact(slot: SlotProblem, before: Tensor) -> tuple[Offer, Tensor]:
    offer = least_energy_offer(slot, MOST, THETA)
    return offer, select(slot, offer, THETA, Z, PSI, before)[0]


@DEVICES
@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 20), marks=pytest.mark.wide)], ids=["some", "more"])
def test_random_slots_are_feasible_and_never_better_than_the_optimum(floors: dict[str, float], seeds: range) -> None:
    for seed in seeds:
        slot = with_budget(slot_of(view(seed, **floors)), (1.0, 0.2)[seed % 2])  # every second slot is short of energy
        before = some_before(slot, seed)
        offer, active, notes = dc_decision(slot, Z, MOST, THETA, PSI, before, FEW)
        assert broken(slot, offer, active, notes, before) == []
        best, chosen = exact(slot, before)
        assert torch.equal(offer.eligible, best.eligible)
        assert objective(offer, active) >= objective(best, chosen) - 1e-6
        assert bool((notes["iterations"] == notes["iterations"][0]).all())
        assert 1 <= int(notes["iterations"][0]) <= 6


@DEVICES
def test_all_iterations_come_near_the_optimum(floors: dict[str, float]) -> None:
    slot = slot_of(view(0, **floors))
    before = some_before(slot, 0)
    offer, active, notes = dc_decision(slot, Z, MOST, THETA, PSI, before)
    best, chosen = exact(slot, before)
    assert broken(slot, offer, active, notes, before) == []
    assert torch.equal(active, chosen)
    assert torch.equal(offer.steps[active], best.steps[active])
    least = float(best.energy_j[chosen].sum())
    assert least - 1e-9 <= float(offer.energy_j[active].sum()) <= least * (1 + 1e-3)


def test_the_papers_penalty_locks_the_first_selection_in() -> None:
    slot = slot_of(view(0))
    before = torch.zeros(slot.clients, dtype=torch.bool)
    offer, active, notes = dc_decision(slot, Z, MOST, THETA, PSI, before, Iteration(rho=1.0))
    assert broken(slot, offer, active, notes, before) == []
    best, chosen = exact(slot, before)
    assert float(offer.energy_j[active].sum()) > 3 * float(best.energy_j[chosen].sum())


@DEVICES
def test_expansions_touch_the_true_costs(floors: dict[str, float]) -> None:
    """Value and slopes of (36)-(39) at an iterate, against 1_u t and 1_u e by central differences."""
    slot = slot_of(view(3, **floors))
    g = Rng(3).numpy()
    share, ratio, f, p = (torch.from_numpy(g.uniform(0.2, 1.0, slot.clients)) for _ in range(4))
    f, p = f * slot.fleet.f_max_hz, p * slot.fleet.p_max_w
    fleet = slot.fleet

    def true(plan: Tensor) -> Tensor:  # rows 1_u, Lbar/L, f/f(i) - 1, P/P(i) - 1
        cpu, power = f * (1 + plan[2]), p * (1 + plan[3])
        n = plan[1] * MOST * slot.cycles  # the selection is in Lbar
        tau = plan[0] * slot.bits / (slot.bandwidth_hz * torch.log2(1 + power / slot.unit_w))
        joules = 0.5 * fleet.capacitance * n * cpu**2 + fleet.cpu_static_w * n / cpu
        joules = joules + (power / fleet.pa_efficiency + fleet.circuit_w) * tau
        joules = joules + fleet.idle_w * (plan[0] * slot.deadline_s - n / cpu - tau)
        return torch.stack((n / cpu + tau, joules))

    here = torch.stack((share, share * ratio, torch.zeros_like(f), torch.zeros_like(f)))
    seconds, joules = joint_dc._expanded(slot, Point(here[0], here[1], f, p), MOST)
    coefficients = torch.stack((seconds, joules))  # [2, 4, U]
    assert torch.allclose((coefficients * here).sum(1), true(here), rtol=1e-12)
    for row in range(4):
        step = torch.zeros_like(here)
        step[row] = 1e-5
        slope = (true(here + step) - true(here - step)) / 2e-5
        assert torch.allclose(coefficients[:, row], slope, rtol=1e-6)


class Modelled:
    """Programme (40) as cvxpy states it: the plain version of ``joint_dc._Programme``."""

    def __init__(self, slot: SlotProblem, wanted: Tensor, overlap: int, before: Tensor, max_steps: int) -> None:
        n = slot.clients
        cells = [c for c in range(slot.receivers) if int(wanted[c])]
        members = np.array([[float(parent == c) for parent in slot.parent.tolist()] for c in cells])
        repeats = members * before.numpy()
        least = wanted.numpy()[cells] - (members - repeats).sum(1)
        allowed = np.maximum(least, overlap) + joint_dc.LEAST_SHARE * repeats.sum(1)
        self.x, steps = cp.Variable((4, n)), cp.Variable(n)  # L / L_max
        self.parameters = [cp.Parameter((rows, n)) for rows in (4, 4, 4, 2, 2)]
        cost, seconds, joules, low, high = self.parameters
        share, selected_steps = self.x[0], self.x[1]
        constraints = [
            share >= joint_dc.LEAST_SHARE,
            share <= 1,
            members @ share == wanted.numpy()[cells],
            repeats @ share <= allowed,
            selected_steps >= share / max_steps,
            selected_steps <= share,
            self.x[2:] >= low,
            self.x[2:] <= high,
            cp.sum(cp.multiply(seconds, self.x), axis=0) <= share,
            cp.sum(cp.multiply(joules, self.x), axis=0) <= share,
        ]
        goal = cp.Minimize(cp.sum(cp.multiply(cost, self.x)))
        self.problem = cp.Problem(goal, constraints)
        implied = [  # C4, (31)
            steps >= 1 / max_steps,
            steps <= 1,
            steps - selected_steps >= (1 - share) / max_steps,
            steps - selected_steps <= 1 - share,
        ]
        self.whole = cp.Problem(goal, constraints + implied)

    def state(self, *values: Tensor) -> None:
        for parameter, value in zip(self.parameters, values, strict=True):
            parameter.value = value.numpy()


@pytest.mark.parametrize(
    "case", ["free", "floors", "waiting", "a cell without clients", "no budgets", "overlaps that cannot be kept"]
)
def test_the_programme_is_that_of_cvxpy(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrix, bounds, costs and solutions of three iterations are equal to the last bit. The programme with the steps,
    as printed, has the same least cost."""
    slot = slot_of(view(0, **{"floors": FLOORS, "waiting": WAITING}.get(case, {})))
    before = some_before(slot, 0)
    if case == "a cell without clients":
        budget = slot.fleet.energy_j.clone()
        budget[:14] = 0.0
        slot = replace(slot, fleet=replace(slot.fleet, energy_j=budget))
    elif case == "no budgets":
        slot = with_budget(slot, math.inf)
    elif case == "overlaps that cannot be kept":
        before[:20] = True
    solved = []

    class Both(joint_dc._Programme):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            self.modelled = Modelled(*arguments)  # type: ignore[arg-type]

        def solve(self, *values: Tensor) -> Tensor | None:
            solution = super().solve(*values)
            assert solution is not None
            self.modelled.state(*values)
            data = self.modelled.problem.get_problem_data(cp.CLARABEL)[0]
            assert data["A"].shape == self.a.shape
            for field in ("indptr", "indices", "data"):
                assert np.array_equal(getattr(data["A"], field), getattr(self.a, field))
            assert np.array_equal(data["b"], self.b)
            assert np.array_equal(data["c"], self.q)
            self.modelled.problem.solve(solver=cp.CLARABEL, warm_start=False)
            assert np.array_equal(self.modelled.x.value, solution.numpy())
            least = self.modelled.whole.solve(solver=cp.CLARABEL)
            assert math.isclose(least, float((values[0] * solution).sum()), rel_tol=1e-6)
            solved.append(solution)
            return solution

    monkeypatch.setattr(joint_dc, "_Programme", Both)
    dc_decision(slot, Z, MOST, THETA, PSI, before, Iteration(most=3))
    assert len(solved) == 3


@pytest.mark.parametrize("most", [1, 2, 5, 50])
def test_steps_of_every_relaxed_selection_exist(most: int) -> None:
    """C4 and (31) leave ``L / L_max`` an interval wherever (30) and (34) hold. The length of the interval is a concave
    function of the selection and its steps, so that it is nowhere less than at the corners of (30) and (34)."""
    one = Fraction(1, most)
    for share in (Fraction(joint_dc.LEAST_SHARE), Fraction(1)):
        for selected_steps in (share * one, share):
            least = max(one, selected_steps + (1 - share) * one)
            assert least <= min(1, selected_steps + 1 - share)


@DEVICES
@pytest.mark.parametrize("budget", [1.0, 0.15, 0.002])
def test_any_point_is_made_feasible(floors: dict[str, float], budget: float) -> None:
    """Also points far outside of deadline and budget."""
    nobody = torch.zeros(48, dtype=torch.bool)
    for seed in range(10):
        slot = with_budget(slot_of(view(seed, **floors)), budget)
        start = joint_dc._feasible_start(slot, MOST, THETA)
        ids = start.eligible.nonzero().flatten()
        few = joint_dc._only(slot, ids)
        g = Rng(seed).child("point").numpy()
        share = torch.from_numpy(g.uniform(0.01, 1.0, len(ids)))
        work = share * torch.from_numpy(g.uniform(1 / MOST, 1.0, len(ids)))
        f = few.fleet.f_max_hz * torch.from_numpy(10 ** g.uniform(-4, 0, len(ids)))
        p = few.fleet.p_max_w * torch.from_numpy(10 ** g.uniform(-8, 0, len(ids)))
        point = Point(share, work, f.clamp(min=slot.fleet.cpu_min_hz), p.clamp(min=slot.fleet.tx_min_w))
        begin = Offer(*(getattr(start, name)[ids] for name in Offer.__dataclass_fields__))
        offer = joint_dc._feasible(few, point, begin, MOST)
        everyone, notes = select(few, offer, THETA, Z, Z, nobody[ids])
        assert broken(few, offer, everyone, notes, nobody[ids], psi=Z) == []
        problems = broken(few, offer, torch.ones_like(everyone), notes, nobody[ids], psi=Z)
        assert [text for text in problems if not text.startswith("C2")] == []


def test_nobody_can_take_part() -> None:
    usual = view(0)
    assert usual.channel is not None
    assert usual.fleet is not None
    poor = replace(usual, fleet=replace(usual.fleet, energy_j=torch.zeros(48, dtype=torch.float64)))
    deaf = replace(usual, channel=replace(usual.channel, gain=usual.channel.gain * 1e-30))
    silent = replace(usual, channel=replace(usual.channel, gain=torch.zeros_like(usual.channel.gain)))
    policy = joint(clients=Z, mode="dc")
    for nothing, why in ((poor, Reason.ENERGY), (deaf, Reason.DEADLINE), (silent, Reason.DEADLINE)):
        alloc, state = policy.decide(nothing, policy.start(48), Rng(0))
        assert not bool(alloc.active.any())
        assert not bool(state["before"].any())
        assert not bool(alloc.steps.any())
        assert alloc.cpu_hz is not None
        assert alloc.power_w is not None
        assert bool((alloc.cpu_hz.isfinite() & alloc.power_w.isfinite()).all())
        assert set(alloc.reason.tolist()) == {int(why)}
        assert alloc.notes["short"].values.tolist() == [Z] * 4
        assert alloc.notes["iterations"].values.tolist() == [0] * 4


def test_cells_that_are_empty_or_short() -> None:
    """Cell 0 has no budget, cell 1 two clients with one: the others are selected as usual."""
    slot = slot_of(view(0))
    budget = slot.fleet.energy_j.clone()
    budget[:22] = 0.0
    slot = replace(slot, fleet=replace(slot.fleet, energy_j=budget))
    before = some_before(slot, 1)
    offer, active, notes = dc_decision(slot, Z, MOST, THETA, PSI, before, FEW)
    assert broken(slot, offer, active, notes, before) == []
    assert torch.bincount(slot.parent[active], minlength=4).tolist() == [0, 2, 4, 4]
    assert set(offer.reason[:22].tolist()) == {int(Reason.ENERGY)}


@pytest.mark.parametrize(("each", "psi"), [(3, 1), (12, 0), (4, 0)])
def test_an_overlap_that_cannot_be_kept(each: int, psi: int) -> None:
    slot = slot_of(view(2, edges=1, each=each))
    before = torch.ones(each, dtype=torch.bool)
    before[: each - 3] = False
    offer, active, notes = dc_decision(slot, Z, MOST, THETA, psi, before, FEW)
    assert broken(slot, offer, active, notes, before, psi=psi) == []


@pytest.mark.parametrize("when", [0, 3])
@pytest.mark.parametrize("how", ["NumericalError", "PrimalInfeasible", "MaxIterations", "Solved"])
def test_a_solver_that_fails_leaves_the_last_iterate(when: int, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it failed, or that it solved the programme, with a solution that is not a number."""
    honest, calls = clarabel.DefaultSolver, [0]

    class Solver:
        def __init__(self, *programme: object) -> None:
            self.programme = programme

        def solve(self) -> object:
            calls[0] += 1
            found = honest(*self.programme).solve()
            if calls[0] <= when:
                return found
            return SimpleNamespace(status=getattr(clarabel.SolverStatus, how), x=[math.nan] * len(found.x))

    monkeypatch.setattr(clarabel, "DefaultSolver", Solver)
    slot = slot_of(view(1))
    before = some_before(slot, 1)
    offer, active, notes = dc_decision(slot, Z, MOST, THETA, PSI, before)
    assert calls == [when + 1]
    assert notes["iterations"].tolist() == [when] * 4
    assert broken(slot, offer, active, notes, before) == []


@pytest.mark.parametrize(("most", "theta"), [(1, 0.4), (50, 0.0), (50, 1.0)])
def test_corners_of_steps_and_weights(most: int, theta: float) -> None:
    slot = slot_of(view(4))
    before = some_before(slot, 4)
    offer, active, notes = dc_decision(slot, Z, most, theta, PSI, before, FEW)
    assert broken(slot, offer, active, notes, before, most=most) == []
    assert set(offer.steps[active].tolist()) == {1 if theta == 0 else most}


def test_the_same_slot_gives_the_same_answer() -> None:
    slot = slot_of(view(5))
    before = some_before(slot, 5)
    kept = before.clone()
    one = dc_decision(slot, Z, MOST, THETA, PSI, before, FEW)
    dc_decision(slot_of(view(6)), Z, MOST, THETA, PSI, before, FEW)
    two = dc_decision(slot, Z, MOST, THETA, PSI, before, FEW)
    assert torch.equal(before, kept)
    assert torch.equal(one[1], two[1])
    for name in Offer.__dataclass_fields__:
        assert torch.equal(getattr(one[0], name), getattr(two[0], name))


@pytest.mark.parametrize("start", ["full_power", "one_step", "optimum"])
def test_every_start_ends_feasible_and_the_optimum_is_hardly_left(start: Start) -> None:
    slot = slot_of(view(0))
    before = some_before(slot, 0)
    offer, active, notes = dc_decision(slot, Z, MOST, THETA, PSI, before, Iteration(most=6, start=start))
    assert broken(slot, offer, active, notes, before) == []
    best, chosen = exact(slot, before)
    least = float(best.energy_j[chosen].sum())
    if start == "optimum":
        assert torch.equal(active, chosen)
        assert float(offer.energy_j[active].sum()) == pytest.approx(least, rel=0.01)
    if start == "full_power":
        assert float(offer.energy_j[active].sum()) > 1.01 * least


def test_a_coarse_precision_ends_after_the_first_iteration() -> None:
    slot = slot_of(view(0))
    before = torch.zeros(slot.clients, dtype=torch.bool)
    notes = [dc_decision(slot, Z, MOST, THETA, PSI, before, Iteration(precision=p, most=6))[2] for p in (1e9, 0.0)]
    assert [int(note["iterations"][0]) for note in notes] == [1, 6]


def test_settings_belong_to_dc() -> None:
    assert joint(mode="dc", rho=1.0, iterations=3, precision=0.1, start="one_step").iteration == Iteration(
        1.0, 3, 0.1, "one_step"
    )
    with pytest.raises(SpecError, match="apply to mode dc only"):
        joint(rho=1.0)

"""RawHFL's joint policy: constraints, reasons, and what the optimum saves."""

from dataclasses import replace

import pytest
import torch
from support.slots import (
    rawhfl_slot,
    rawhfl_view,
    seconds_and_joules,
)

from fedradio.core.contracts import Reason
from fedradio.core.rng import Rng
from fedradio.policies.joint import Joint, joint
from fedradio.policies.slot import slot_of


@pytest.mark.parametrize("mode", ["optimal", "paper"])
def test_allocations_keep_every_constraint(mode: str) -> None:
    policy = joint(clients=4, mode=mode)  # type: ignore[arg-type]
    state = policy.start(48)
    for seed in range(10):
        v = rawhfl_view(seed)
        previous = state["before"]
        alloc, state = policy.decide(v, state, Rng(seed))
        counts = torch.bincount(v.parent[alloc.active], minlength=4)
        assert torch.equal(counts + alloc.notes["short"].values, torch.full((4,), 4))
        overlap = torch.bincount(v.parent[alloc.active & previous], minlength=4)
        assert bool((overlap <= 2 + alloc.notes["relaxed"].values).all())
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
            offer, active, _ = joint(clients=4, mode=mode).solve(rawhfl_slot(seed), nobody)  # type: ignore[arg-type]
            total[mode] += float(offer.energy_j[active].sum())
            steps[mode] += int(offer.steps[active].sum())
    assert steps["optimal"] >= steps["paper"]
    assert total["paper"] > 50 * total["optimal"]


def test_infeasible_corners_have_reasons() -> None:
    base = rawhfl_view(0)
    assert base.fleet is not None
    broke = replace(base, fleet=replace(base.fleet, energy_j=torch.zeros(48, dtype=torch.float64)))
    rushed = replace(base, deadline_s=1e-3)
    for mode in ("optimal", "paper"):
        policy = joint(clients=4, mode=mode)  # type: ignore[arg-type]
        for v, why in ((broke, Reason.ENERGY), (rushed, Reason.DEADLINE)):
            alloc, state = policy.decide(v, policy.start(48), Rng(0))
            assert not bool(alloc.active.any())
            assert set(alloc.reason.tolist()) == {int(why)}
            assert alloc.notes["short"].values.tolist() == [4] * 4
            assert not bool(state["before"].any())


def test_an_impossible_overlap_is_relaxed_as_little_as_possible() -> None:
    """Three of a cell of three, all of them selected before: overlap 3 with Psi = 1."""
    v = rawhfl_view(0, edges=1, each=3)
    policy = joint(clients=3, overlap=1)
    alloc, state = policy.decide(v, policy.start(3), Rng(0))
    alloc, _ = policy.decide(v, state, Rng(0))
    assert alloc.active.tolist() == [True] * 3
    assert alloc.notes["relaxed"].values.tolist() == [2]


def test_defaults_and_refusals() -> None:
    assert joint(clients=4).overlap == 2
    assert joint(clients=4, overlap=0).overlap == 0
    assert "only 12" in joint(clients=13).check(rawhfl_view(0).parent, 4)
    assert isinstance(joint(), Joint)

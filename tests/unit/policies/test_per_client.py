"""OSAFL's policy: plans keep every constraint and arrive, reasons and notes."""

from dataclasses import replace

import pytest
import torch
from support.slots import HARDWARE_KINDS, cost_of, osafl_view

from fedradio.core.contracts import Exchange, Reason
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.fleet.costs import compute_s
from fedradio.policies.per_client import PerClient, per_client
from fedradio.policies.slot import Offer, full_power_offer, slot_of


@HARDWARE_KINDS
@pytest.mark.parametrize("mode", ["optimal", "paper"])
def test_plans_keep_every_constraint(mode: str, floors: dict[str, float]) -> None:
    policy = per_client(mode=mode)  # type: ignore[arg-type]
    took_part = 0
    for seed in range(10):
        v = osafl_view(seed, **floors)  # type: ignore[arg-type]
        if "pa_efficiency" in floors:  # an amplifier that draws four times the power, at full power as well
            assert v.fleet is not None
            v = replace(v, fleet=replace(v.fleet, energy_j=5 * v.fleet.energy_j))
        alloc, _ = policy.decide(v, policy.start(60), Rng(0))
        s, fleet, on = slot_of(v), v.fleet, alloc.active
        assert fleet is not None
        assert alloc.cpu_hz is not None
        assert alloc.power_w is not None
        offer = Offer(on, alloc.steps, alloc.cpu_hz, alloc.power_w, torch.zeros(60), alloc.reason)
        seconds, joules = cost_of(s, offer)
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
    for mode, iterations in (("optimal", 1), ("paper", 1), ("paper", 7)):
        policy = per_client(mode=mode, iterations=iterations)  # type: ignore[arg-type]
        for seed in range(10):
            v = osafl_view(seed)
            alloc, _ = policy.decide(v, {}, Rng(0))
            assert v.cycles_per_step is not None
            assert alloc.cpu_hz is not None
            ready = compute_s(v.cycles_per_step * alloc.steps, alloc.cpu_hz)
            airtime = v.link.plan(Exchange.of(v, alloc, ready), {}, Rng(0))
            assert torch.equal(airtime.arrived, alloc.active)
            assert airtime.done_s is not None
            assert bool((airtime.done_s[alloc.active] > 199.999).all())


def test_reasons_and_notes() -> None:
    base = osafl_view(0)
    assert base.fleet is not None
    broke = replace(base, fleet=replace(base.fleet, energy_j=torch.zeros(60, dtype=torch.float64)))
    rushed = replace(base, deadline_s=1e-3)
    empty = replace(base, unable=torch.where(torch.arange(60) < 10, int(Reason.NO_DATA), 0))
    for mode in ("optimal", "paper"):
        policy = per_client(mode=mode)
        for v, why in ((broke, Reason.ENERGY), (rushed, Reason.DEADLINE)):
            alloc, _ = policy.decide(v, {}, Rng(0))
            assert not bool(alloc.active.any())
            assert set(alloc.reason.tolist()) == {int(why)}
            assert alloc.notes["eligible"].values.tolist() == [0]
        everybody, _ = policy.decide(base, {}, Rng(0))
        alloc, _ = policy.decide(empty, {}, Rng(0))
        assert set(alloc.reason[:10].tolist()) == {int(Reason.NO_DATA)}
        assert torch.equal(alloc.active[10:], everybody.active[10:])
        assert alloc.notes["eligible"].values.tolist() == [int(alloc.active.sum())]
        assert torch.equal(alloc.notes["full_power_steps"].values, full_power_offer(slot_of(base), 5).steps)


def test_defaults_and_refusals() -> None:
    assert per_client() == PerClient(5, "optimal", 1)
    assert per_client().check(torch.zeros(3).long(), 1) == ""
    with pytest.raises(SpecError, match="does not iterate"):
        per_client(iterations=2)
    with pytest.raises(SpecError, match="has no starting point"):
        per_client(start=(1.0, 0.5))
    assert per_client(mode="paper", start=(1.0, 0.5)).point == (1.0, 0.5)

"""Plans of every planning policy over places that persist: the link does what is planned, and nobody is late."""

from __future__ import annotations

import pytest
import torch

from fedradio import begin, build, load_spec, plan_slots

SMALL = ("topology.edges=2", "topology.clients_per_edge=4", "data.source.test_requests=20", "seed=3")
PLACE = "hops.0.channel={kind: urban_macro, redraw: place}"

POLICIES = {
    "joint, optimal": "{kind: joint, clients: 2}",
    "joint, paper": "{kind: joint, clients: 2, mode: paper}",
    "joint, dc": "{kind: joint, clients: 2, mode: dc}",
    "budget, common": "{kind: budget}",
    "budget, own": "{kind: budget, share: own}",
    "budget, all_or_nothing": "{kind: budget, share: all_or_nothing}",
    "per_client, optimal": "{kind: per_client, max_steps: 50}",
    "per_client, paper": "{kind: per_client, max_steps: 50, mode: paper}",
}


CASES = [
    pytest.param(name, fleet, marks=[pytest.mark.wide] if name == "joint, dc" and fleet == "cellular" else [])
    for name in POLICIES
    for fleet in ("cellular", "handset")
]
"""The iteration of dc takes half a second a slot."""


@pytest.mark.parametrize(("name", "fleet"), CASES)
def test_planned_seconds_are_those_of_the_link_and_nobody_is_late(name: str, fleet: str) -> None:
    """100 slots (dc: 4) within 5 s: seconds by the formulas of computing and of Shannon's rate, from the gains.

    Devices without floors use all of the time, handsets finish early. Gains stay the same from slot to slot.
    """
    devices = f"hops.0.fleet={{kind: {fleet}, cycles_per_bit: [250, 400], energy_j: null}}"
    spec = load_spec("rawhfl", [*SMALL, PLACE, devices, "hops.0.deadline_s=5", f"hops.0.policy={POLICIES[name]}"])
    sim = build(spec)
    cycles = sim.stream.sample_bits * sim.rule.batch
    slots = list(plan_slots(sim, begin(sim), 1 if name == "joint, dc" else 25))
    took_part = 0
    for planned in slots:
        x, on = planned.x, planned.x.alloc.active
        assert x.fleet is not None
        assert x.channel is not None
        assert x.alloc.cpu_hz is not None
        assert x.alloc.power_w is not None
        assert planned.airtime.done_s is not None
        own = x.channel.gain[x.parent, torch.arange(x.senders)]
        rate = 540e3 * torch.log2(1 + x.alloc.power_w * own / (x.channel.noise * 540e3))
        computing = x.fleet.cycles_per_bit * cycles * x.alloc.steps / x.alloc.cpu_hz
        seconds = computing + 33 * sim.model.shared.size / rate
        assert torch.allclose(planned.airtime.done_s[on].double(), seconds[on].double(), rtol=1e-9)
        assert bool((planned.airtime.done_s[on] <= 5.0).all())
        assert torch.equal(planned.airtime.arrived, on)
        took_part += int(on.sum())
    assert took_part >= 2 * len(slots)

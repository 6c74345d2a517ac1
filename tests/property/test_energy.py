"""Energy of a run: the sum over who computed, sent and waited, whatever the links, policies, fleets and deadlines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.worlds import cells

from fedradio.core.contracts import ExchangeRecord, Fleet, Hop, Link, Policy
from fedradio.core.registry import parts
from fedradio.fleet.profile import cellular, handset, iot, vehicle
from fedradio.links.digital import digital
from fedradio.links.ideal import ideal
from fedradio.links.over_the_air import over_the_air
from fedradio.network.channel import urban_macro
from fedradio.policies.budget import budget
from fedradio.policies.fixed import fixed
from fedradio.policies.joint import joint
from fedradio.policies.per_client import per_client
from fedradio.policies.ramp import ramp
from fedradio.policies.sampling import sampling
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation

RATE_HZ, UNIT_W = 1e5, 0.3
"""Symbols per second of the air, and the power of a symbol of size 1."""

LINKS: dict[str, Link] = {
    "ideal": ideal(),
    "digital": digital(),
    "lossy": digital(bandwidth_hz=2e5, erasure=0.3),
    "air": over_the_air(symbol_rate_hz=RATE_HZ, power_unit_w=UNIT_W),
}

POLICIES: dict[str, Policy] = {
    "fixed": fixed(steps=(1, 4)),
    "sampling": sampling(clients=2, steps=2),
    "ignoring": sampling(clients=2, steps=2, deadline="ignore"),
    "joint": joint(clients=2, max_steps=3),
    "joint, paper": joint(clients=2, max_steps=3, mode="paper"),
    "joint, dc": joint(clients=2, max_steps=3, mode="dc", iterations=3),
    "per_client": per_client(max_steps=3),
    "per_client, paper": per_client(max_steps=3, mode="paper"),
    "budget": budget(max_steps=3),
    "ramp": ramp(steps=2),
}

FLEETS = {"cellular": partial(cellular, energy_j=(50.0, 90.0)), "handset": handset, "iot": iot, "vehicle": vehicle}

PLANNING = {name for name, policy in POLICIES.items() if "rate" in policy.needs}
"""Policies that need a deadline and a link with rates."""

AMPLITUDES = {name for name, policy in POLICIES.items() if "amplitude" in policy.needs}
"""Policies that need a link whose senders are given amplitudes."""


@dataclass(frozen=True)
class World:
    """One simulation by the names of its parts, and the numbers of its fleet that are not its defaults."""

    link: str
    policy: str
    deadline_s: float | None
    late: Any
    fading: Any
    redraw: Any
    devices: str
    fleet: dict[str, float]
    above: bool
    seed: int

    def build(self) -> Simulation:
        fleet = partial(FLEETS[self.devices], **self.fleet)
        channel = urban_macro(fading=self.fading, redraw=self.redraw)
        return cells(
            link=LINKS[self.link],
            policy=POLICIES[self.policy],
            channel=channel,
            fleet=fleet,
            deadline_s=self.deadline_s,
            late=self.late,
            above=Hop(digital(), fixed(), urban_macro(), late=self.late) if self.above else None,
            fleet_above=fleet if self.above else None,
            seed=self.seed,
        )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    link = draw(st.sampled_from(sorted(LINKS)))
    rates = link in ("digital", "lossy")
    unfit = AMPLITUDES if rates else PLANNING
    policy = draw(st.sampled_from([name for name in POLICIES if name not in unfit]))
    deadline_s = draw(st.sampled_from([0.0003, 0.004, 0.007, 0.01, 0.02, 0.2]))  # computing .2 to .7 ms, uploads ms
    numbers = {
        "circuit_w": draw(st.sampled_from([0.0, 0.2])),
        "cpu_static_w": draw(st.sampled_from([0.0, 0.3])),
        "cpu_min_hz": draw(st.sampled_from([0.0, 3e8])),
        "tx_min_w": draw(st.sampled_from([0.0, 1e-3])),
        "pa_efficiency": draw(st.sampled_from([1.0, 0.25])),
        "idle_w": draw(st.sampled_from([0.0, 0.1, 0.4])),
    }
    devices = draw(st.sampled_from(["cellular", *FLEETS]))  # twice as often as others: its numbers vary
    return World(
        link=link,
        policy=policy,
        deadline_s=deadline_s if policy in PLANNING or draw(st.booleans()) else None,
        late=draw(st.sampled_from(["stop", "finish"])),
        fading=draw(st.sampled_from(["none", "rayleigh"])) if link != "air" else "none",
        redraw=draw(st.sampled_from(["exchange", "place"])),
        devices=devices,
        fleet=numbers if devices == "cellular" else {},
        above=draw(st.booleans()),
        seed=draw(st.integers(0, 10**6)),
    )


def computed_j(record: ExchangeRecord, fleet: Fleet, ready_s: list[float], stops_s: float) -> float:
    """``(zeta/2 f^3 + P_static) t`` of every active client, which computes for t until it is ready or stops."""
    assert record.cpu_hz is not None
    return sum(
        (0.5 * fleet.capacitance * f**3 + fleet.cpu_static_w) * min(ready, stops_s)
        for f, ready in zip(record.cpu_hz, ready_s, strict=True)
    )


def on_air_s(record: ExchangeRecord, link: str, ready_s: list[float], stops_s: float) -> list[float]:
    """Seconds on the air of every active sender, until its payload is there or it stops."""
    assert record.seconds is not None
    if link == "ideal":
        return [0.0] * len(ready_s)
    if link == "air":
        assert record.uses is not None
        return [record.uses / RATE_HZ if arrived else 0.0 for arrived in record.arrived]
    return [max(0.0, min(end, stops_s) - ready) for end, ready in zip(record.seconds, ready_s, strict=True)]


def sent_j(record: ExchangeRecord, link: str, fleet: Fleet, on_air: list[float]) -> float:
    """``(P / eta + P_circuit) tau`` of every active sender; of analogue symbols P is that of the payload."""
    if link == "ideal" or not on_air:
        return 0.0
    powers = [UNIT_W * power for power in record.notes["tx_power"].values] if link == "air" else record.power_w
    assert powers is not None
    return sum((power / fleet.pa_efficiency + fleet.circuit_w) * tau for power, tau in zip(powers, on_air, strict=True))


def waited_j(ends_s: list[float], fleet: Fleet, ready_s: list[float], on_air: list[float]) -> float:
    """``P_idle t`` of every active sender for the rest of its exchange, which is over at ``ends_s``."""
    rest_s = [end - ready - tau for end, ready, tau in zip(ends_s, ready_s, on_air, strict=True)]
    return fleet.idle_w * sum(max(0.0, rest) for rest in rest_s)


def joules_of(sim: Simulation, world: World, record: ExchangeRecord, elapsed_s: list[float]) -> float:
    """Energy of an exchange by what its record says of each active sender; the idle pay nothing."""
    hop = sim.hops[record.hop]
    if hop.fleet is None:
        return 0.0
    stops_s = hop.deadline_s if hop.late == "stop" and hop.deadline_s is not None else float("inf")
    if record.hop > 0:
        link, computed, ready_s = "digital", 0.0, [elapsed_s[i] for i in record.ids]
    else:
        assert record.cpu_hz is not None
        cycles = hop.fleet.cycles_per_bit * sim.stream.sample_bits * sim.rule.batch
        ready_s = [
            float(cycles[i]) * steps / f for i, steps, f in zip(record.ids, record.steps, record.cpu_hz, strict=True)
        ]
        link, computed = world.link, computed_j(record, hop.fleet, ready_s, stops_s)
    on_air = on_air_s(record, link, ready_s, stops_s)
    assert record.time_s is not None
    ends_s = [record.time_s[int(sim.topology.parents[record.hop][i])] for i in record.ids]
    return computed + sent_j(record, link, hop.fleet, on_air) + waited_j(ends_s, hop.fleet, ready_s, on_air)


def test_every_policy_link_and_drawn_fleet_is_tried() -> None:
    names = {family: {part.kind for part in parts(family)} for family in ("policy", "link", "fleet")}
    assert names["policy"] == {name.split(",")[0] for name in POLICIES} - {"ignoring"}
    assert len(names["link"]) == len({type(link) for link in LINKS.values()})
    assert names["fleet"] - {"file"} == set(FLEETS)


@given(worlds())
@examples(150)
def test_energy_is_the_sum_over_who_computed_sent_and_waited(world: World) -> None:
    sim = world.build()
    state = begin(sim)
    total = 0.0
    for _ in range(2):
        state, record, exchanges = run_round(sim, state, evaluate=False)
        elapsed = torch.zeros(2)
        expected = 0.0
        for each in exchanges:
            expected += joules_of(sim, world, each, elapsed.tolist())
            if each.hop == 0:
                assert each.time_s is not None
                elapsed = elapsed + torch.tensor(each.time_s)
                if sim.hops[0].deadline_s is not None:
                    assert max(each.time_s) <= sim.hops[0].deadline_s
        assert record.energy_j == pytest.approx(expected, rel=1e-6, abs=1e-12)
        total += expected
    assert state.energy_j == pytest.approx(total, rel=1e-6, abs=1e-12)

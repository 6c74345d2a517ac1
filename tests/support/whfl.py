"""W-HFL's network with its first slot planned."""

from __future__ import annotations

from fedradio.rounds.planning import Planned, plan_slots
from fedradio.rounds.round import begin
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

FLAT = (
    "topology.flat=true",
    "hops=[{link: over_the_air, channel: power_law, policy: {kind: ramp, scale: 0.5, steps: 1}}]",
)
"""Overrides: the same clients without edges."""


def planned(*overrides: str) -> tuple[Simulation, Planned]:
    sim = build(load_spec("whfl", list(overrides)))
    return sim, next(iter(plan_slots(sim, begin(sim), 1)))

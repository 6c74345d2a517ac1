"""Memory of parts between exchanges, by their path in the spec; a part without memory has no key."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from torch import Tensor

from fedradio.core.contracts import SimState, Slots
from fedradio.core.mapped import make_room
from fedradio.rounds.simulation import Simulation
from fedradio.transforms.chain import messages

Parts = dict[str, Slots]

STREAM, CACHE, CLIENTS, TASKS = "data.stream", "cache", "clients", "hops.0.gather"
"""Paths of memory that does not belong to a part of a hop; ``TASKS``: updates in flight to the receivers of hop 0."""

IN_FLIGHT = "in_flight"
"""Slot of :data:`TASKS`: whether a row is in use, ``[C]``."""


def of_hop(h: int, part: Literal["policy", "link", "channel", "receiver"]) -> str:
    """Path of a part of hop ``h``."""
    return f"hops.{h}.{part}"


def of_transform(h: int, i: int) -> str:
    """Path of transform ``i`` of hop ``h``."""
    return f"hops.{h}.transforms.{i}"


def start_parts(sim: Simulation, w: Tensor) -> Parts:
    """Memory of every part before the first round, with room to write its rows one by one; ``w [d]`` is the model."""
    parts = {STREAM: sim.stream.start()}
    for h, hop in enumerate(sim.hops):
        senders, receivers = sim.topology.senders(h), sim.topology.receivers(h)
        parts[of_hop(h, "policy")] = hop.policy.start(senders)
        parts[of_hop(h, "link")] = hop.link.start(senders, receivers)
        rng = sim.rng.child("channel", h)
        parts[of_hop(h, "channel")] = {} if hop.channel is None else hop.channel.start(senders, receivers, rng)
        parts[of_hop(h, "receiver")] = {} if hop.receiver is None else hop.receiver.start(receivers, w)
        before = messages(hop.transforms, sim.message(h))
        for i, transform in enumerate(hop.transforms):
            slots = transform.start(senders, before[i])
            parts[of_transform(h, i)] = {name: rows.to(sim.device) for name, rows in slots.items()}
    return {path: make_room(slots) for path, slots in parts.items() if slots}


def recall(parts: Parts, path: str) -> Slots:
    """Memory of the part at a path."""
    return parts.get(path, {})


def remember(state: SimState, path: str, slots: Slots) -> SimState:
    """The state with new memory of the part at a path; as it is for a part without memory."""
    return replace(state, parts=state.parts | {path: slots}) if slots else state

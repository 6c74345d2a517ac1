"""Contracts of state: named tensors, the memory of an algorithm, the state of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

Slots = dict[str, Tensor]
"""Named tensors, the only kind of state."""


@dataclass(frozen=True)
class Memory:
    """State of an algorithm: ``shared`` vectors ``[d]`` are broadcast and relayed up; ``client`` rows ``[C, ...]``
    never leave the client; ``ledger`` rows ``[C, ...]`` are what the receivers remember of each client; ``receiver``
    rows ``[R_0, ...]`` are the receivers' own, which are neither relayed nor counted as payload."""

    shared: Slots
    client: Slots = field(default_factory=dict)
    ledger: Slots = field(default_factory=dict)
    receiver: Slots = field(default_factory=dict)


@dataclass(frozen=True)
class SimState:
    """State of a simulation, all that is checkpointed: counters and named tensors; random numbers have no state. Totals
    of seconds, joules and bits are None where they are undefined.

    ``parts`` holds the memory of every part that has one, by its path in the spec (``data.stream``, ``hops.0.policy``,
    ``hops.0.link``, ``hops.0.channel``); a part without memory has no key.
    """

    t: int
    time_s: float | None
    energy_j: float | None
    bits: float | None
    memory: Memory
    signals: Slots
    parts: dict[str, Slots] = field(default_factory=dict)

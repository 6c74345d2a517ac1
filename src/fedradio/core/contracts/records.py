"""Contracts of results: the simulation's state and the records of exchanges and rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedradio.core.contracts.algorithm import Memory
    from fedradio.core.contracts.radio import Slots


@dataclass(frozen=True)
class SimState:
    """State of a simulation, all that is checkpointed: counters and named tensors; random numbers have no state. Totals
    of seconds, joules and bits are None where they are undefined."""

    t: int
    time_s: float | None
    energy_j: float | None
    bits: float | None
    memory: Memory
    stream: Slots
    policy: tuple[Slots, ...]
    signals: Slots


@dataclass(frozen=True)
class ExchangeRecord:
    """Record of one exchange of a hop: per-sender vectors, totals, seconds per receiver. None is undefined."""

    t: int
    hop: int
    e: int
    active: list[bool]
    arrived: list[bool]
    reason: list[int]
    steps: list[int]
    cpu_hz: list[float] | None
    power_w: list[float] | None
    seconds: list[float] | None
    compute_j: list[float] | None
    tx_j: list[float] | None
    bits: float | None
    uses: float | None
    time_s: list[float] | None
    effective: list[float]
    notes: dict[str, list[float]]


@dataclass(frozen=True)
class RoundRecord:
    """Record of one round: simulated seconds, joules (computing, transmitting per hop), bits per hop, training loss.

    If the round was evaluated: metrics, and, with several evaluation groups, the accuracies of each of them,
    ``groups[metric] [G]`` (None for a group without samples).
    """

    t: int
    time_s: float | None
    energy_j: float | None
    compute_j: float | None
    tx_j: list[float | None]
    bits: list[float | None]
    train_loss: float | None
    metrics: dict[str, float]
    groups: dict[str, list[float | None]]

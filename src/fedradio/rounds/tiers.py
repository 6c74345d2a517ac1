"""What a round works on: the vectors, clocks and masses of every tier."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedradio.core.contracts import ExchangeRecord, SimState, Slots
from fedradio.rounds.simulation import Simulation

NORMS = "model/norms"
"""Name of norm layers' vector ``[d_local + d_buffers]`` among a state's shared vectors, where it travels."""


@dataclass
class Tiers:
    """What a round works on. Tier ``i`` is the receivers of hop ``i``: vectors ``shared[i][name] [R_i, d]``, seconds
    since the round began, the mass that arrived since the tier last handed its result up, norm layers' numbers on the
    ``norms [R_i, n]`` where those travel; ``done`` exchanges a hop; what the algorithm
    ``published`` and training ``noted`` last (``pseudo_accuracy [C]``: of right pseudo-labels, -1: none)."""

    t: int
    shared: list[Slots]
    elapsed: list[Tensor | None]
    mass: list[Tensor]
    norms: list[Tensor | None]
    client: Slots
    ledger: Slots
    stream: Slots
    policy: list[Slots]
    signals: Slots
    done: list[int]
    exchanges: list[ExchangeRecord] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    published: Slots = field(default_factory=dict)
    noted: Slots = field(default_factory=dict)


def open_round(sim: Simulation, state: SimState) -> Tiers:
    """Every tier holds the server's vectors; clocks and masses start at 0."""
    receivers = [sim.topology.receivers(h) for h in range(len(sim.hops))]
    shared = {name: v for name, v in state.memory.shared.items() if name != NORMS}
    norms = state.memory.shared.get(NORMS)
    return Tiers(
        t=state.t,
        shared=[{name: v.expand(n, -1) for name, v in shared.items()} for n in receivers],
        elapsed=[torch.zeros(n, dtype=torch.float64) for n in receivers],
        mass=[torch.zeros(n, dtype=torch.float64) for n in receivers],
        norms=[None if norms is None else norms.expand(n, -1) for n in receivers],
        client=state.memory.client,
        ledger=state.memory.ledger,
        stream=state.stream,
        policy=list(state.policy),
        signals=state.signals,
        done=[0] * len(receivers),
    )


def hand_down(sim: Simulation, tiers: Tiers, h: int) -> None:
    """Tier ``h - 1`` gets the vectors and the clock of the tier above; the downlink is free and error-free."""
    parent = sim.topology.parents[h]
    there = parent.to(sim.device)
    tiers.shared[h - 1] = {name: rows[there] for name, rows in tiers.shared[h].items()}
    norms = tiers.norms[h]
    tiers.norms[h - 1] = None if norms is None else norms[there]
    above = tiers.elapsed[h]
    tiers.elapsed[h - 1] = None if above is None else above[parent]
    tiers.mass[h - 1] = torch.zeros_like(tiers.mass[h - 1])

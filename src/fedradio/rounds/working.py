"""What a round works on: the vectors, clocks and masses of every tier."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedradio.core.contracts import ExchangeRecord, SimState, Slots
from fedradio.rounds.simulation import Simulation

SIDE = "model/norms"
"""Name of norm layers' vector ``[d_local + d_buffers]`` among a state's shared vectors, where it travels."""


@dataclass
class Working:
    """What a round works on. Tier ``i`` is the receivers of hop ``i``: vectors ``shared[i][name] [R_i, d]``, seconds
    since the round began, the mass that arrived since the tier last handed its result up, norm layers' numbers on the
    ``side [R_i, n]`` where those travel; ``done`` exchanges a hop; what the algorithm
    ``published`` and training ``noted`` last (``pseudo_accuracy [C]``: of right pseudo-labels, -1: none)."""

    t: int
    shared: list[Slots]
    elapsed: list[Tensor | None]
    mass: list[Tensor]
    side: list[Tensor | None]
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


def open_round(sim: Simulation, state: SimState) -> Working:
    """Every tier holds the server's vectors; clocks and masses start at 0."""
    tiers = [sim.topology.receivers(h) for h in range(len(sim.hops))]
    shared = {name: v for name, v in state.memory.shared.items() if name != SIDE}
    side = state.memory.shared.get(SIDE)
    return Working(
        t=state.t,
        shared=[{name: v.expand(n, -1) for name, v in shared.items()} for n in tiers],
        elapsed=[torch.zeros(n, dtype=torch.float64) for n in tiers],
        mass=[torch.zeros(n, dtype=torch.float64) for n in tiers],
        side=[None if side is None else side.expand(n, -1) for n in tiers],
        client=state.memory.client,
        ledger=state.memory.ledger,
        stream=state.stream,
        policy=list(state.policy),
        signals=state.signals,
        done=[0] * len(tiers),
    )


def hand_down(sim: Simulation, work: Working, h: int) -> None:
    """Tier ``h - 1`` gets the vectors and the clock of the tier above; the downlink is free and error-free."""
    parent = sim.topology.parents[h]
    there = parent.to(sim.device)
    work.shared[h - 1] = {name: rows[there] for name, rows in work.shared[h].items()}
    side = work.side[h]
    work.side[h - 1] = None if side is None else side[there]
    above = work.elapsed[h]
    work.elapsed[h - 1] = None if above is None else above[parent]
    work.mass[h - 1] = torch.zeros_like(work.mass[h - 1])

"""Working state of a round: the vectors, clocks and masses of every tier."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedradio.core.contracts import ExchangeRecord, SimState, Slots
from fedradio.rounds.simulation import Simulation

NORMS = "model/norms"
"""Name of norm layers' vector ``[d_local + d_buffers]`` among a state's shared vectors, where it is sent."""


@dataclass
class Tiers:
    """Working state of a round; tier ``i`` is the receivers of hop ``i``.

    Per tier: vectors ``shared[i][name] [R_i, d]``, seconds ``elapsed [R_i]`` since the round began, ``mass [R_i]`` that
    arrived since the tier last relayed its result, norm layers' numbers ``norms [R_i, n]`` where these are sent. Per
    hop: ``done`` exchanges. Of the last exchange: signals ``published`` by the algorithm, ``notes`` on training
    (``pseudo_accuracy [C]`` of pseudo-labels, -1: none).
    """

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
    notes: Slots = field(default_factory=dict)


def open_round(sim: Simulation, state: SimState) -> Tiers:
    """Tiers at the start of a round: all have the server's vectors, clocks and masses are 0."""
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
    """Broadcast vectors and clock of tier ``h`` to tier ``h - 1``; the downlink takes no time and makes no errors."""
    parent = sim.topology.parents[h]
    parent_ids = parent.to(sim.device)
    tiers.shared[h - 1] = {name: rows[parent_ids] for name, rows in tiers.shared[h].items()}
    norms = tiers.norms[h]
    tiers.norms[h - 1] = None if norms is None else norms[parent_ids]
    above = tiers.elapsed[h]
    tiers.elapsed[h - 1] = None if above is None else above[parent]
    tiers.mass[h - 1] = torch.zeros_like(tiers.mass[h - 1])

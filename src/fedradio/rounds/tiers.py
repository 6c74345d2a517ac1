"""Tiers of a round: the vectors, clocks and masses of every tier."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import Memory, Slots, Topology
from fedradio.rounds.norm_layers import NORMS, without_norms
from fedradio.rounds.simulation import Simulation


@dataclass
class Tiers:
    """Tiers of a round under way; tier ``i`` is the receivers of hop ``i`` of the ``topology``.

    Per tier: vectors ``shared[i][name] [R_i, d]``, seconds ``elapsed [R_i]`` since the round began (None: undefined),
    ``mass [R_i]`` and number of client ``payloads [R_i]`` that arrived since the tier last relayed its result, norm
    layers' numbers ``norms [R_i, n]`` where these are sent.
    """

    topology: Topology
    shared: list[Slots]
    elapsed: list[Tensor | None]
    mass: list[Tensor]
    payloads: list[Tensor]
    norms: list[Tensor | None]

    def latest_s(self, h: int) -> float | None:
        """Seconds since the round began at the last of tier ``h``'s receivers; None where time is undefined."""
        elapsed = self.elapsed[h]
        return None if elapsed is None else float(elapsed.max())


def open_tiers(sim: Simulation, memory: Memory) -> Tiers:
    """Tiers at the start of a round: all have the server's vectors, clocks and masses are 0."""
    topology = sim.topology
    receivers = [topology.receivers(h) for h in range(topology.hops)]
    shared, norms = without_norms(memory.shared), memory.shared.get(NORMS)
    return Tiers(
        topology=topology,
        shared=[{name: v.expand(n, -1) for name, v in shared.items()} for n in receivers],
        elapsed=[torch.zeros(n, dtype=torch.float64) for n in receivers],
        mass=[torch.zeros(n, dtype=torch.float64) for n in receivers],
        payloads=[torch.zeros(n, dtype=torch.long) for n in receivers],
        norms=[None if norms is None else norms.expand(n, -1) for n in receivers],
    )


def count_payloads(tiers: Tiers, h: int, arrived: Tensor) -> None:
    """Count the clients' payloads that came to tier ``h`` with the senders ``arrived [S]`` of an exchange."""
    carried = arrived.long() if h == 0 else tiers.payloads[h - 1] * arrived
    parent = tiers.topology.parents[h]
    tiers.payloads[h] = tiers.payloads[h].index_add(0, parent, carried)


def hand_down(tiers: Tiers, h: int) -> None:
    """Broadcast vectors and clock of tier ``h`` to tier ``h - 1``; the downlink takes no time and makes no errors."""
    parent, norms = tiers.topology.parents[h], tiers.norms[h]
    tiers.shared[h - 1] = {name: rows[parent.to(rows.device)] for name, rows in tiers.shared[h].items()}
    tiers.norms[h - 1] = None if norms is None else norms[parent.to(norms.device)]
    above = tiers.elapsed[h]
    tiers.elapsed[h - 1] = None if above is None else above[parent]
    tiers.mass[h - 1] = torch.zeros_like(tiers.mass[h - 1])
    tiers.payloads[h - 1] = torch.zeros_like(tiers.payloads[h - 1])


def top_vectors(tiers: Tiers) -> Slots:
    """The server's vectors ``[d]`` after a round, norm layers' included."""
    norms = tiers.norms[-1]
    shared = {name: rows[0] for name, rows in tiers.shared[-1].items()}
    return shared if norms is None else shared | {NORMS: norms[0]}

"""Tiers of a round: what the receivers of every hop have; the model goes down from tier to tier."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import Memory, Slots, Topology
from fedradio.rounds.norm_layers import NORMS, without_norms


@dataclass(frozen=True)
class Tier:
    """Receivers of a hop: vectors ``shared[name] [R, d]``, numbers of norm layers ``norms [R, n]`` where these are
    sent, seconds ``elapsed_s [R]`` since the round began (None: undefined); and since they last relayed their result,
    the ``mass [R]`` and the number of client ``payloads [R]`` that arrived."""

    shared: Slots
    norms: Tensor | None
    elapsed_s: Tensor | None
    mass: Tensor
    payloads: Tensor

    @property
    def latest_s(self) -> float | None:
        """Seconds since the round began at the last receiver; None where time is undefined."""
        return None if self.elapsed_s is None else float(self.elapsed_s.max())


Tiers = tuple[Tier, ...]


def start_tiers(topology: Topology, memory: Memory) -> Tiers:
    """Tiers at the start of a round: all have the server's vectors, clocks and masses are 0."""
    shared, norms = without_norms(memory.shared), memory.shared.get(NORMS)

    def tier(receivers: int) -> Tier:
        return Tier(
            {name: v.expand(receivers, -1) for name, v in shared.items()},
            None if norms is None else norms.expand(receivers, -1),
            torch.zeros(receivers, dtype=torch.float64),
            torch.zeros(receivers, dtype=torch.float64),
            torch.zeros(receivers, dtype=torch.long),
        )

    return tuple(tier(topology.receivers(h)) for h in range(topology.hops))


def hand_down(topology: Topology, tiers: Tiers, h: int) -> Tiers:
    """The tiers after the vectors and clocks of tier ``h`` went down to all tiers below.

    What their way down costs, and whom it reaches, is the :class:`~fedradio.core.contracts.Broadcast` of the exchange.
    """
    for i in range(h, 0, -1):
        above, parent = tiers[i], topology.parents[i]
        below = Tier(
            {name: rows[parent.to(rows.device)] for name, rows in above.shared.items()},
            None if above.norms is None else above.norms[parent.to(above.norms.device)],
            None if above.elapsed_s is None else above.elapsed_s[parent],
            torch.zeros(len(parent), dtype=torch.float64),
            torch.zeros(len(parent), dtype=torch.long),
        )
        tiers = put(tiers, i - 1, below)
    return tiers


def put(tiers: Tiers, h: int, tier: Tier) -> Tiers:
    """The tiers with another tier ``h``."""
    return (*tiers[:h], tier, *tiers[h + 1 :])


def top_vectors(tiers: Tiers) -> Slots:
    """The server's vectors ``[d]`` after a round, norm layers' included."""
    top = tiers[-1]
    shared = {name: rows[0] for name, rows in top.shared.items()}
    return shared if top.norms is None else shared | {NORMS: top.norms[0]}

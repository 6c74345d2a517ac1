"""The side channel of norm layers: where a model says so, their parameters and running statistics travel beside the
payload, digitally and without error, and are averaged with the same weights (W-HFL sends the rest as analogue symbols).
"""

from __future__ import annotations

from torch import Tensor

from fedradio.core.params import group_share
from fedradio.links.ideal import weighted_total
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers

NORM_BITS = 32.0
"""Bits of one number on the side channel."""


def travels(sim: Simulation) -> bool:
    """Whether norm layers' numbers are sent; in one place (central training) there is nobody to send them to."""
    numbers = sim.model.local.size + sim.model.buffers.size
    return sim.model.norms == "shared" and numbers > 0 and sim.algorithm.pooling is None


def norm_bits(sim: Simulation, senders: int) -> float | None:
    """Bits that so many senders put on the side channel; None where there is none."""
    return NORM_BITS * (sim.model.local.size + sim.model.buffers.size) * senders if travels(sim) else None


def merge_norms(tiers: Tiers, h: int, rows: Tensor, weight: Tensor, group: Tensor) -> None:
    """The receivers of hop ``h`` take the weighted mean of ``rows [A, n]``, their senders' vectors; those without any
    keep their own."""
    own = tiers.norms[h]
    assert own is not None
    share = group_share(weight, group, len(own))
    change = (rows - own[group.to(own.device)]).unsqueeze(1)
    tiers.norms[h] = own + weighted_total(change, share, group, len(own))[:, 0]

"""Averaging of norm layers on a side channel: with ``norms: shared`` their parameters and running statistics are sent
beside the payload, digitally and without error, and averaged with the same weights (W-HFL sends the rest in symbols).
"""

from __future__ import annotations

from torch import Tensor

from fedradio.core.params import group_share
from fedradio.links.ideal import weighted_total
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers

NORM_BITS = 32.0
"""Bits of one number on the side channel."""


def sends_norms(sim: Simulation) -> bool:
    """Whether norm layers are sent; in central training they are not."""
    numbers = sim.model.local.size + sim.model.buffers.size
    return sim.model.norms == "shared" and numbers > 0 and sim.algorithm.pooling is None


def norm_bits(sim: Simulation, senders: int) -> float | None:
    """Bits of ``senders`` on the side channel; None where norm layers are not sent."""
    return NORM_BITS * (sim.model.local.size + sim.model.buffers.size) * senders if sends_norms(sim) else None


def merge_norms(tiers: Tiers, h: int, rows: Tensor, weight: Tensor, group: Tensor) -> None:
    """Average norm layers at the receivers of hop ``h``: the weighted mean of their senders' ``rows [A, n]``; receivers
    without senders keep their own."""
    own = tiers.norms[h]
    assert own is not None
    share = group_share(weight, group, len(own))
    change = (rows - own[group.to(own.device)]).unsqueeze(1)
    tiers.norms[h] = own + weighted_total(change, share, group, len(own))[:, 0]

"""Averaging of norm layers on a side channel: with ``norms: shared`` their parameters and running statistics are sent
beside the payload, digitally and without error, and averaged with the same weights (W-HFL sends the rest in symbols).
Otherwise they stay with the clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from fedradio.core.contracts import Memory, Slots
from fedradio.core.params import group_share
from fedradio.links.ideal import weighted_total

if TYPE_CHECKING:
    from fedradio.rounds.simulation import Learner

NORMS = "model/norms"
"""Name of norm layers' vector ``[d_local + d_buffers]`` among a state's shared vectors, where it is sent."""

LOCAL = "model/local"
"""Client slot of norm layers' parameters and buffers, ``[C, d_local + d_buffers]``, where they stay with the client."""

NORM_BITS = 32.0
"""Bits of one number on the side channel."""


def sends_norms(learner: Learner) -> bool:
    """Whether norm layers are sent; in central training they are not."""
    numbers = learner.model.local.size + learner.model.buffers.size
    return learner.model.norms == "shared" and numbers > 0 and not learner.pooled


def norm_bits(learner: Learner, senders: int) -> float | None:
    """Bits of ``senders`` on the side channel; None where norm layers are not sent."""
    return (
        NORM_BITS * (learner.model.local.size + learner.model.buffers.size) * senders if sends_norms(learner) else None
    )


def without_norms(shared: Slots) -> Slots:
    """The algorithm's own shared vectors."""
    return {name: vector for name, vector in shared.items() if name != NORMS}


def global_norms(memory: Memory) -> Tensor | None:
    """Norm layers of the global model ``[n]``: the averaged ones or, where these stay with the clients, their mean."""
    if LOCAL in memory.client:
        return memory.client[LOCAL].mean(dim=0)
    return memory.shared.get(NORMS)


def averaged_norms(own: Tensor, rows: Tensor, weight: Tensor, group: Tensor) -> Tensor:
    """Norm layers ``[R, n]`` of receivers that had ``own [R, n]``: the weighted mean of their senders' ``rows [A, n]``;
    receivers without senders keep their own."""
    share = group_share(weight, group, len(own))
    change = (rows - own[group.to(own.device)]).unsqueeze(1)
    return own + weighted_total(change, share, group, len(own))[:, 0]

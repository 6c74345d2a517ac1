"""Error feedback: what was lost behind it, by coders or on the link, is added to the sender's next payload.

``x = v + e`` is coded; afterwards ``e = x - heard`` if the payload arrived, else ``e = x``: nothing was heard and
nothing is forgotten. Senders that do not take part keep their e. By hand: v = (1, 3) with the top 1 behind it: heard
(0, 3), e = (1, 0); the next v = (1, 1) is sent as (2, 1), heard (2, 0), e = (0, 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedradio.core.contracts import Coded, Message, Sent, Slots, Transform, View
from fedradio.core.registry import register
from fedradio.core.rng import Rng

ERROR = "error"
"""Memory of a sender ``[S, k, d]``: what its receiver has not heard yet."""


@dataclass(frozen=True)
class Feedback(Transform):
    """Error feedback, see :func:`feedback`."""

    lossy = False

    def start(self, senders: int, before: Message) -> Slots:
        return {ERROR: torch.zeros(before.blocks, before.size).expand(senders, -1, -1)}

    def message(self, before: Message) -> Message:
        return replace(before, norm=None)

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        """Payloads with what is still owed, but for the blocks that both sides accumulate: there the memory of both is
        the feedback already."""
        owed = mine[ERROR].to(sent.payload)
        if x.message.memory:
            owed = owed.clone()
            owed[:, sorted(x.message.memory)] = 0.0
        return Coded(sent.payload + owed)

    def keep(self, coded: Tensor, heard: Tensor, arrived: Tensor, mine: Slots) -> Slots:
        """What is owed now: ``coded - arrived heard``."""
        return {ERROR: (coded - heard * arrived.to(heard)[:, None, None]).to(mine[ERROR].dtype)}


@register("transform", "feedback", paper="Seide et al., Interspeech 2014; Karimireddy et al., arXiv:1901.09847")
def feedback() -> Feedback:
    """Error feedback: whatever later transforms or the link lose is added to the sender's next payload."""
    return Feedback()

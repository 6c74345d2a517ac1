"""Clipping of payloads to a largest norm.

``v min(1, C / |v|_2)`` over all ``k d`` numbers of a sender together. By hand: (3, 4) has norm 5 and becomes (1.5, 2)
at C = 2.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import torch

from fedradio.core.contracts import Coded, Message, Noted, Sent, Slots, Transform, View
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng


@dataclass(frozen=True)
class Clip(Transform):
    """Clipping to a largest 2-norm, see :func:`clip`."""

    norm: float
    notes = frozenset({"clipped"})

    def message(self, before: Message) -> Message:
        return replace(before, norm=self.norm)

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        """Shortened payloads; ``clipped [A]`` notes whose norm was above."""
        length = torch.linalg.vector_norm(sent.payload.double().flatten(1), dim=1)  # [A]
        factor = (self.norm / length.clamp(min=torch.finfo(torch.float64).tiny)).clamp(max=1.0)
        payload = sent.payload * factor.to(sent.payload)[:, None, None]
        clipped = Noted("active", (length > self.norm).double().cpu())
        return Coded(payload, notes={"clipped": clipped})


@register("transform", "clip", paper="McMahan, Ramage, Talwar, Zhang, arXiv:1710.06963")
def clip(
    *, norm: Annotated[float, Arg("largest 2-norm of a payload, C; larger ones are scaled down to it", gt=0, le=1e12)]
) -> Clip:
    """Clipping: payloads with a larger 2-norm are scaled down to it, all blocks of a sender together."""
    return Clip(norm)

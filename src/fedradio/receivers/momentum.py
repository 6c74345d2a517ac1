"""Server momentum (FedAvgM).

``v = beta v + D, step = lr v`` with the merged change D. By hand: beta = .5, lr = 1, D = 1 and 1: steps 1 and 1.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Clock, ReceiverRule, Slots
from fedradio.core.registry import Arg, register

LR = Arg("global learning rate, eta", gt=0, le=1e4)


@dataclass(frozen=True)
class Momentum(ReceiverRule):
    """Momentum of the merged change, see :func:`momentum`."""

    beta: float
    lr: float

    def start(self, receivers: int, w: Tensor) -> Slots:
        return {"v": torch.zeros_like(w).expand(receivers, -1)}

    def step(self, change: Tensor, heard: Tensor, state: Slots, clock: Clock) -> tuple[Tensor, Slots]:
        """The step; with beta 0 and rate 1 the change itself, bit for bit."""
        if self.beta == 0.0 and self.lr == 1.0:
            return change, state
        v = self.beta * state["v"] + change
        return only_heard(heard, self.lr * v), {"v": only_heard(heard, v, state["v"])}


@register("receiver", "momentum", paper="Hsu, Qi, Brown, arXiv:1909.06335")
def momentum(
    *,
    beta: Annotated[float, Arg("momentum; 0 with rate 1 adds the merged change unchanged", ge=0, lt=1)] = 0.9,
    lr: Annotated[float, LR] = 1.0,
) -> Momentum:
    """Server momentum: consistent directions of the merged change add up, noise averages out."""
    return Momentum(beta, lr)


def only_heard(heard: Tensor, new: Tensor, old: Tensor | None = None) -> Tensor:
    """Rows ``[R, ...]`` of receivers that heard somebody, the others as they were, or 0."""
    mask = heard.to(new.device).view(-1, *[1] * (new.dim() - 1))
    return torch.where(mask, new, torch.zeros_like(new) if old is None else old)

"""Distillation from the received model: a client's predictions stay near the global ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from fedradio.core.contracts import RECEIVED, Batch, Loss, Outputs
from fedradio.core.registry import Arg, register
from fedradio.losses.cross_entropy import negative_likelihood


@dataclass(frozen=True)
class Distil(Loss):
    """Cross entropy and the divergence from the received model's predictions, see :func:`distil`."""

    temperature: float = 2.0
    mu: float = 0.5
    anchors = (RECEIVED,)

    def costs(self, out: Mapping[str, Outputs], batch: Batch) -> Mapping[str, Tensor]:
        z, teacher = out["w"].logits, (out[RECEIVED].logits / self.temperature).log_softmax(-1)
        student = (z / self.temperature).log_softmax(-1)
        divergence = self.temperature**2 * (teacher.exp() * (teacher - student)).sum(-1)
        return {"w": batch.mean(negative_likelihood(z.log_softmax(-1), batch.y) + self.mu * divergence)}


@register("loss", "distil", paper="Hinton, Vinyals, Dean, arXiv:1503.02531")
def distil(
    *,
    temperature: Annotated[float, Arg("temperature T of both predictions", gt=0, le=1e4)] = 2.0,
    mu: Annotated[float, Arg("weight of the divergence; 0 is cross entropy", ge=0, le=1e4)] = 0.5,
) -> Distil:
    """Distillation: cross entropy plus the divergence of a client's predictions from the received model's.

    ``f = CE + mu T^2 mean KL(softmax(z_r/T) || softmax(z/T))`` with the logits ``z_r`` of the received model, which is
    fixed for the round. One forward pass more a sample.
    """
    return Distil(temperature, mu)

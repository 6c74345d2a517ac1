"""Squared error, the cost of regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from fedradio.core.contracts import Batch, Loss, Outputs
from fedradio.core.registry import register


@dataclass(frozen=True)
class SquaredError(Loss):
    """Mean squared error, see :func:`squared_error`; its slope is ``2 (z - y)``."""

    target = "value"

    def costs(self, out: Mapping[str, Outputs], batch: Batch) -> Mapping[str, Tensor]:
        return {"w": batch.mean((out["w"].logits[..., 0] - batch.y).square())}

    def slopes(self, out: Mapping[str, Outputs], batch: Batch) -> tuple[Tensor, Mapping[str, Outputs]]:
        error = out["w"].logits[..., 0] - batch.y
        return batch.mean(error.square()), {"w": Outputs((2.0 * error * batch.weight).unsqueeze(-1))}


@register("loss", "squared_error")
def squared_error() -> SquaredError:
    """Squared error ``f = mean (z - y)^2`` of real values ``y`` that a model with one output ``z`` predicts."""
    return SquaredError()

"""Dropout with masks from the run's own generators, where torch's layer draws from the global one."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SeededDropout(nn.Module):
    """Dropout layer: ``x * mask / (1 - p)`` in training, ``mask ~ Bernoulli(1 - p)`` drawn from ``generator``.

    The identity in evaluation. Kernels set ``generator`` before training (:func:`set_generator`), once per client.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        if self.generator is None:
            raise RuntimeError("dropout without a generator: call set_generator(module, generator) before training")
        keep = 1.0 - self.p
        # drawn in logical order, so that the memory format of x does not change which units are dropped
        mask = torch.empty(x.shape, dtype=x.dtype, device=x.device).bernoulli_(keep, generator=self.generator)
        return x * mask.mul_(1.0 / keep if keep > 0.0 else 0.0)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def set_generator(module: nn.Module, generator: torch.Generator | None) -> None:
    """Make every dropout layer of ``module`` draw from ``generator``, in the order of execution."""
    for layer in module.modules():
        if isinstance(layer, SeededDropout):
            layer.generator = generator


def has_dropout(module: nn.Module) -> bool:
    return any(isinstance(layer, SeededDropout) for layer in module.modules())


def seed_dropout(module: nn.Module) -> nn.Module:
    """``module`` with every ``nn.Dropout`` replaced, in place, by a :class:`SeededDropout` of the same probability."""
    if isinstance(module, nn.Dropout):
        return SeededDropout(module.p)
    for name, child in module.named_children():
        setattr(module, name, seed_dropout(child))
    return module

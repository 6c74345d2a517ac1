"""Tensors that are easily stored wrongly."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fedradio.core.contracts import Slots

ODD: Slots = {
    "doubles": torch.tensor([math.pi, -0.0, 5e-324, torch.nan, -torch.inf], dtype=torch.float64),
    "counts": torch.tensor([[2**62, -1], [0, 1]]),
    "flags": torch.tensor([True, False, True]),
    "half": torch.tensor([1.5, 2.0], dtype=torch.bfloat16),
    "one": torch.tensor(0.1),
    "none": torch.zeros(0, 3),
    "bytes": torch.arange(7, dtype=torch.uint8),
    "spread": torch.arange(3.0).expand(4, 3),
    "turned": torch.arange(6.0).reshape(2, 3).T,
}


def same(a: Tensor, b: Tensor) -> bool:
    """Bit for bit, NaN included."""
    bits = [t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(*bits)

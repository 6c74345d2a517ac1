"""Stochastic quantisation with the largest number of a block as its scale.

With b bits there are ``s = 2^(b-1) - 1`` levels beside 0 and a sign. A block v with largest magnitude m is sent as
``sign(v) q m / s`` with ``q = min(s, floor(s |v| / m + u))`` and u uniform on [0, 1): the mean is v, the variance of a
number at most ``(m/s)^2 / 4``. By hand: b = 3, s = 3, v = (1.5, -1, 0, .25), m = 1.5: 1.5, -1 and 0 lie on levels 3,
-2 and 0 and are exact; .25 lies between two levels and is sent as 0 or .5, each half of the time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Coded, Message, Sent, Slots, Transform, View
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng

SCALE_BITS = 32.0
"""Bits of a block's scale."""


@dataclass(frozen=True)
class Quantise(Transform):
    """Unbiased stochastic quantisation, see :func:`quantise`."""

    bits: int
    shrink: bool
    needs = frozenset({"individual"})

    @property
    def levels(self) -> int:
        """Positive levels s."""
        return int(2 ** (self.bits - 1)) - 1

    def message(self, before: Message) -> Message:
        side_bits = before.side_bits + SCALE_BITS * before.blocks
        return replace(before, value_bits=float(self.bits), side_bits=side_bits, norm=None)

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        rows = [quantised(row, self.levels, rng.child(int(i))) for i, row in zip(sent.ids, sent.payload, strict=True)]
        coded = torch.stack(rows)
        return Coded(coded / (1.0 + self._omega(x.message.coded)) if self.shrink else coded)

    def omega(self, numbers: int) -> float | None:
        return None if self.shrink else self._omega(numbers)

    def delta(self, numbers: int) -> float | None:
        return 1.0 / (1.0 + self._omega(numbers)) if self.shrink else None

    def _omega(self, numbers: int) -> float:
        """``sum (m/s)^2/4 <= numbers/(4 s^2) m^2``, and ``m <= |v|``."""
        return numbers / (4.0 * self.levels**2)


@register("transform", "quantise", paper="Alistarh et al., arXiv:1610.02132, with the largest number as scale")
def quantise(
    *,
    bits: Annotated[int, Arg("bits per number, including the sign", ge=2, le=24)] = 8,
    shrink: Annotated[
        bool, Arg("divide decoded values by 1 + omega: smaller error, but biased; use it with error feedback")
    ] = False,
) -> Quantise:
    """Unbiased stochastic quantisation: each number of a block is rounded at random to one of a few levels."""
    return Quantise(bits, shrink)


def quantised(row: Tensor, levels: int, rng: Rng) -> Tensor:
    """A payload ``[k, d]`` as it is decoded, each block with its own scale; a block of zeros stays one."""
    exact = row.double()
    largest = exact.abs().amax(dim=1, keepdim=True)  # [k, 1]
    u = torch.from_numpy(rng.numpy().random(tuple(row.shape))).to(exact.device)
    ratio = torch.where(largest > 0, exact.abs() / largest, 0.0)
    level = torch.floor(levels * ratio + u).clamp(max=levels)
    return (torch.sign(exact) * level * (largest / levels)).to(row)

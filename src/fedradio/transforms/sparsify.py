"""Sparsification: only some of the numbers of a block are sent.

``top_k`` sends the ``K = max(1, ceil(share d))`` largest magnitudes and their places, of equal ones those that come
first: ``min(K ceil(log2 d), d)`` bits, a bitmap where that is shorter. ``random_k`` sends the numbers at K places that
both sides draw from the common seed; times ``d/K`` their mean is the whole block. By hand: the top 2 of (1, -3, 2, 3)
are (0, -3, 0, 3), with 2 * 2 bits for the places; the top 1 of (2, 1, -2) is (2, 0, 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Coded, Message, Sent, Slots, Transform, View
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng

SHARE = Arg("fraction of each block's numbers that is sent", gt=0, le=1)


def kept_numbers(share: float, size: int) -> int:
    """``K = max(1, ceil(share d))``, of the decimal share as it is written: a fifth of 10 is 2."""
    return max(1, math.ceil(round(share * size, 9)))


@dataclass(frozen=True)
class TopK(Transform):
    """The largest numbers with their places, see :func:`top_k`."""

    share: float
    needs = frozenset({"individual"})

    def message(self, before: Message) -> Message:
        number = kept_numbers(self.share, before.size)
        places = min(number * max(1, math.ceil(math.log2(before.size))), before.size)
        return replace(before, sent=number, side_bits=before.side_bits + before.blocks * places)

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        size = sent.payload.shape[2]
        return Coded(largest(sent.payload, kept_numbers(self.share, size)))

    def delta(self, numbers: int) -> float | None:
        return kept_numbers(self.share, numbers) / numbers


@dataclass(frozen=True)
class RandomK(Transform):
    """The numbers at common random places, see :func:`random_k`."""

    share: float
    scale: bool

    def message(self, before: Message) -> Message:
        norm = None if self.scale else before.norm
        return replace(before, size=kept_numbers(self.share, before.size), sent=None, norm=norm)

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        _, blocks, size = sent.payload.shape
        places = self._places(blocks, size, rng).to(sent.payload.device)
        return Coded(sent.payload.gather(2, places.expand(len(sent.payload), -1, -1)))

    def decode(self, x: View, sent: Sent, received: Tensor, rng: Rng) -> Tensor:
        """Rows ``[n, k, d]`` with zeros at all other places, times ``d/K`` if scaled."""
        rows, blocks, number = received.shape
        size = x.message.size
        places = self._places(blocks, size, rng).to(received.device).expand(rows, -1, -1)
        values = received * (size / number) if self.scale else received
        return received.new_zeros(rows, blocks, size).scatter_(2, places, values)

    def omega(self, numbers: int) -> float | None:
        return numbers / kept_numbers(self.share, numbers) - 1.0 if self.scale else None

    def delta(self, numbers: int) -> float | None:
        return None if self.scale else kept_numbers(self.share, numbers) / numbers

    def _places(self, blocks: int, size: int, rng: Rng) -> Tensor:
        """Places ``[1, k, K]``, rising, the same for all senders and for the receiver."""
        number = kept_numbers(self.share, size)
        drawn = [rng.child("common", block).numpy().permutation(size)[:number] for block in range(blocks)]
        return torch.stack([torch.from_numpy(places).sort().values for places in drawn]).unsqueeze(0)


@register("transform", "top_k", paper="Stich, Cordonnier, Jaggi, arXiv:1809.07599")
def top_k(*, share: Annotated[float, SHARE] = 0.1) -> TopK:
    """Top-k sparsification: sends the numbers of largest magnitude in every block, with their positions."""
    return TopK(share)


@register("transform", "random_k", paper="Konecny et al., arXiv:1610.05492 (random masks from a common seed)")
def random_k(
    *,
    share: Annotated[float, SHARE] = 0.1,
    scale: Annotated[bool, Arg("multiply by d/K, so that the mean is exact; turn it off after `feedback`")] = True,
) -> RandomK:
    """Random sparsification: sends numbers at positions that both sides draw from a shared seed."""
    return RandomK(share, scale)


def largest(payload: Tensor, number: int) -> Tensor:
    """Rows ``[A, k, d]`` with all but the ``number`` largest magnitudes of each block set to 0; ties go to the lower
    place, which ``torch.topk`` does not promise."""
    size = payload.abs()
    least = size.topk(number, dim=2, sorted=True).values[:, :, -1:]  # [A, k, 1]
    above, equal = size > least, size == least
    room = number - above.sum(dim=2, keepdim=True)
    return torch.where(above | (equal & (equal.cumsum(dim=2) <= room)), payload, 0.0)

"""Gaussian noise on clipped payloads, at every sender or once at the receiver.

At the sender each number gets ``N(0, (z C)^2)``, with the norm C of the clipping before it and the multiplier z. At the
receiver the sum ``sum_i w_i v_i`` gets ``N(0, (z C w)^2)``, where w is the largest weight: one sender moves the sum by
at most C w. By hand: z = 2, C = .5 and four senders of weight 1/4 give a deviation of 1 at the sender and .25 at the
receiver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.core.contracts import Coded, Message, Sent, Slots, Transform, View
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng

Place = Literal["client", "receiver"]


@dataclass(frozen=True)
class Noise(Transform):
    """Gaussian noise in units of the clipping norm, see :func:`noise`."""

    multiplier: float
    at: Place

    @property
    def conceals(self) -> bool:
        return self.at == "receiver"

    def message(self, before: Message) -> Message:
        """As many numbers as before; a payload without a largest norm cannot be covered by noise, and one with the
        noise of its sender has none."""
        if before.norm is None:
            reason = "noise is in units of the largest payload norm, but nothing limits that norm"
            raise SpecError(Problem("transform", reason, "put {kind: clip, norm: ...} before it"))
        return replace(before, norm=None) if self.at == "client" else before

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        """Noisy payloads; the noise of the receiver comes with :meth:`decode`."""
        if self.at == "receiver":
            return Coded(sent.payload)
        noise = torch.stack([_normals(sent.payload[0], rng.child(int(i))) for i in sent.ids])
        return Coded(sent.payload + self.multiplier * _norm(x) * noise)

    def decode(self, x: View, sent: Sent, received: Tensor, rng: Rng) -> Tensor:
        """Sums ``[R, k, d]`` with the receivers' noise; receivers that heard nobody add none."""
        if self.at == "client":
            return received
        weight = torch.zeros(len(received), dtype=torch.float64)
        weight.scatter_reduce_(0, sent.group, sent.weight.double().cpu(), "amax")
        noise = torch.stack([_normals(received[0], rng.child("receiver", r)) for r in range(len(received))])
        return received + (self.multiplier * _norm(x) * weight).to(received)[:, None, None] * noise


@register("transform", "noise", paper="McMahan, Ramage, Talwar, Zhang, arXiv:1710.06963")
def noise(
    *,
    multiplier: Annotated[
        float, Arg("noise multiplier z: standard deviation divided by the clipping norm", ge=0, le=1e6)
    ],
    at: Annotated[Place, Arg("added by every client, or once to the sum by the receiver")] = "receiver",
) -> Noise:
    """Gaussian noise in units of the clipping norm, for differential privacy; needs a ``clip`` before it."""
    return Noise(multiplier, at)


def _norm(x: View) -> float:
    norm = x.message.norm
    assert norm is not None  # refused before the run
    return norm


def _normals(like: Tensor, rng: Rng) -> Tensor:
    """Standard normal numbers of the shape of a row."""
    return torch.from_numpy(rng.numpy().standard_normal(tuple(like.shape))).to(like)

"""Ideal link: every payload arrives exactly, at once and without transmit energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Airtime, Delivery, Exchange, Link, LinkTrait, Message, Reason, Sent, Slots
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng


def weighted_total(payload: Tensor, weight: Tensor, group: Tensor, receivers: int) -> Tensor:
    """Weighted sums ``total[r] = sum_{i: group_i = r} weight_i payload_i``, ``[A, k, d] -> [R, k, d]``."""
    mix = torch.zeros(receivers, len(payload), dtype=weight.dtype)
    mix[group, torch.arange(len(payload))] = weight
    return (mix.to(payload) @ payload.flatten(1)).view(receivers, *payload.shape[1:])


@dataclass(frozen=True)
class Ideal(Link):
    """Error-free link, see :func:`ideal`; without ``bits_per_value`` bits are undefined."""

    bits_per_value: float | None

    @property
    def offers(self) -> frozenset[LinkTrait]:
        return frozenset({"individual", "lossless", "amplitude"})

    def bits(self, message: Message) -> float | None:
        return None if self.bits_per_value is None else message.bits(self.bits_per_value)

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        """A payload arrives as soon as it is ready; after the deadline it does not count."""
        arrived = x.alloc.active
        if x.ready_s is not None and x.deadline_s is not None:
            arrived = arrived & (x.ready_s <= x.deadline_s)
        late = x.alloc.active & ~arrived
        return Airtime(
            tx_s=torch.zeros(x.senders, dtype=torch.float64),
            done_s=x.ready_s,
            arrived=arrived,
            expect=(~late).double(),
            reason=torch.where(late, int(Reason.DEADLINE), int(Reason.NONE)),
        )

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        """Exact weighted sums."""
        total = weighted_total(sent.payload, sent.weight, sent.group, x.receivers)
        return Delivery(total, sent.payload, torch.zeros(x.senders, dtype=torch.float64)), state


@register("link", "ideal")
def ideal(
    *,
    bits_per_value: Annotated[float, Arg("bits per number of the payload", unit="bit", gt=0, le=1024)] = 32.0,
) -> Ideal:
    """Ideal link: exact weighted sums, no airtime, no transmit energy; bits are still counted."""
    return Ideal(bits_per_value)

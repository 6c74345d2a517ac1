"""Ideal link: every payload arrives exactly, at once and without transmit energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Airtime, Allocation, ChannelState, Delivery, Reason
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng


def weighted_total(payload: Tensor, weight: Tensor, parent: Tensor, receivers: int) -> Tensor:
    """Weighted sums ``total[r] = sum_{i: parent_i = r} weight_i payload_i``, ``[A, k, d] -> [R, k, d]``."""
    mix = torch.zeros(receivers, len(payload), dtype=weight.dtype)
    mix[parent, torch.arange(len(payload))] = weight
    return (mix.to(payload) @ payload.reshape(len(payload), -1)).view(receivers, *payload.shape[1:])


@dataclass(frozen=True)
class Ideal:
    """Error-free link, see :func:`ideal`; without ``bits_per_value`` bits are undefined."""

    bits_per_value: float | None
    offers = frozenset({"individual", "lossless"})
    needs = frozenset[str]()

    def bits(self, values: int) -> float | None:
        return None if self.bits_per_value is None else self.bits_per_value * values

    def plan(
        self,
        channel: ChannelState | None,
        alloc: Allocation,
        parent: Tensor,
        values: int,
        ready_s: Tensor | None,
        deadline_s: float | None,
        rng: Rng,
        blocks: int = 1,
    ) -> Airtime:
        """A payload arrives as soon as it is ready; after the deadline it does not count."""
        arrived = alloc.active
        if ready_s is not None and deadline_s is not None:
            arrived = arrived & (ready_s <= deadline_s)
        late = alloc.active & ~arrived
        return Airtime(
            tx_s=torch.zeros(len(parent), dtype=torch.float64),
            done_s=ready_s,
            arrived=arrived,
            expect=torch.ones(len(parent), dtype=torch.float64),
            reason=torch.where(late, int(Reason.DEADLINE), int(Reason.NONE)),
        )

    def combine(
        self,
        payload: Tensor,
        weight: Tensor,
        ids: Tensor,
        parent: Tensor,
        receivers: int,
        channel: ChannelState | None,
        alloc: Allocation,
        airtime: Airtime,
        rng: Rng,
    ) -> Delivery:
        """Exact weighted sums."""
        total = weighted_total(payload, weight, parent, receivers)
        return Delivery(total, payload, torch.zeros(len(alloc.active), dtype=torch.float64))


@register("link", "ideal")
def ideal(
    *,
    bits_per_value: Annotated[float, Arg("bits that one number of a payload takes", unit="bit", gt=0, le=1024)] = 32.0,
) -> Ideal:
    """Ideal link: exact weighted sums, no airtime, no transmit energy; bits are still counted."""
    return Ideal(bits_per_value)

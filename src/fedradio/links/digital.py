"""Digital uplink: orthogonal bands with Shannon rates, airtimes, deadlines and erasures (RawHFL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Airtime, Allocation, ChannelState, Delivery, Reason
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.links.ideal import weighted_total
from fedradio.links.rates import airtime_s, noise_over_gain


@dataclass(frozen=True)
class Digital:
    """Digital uplink at the Shannon rate, see :func:`digital`."""

    bandwidth_hz: float
    bits_per_value: float
    erasure: float
    needs = frozenset({"channel", "fleet"})

    @property
    def offers(self) -> frozenset[str]:
        return frozenset({"individual", "rate"} | ({"lossless"} if self.erasure == 0 else set()))

    def bits(self, values: int) -> float:
        return self.bits_per_value * values

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
        """A payload arrives after computing and airtime; it is lost if late or, with a known probability, erased."""
        assert channel is not None
        assert alloc.power_w is not None
        unit_w = noise_over_gain(channel, parent, self.bandwidth_hz)
        tx_s = torch.where(alloc.active, airtime_s(self.bits(values), self.bandwidth_hz, alloc.power_w, unit_w), 0.0)
        done_s = tx_s if ready_s is None else ready_s + tx_s
        late = alloc.active & (done_s > deadline_s) if deadline_s is not None else torch.zeros_like(alloc.active)
        erased = torch.from_numpy(rng.child("erasure").numpy().random(len(parent))) < self.erasure
        reason = torch.where(erased, int(Reason.OUTAGE), int(Reason.NONE))
        return Airtime(
            tx_s=tx_s,
            done_s=None if ready_s is None else done_s,
            arrived=alloc.active & ~late & ~erased,
            expect=torch.full((len(parent),), 1.0 - self.erasure, dtype=torch.float64),
            reason=torch.where(late, int(Reason.DEADLINE), reason),
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
        """Exact sums of the payloads that arrived; transmit energy ``P tau`` of all senders, lost or not (14)."""
        assert alloc.power_w is not None
        assert airtime.tx_s is not None
        total = weighted_total(payload, weight, parent, receivers)
        return Delivery(total, payload, torch.where(alloc.active, alloc.power_w * airtime.tx_s, 0.0))


@register("link", "digital", paper="RawHFL, eqs. (12)-(16)")
def digital(
    *,
    bandwidth_hz: Annotated[float, Arg("band of each sender (one resource block)", unit="Hz", gt=0, le=1e12)] = 540e3,
    bits_per_value: Annotated[float, Arg("bits that one number of a payload takes", unit="bit", gt=0, le=1024)] = 33.0,
    erasure: Annotated[float, Arg("probability that a payload in time is lost all the same", ge=0, lt=1)] = 0.0,
) -> Digital:
    """Digital uplink: Shannon rate on a band per sender, airtime, energy, deadlines, known erasure probability."""
    return Digital(bandwidth_hz, bits_per_value, erasure)

"""Digital uplink: orthogonal bands with Shannon rates, airtimes, deadlines and erasures (RawHFL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import (
    Airtime,
    ChannelState,
    Delivery,
    Exchange,
    Link,
    LinkTrait,
    Message,
    Noted,
    Rates,
    Reason,
    Sent,
    Slots,
    View,
)
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.links.ideal import weighted_total
from fedradio.links.rates import noise_over_gain, rayleigh_above

NO_DENSITY = "rates need a noise density, but this channel's noise is a variance per symbol: set noise_w_hz"


@dataclass(frozen=True)
class Digital(Link):
    """Digital uplink at the Shannon rate, see :func:`digital`."""

    bandwidth_hz: float
    bits_per_value: float
    erasure: float
    needs = frozenset({"channel", "fleet"})
    notes = frozenset({"p_sc"})

    @property
    def offers(self) -> frozenset[LinkTrait]:
        traits: frozenset[LinkTrait] = frozenset({"individual", "rate"})
        return traits | {"lossless"} if self.erasure == 0 else traits

    def check(self, channel: ChannelState) -> str:
        return NO_DENSITY if channel.noise_w_hz is None else ""

    def bits(self, message: Message) -> float:
        return message.bits(self.bits_per_value)

    def rates(self, view: View) -> Rates:
        assert view.channel is not None
        return self._rates(view, view.channel.gain)

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        """A payload arrives after computing and airtime; it is lost if late or, with a known probability, erased.

        ``expect`` is ``p_sc = Pr(t_cp + t_up <= t_th)`` times the probability of no erasure: chance under Rayleigh
        fading, otherwise 1 or 0.
        """
        assert x.channel is not None
        assert x.alloc.power_w is not None
        active, ready_s = x.alloc.active, x.ready_s
        air_s = self._rates(x, x.channel.power).seconds(x.alloc.power_w)
        tx_s = torch.where(active, air_s, 0.0)
        done_s = tx_s if ready_s is None else ready_s + tx_s
        late = active & (done_s > x.deadline_s) if x.deadline_s is not None else torch.zeros_like(active)
        erased = torch.from_numpy(rng.child("erasure").numpy().random(x.senders)) < self.erasure
        reason = torch.where(erased, int(Reason.OUTAGE), int(Reason.NONE))
        return Airtime(
            tx_s=tx_s,
            done_s=None if ready_s is None else done_s,
            arrived=active & ~late & ~erased,
            expect=(1.0 - self.erasure) * self._in_time(x, late),
            reason=torch.where(late, int(Reason.DEADLINE), reason),
        )

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        """Exact sums of the payloads that arrived; transmit energy ``P tau`` of all senders, lost or not (14)."""
        assert x.alloc.power_w is not None
        assert airtime.tx_s is not None
        total = weighted_total(sent.payload, sent.weight, sent.group, x.receivers)
        tx_j = torch.where(x.alloc.active, x.alloc.power_w * airtime.tx_s, 0.0)
        faded = x.channel is not None and x.channel.coefficient is not None
        notes = {"p_sc": Noted("active", airtime.expect[x.alloc.active], rest=1.0)} if faded else {}
        return Delivery(total, sent.payload, tx_j, notes), state

    def _rates(self, view: View, gain: Tensor) -> Rates:
        """Rates over these gains ``[R, S]``, of a sender's payload or of all payloads that it forwards."""
        assert view.channel is not None
        bits = self.bits(view.message)
        unit_w = noise_over_gain(view.channel.noise, gain, view.parent, self.bandwidth_hz)
        return Rates(bits if view.payloads is None else bits * view.payloads, self.bandwidth_hz, unit_w)

    def _in_time(self, x: Exchange, late: Tensor) -> Tensor:
        """Probability ``[S]`` that an upload ends before the deadline: ``Pr(|h|^2 >= P_needed / P)`` over Rayleigh
        fading, where ``P_needed`` sends the payload in time at ``|h|^2 = 1``.

        Without fading, or where its law is unknown, it is 0 for those who are ``late [S]``, and 1 for the others.
        """
        channel, power_w = x.channel, x.alloc.power_w
        assert channel is not None
        assert power_w is not None
        if channel.coefficient is None or not channel.rayleigh or x.deadline_s is None:
            return (~late).double()
        left_s = x.deadline_s - (torch.zeros_like(power_w) if x.ready_s is None else x.ready_s)
        needed_w = self._rates(x, channel.gain).power_w(left_s.clamp(min=0.0))
        return rayleigh_above(needed_w / power_w, channel.coefficient.shape[1])


@register("link", "digital", paper="RawHFL, eqs. (12)-(16)")
def digital(
    *,
    bandwidth_hz: Annotated[
        float, Arg("bandwidth of each sender (one resource block)", unit="Hz", gt=0, le=1e12)
    ] = 540e3,
    bits_per_value: Annotated[float, Arg("bits per number of the payload", unit="bit", gt=0, le=1024)] = 33.0,
    erasure: Annotated[float, Arg("probability that a payload sent in time is lost", ge=0, lt=1)] = 0.0,
) -> Digital:
    """Digital uplink: one band per sender at the Shannon rate, with airtime, energy, deadlines and erasures."""
    return Digital(bandwidth_hz, bits_per_value, erasure)

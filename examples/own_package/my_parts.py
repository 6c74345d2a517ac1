"""A package of one's own: a link with bursts of losses, a channel with rain, and a code of one bit a number.

After ``pip install ./examples/own_package`` every command, and every process of a sweep, knows these parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import torch

from fedradio import (
    Airtime,
    Arg,
    Channel,
    ChannelState,
    Coded,
    Delivery,
    Exchange,
    Ideal,
    Message,
    Reason,
    Rng,
    Sent,
    Site,
    Slots,
    Transform,
    View,
    register,
)


@dataclass(frozen=True)
class Bursts(Ideal):
    """Memory ``bad [S]``: which senders are in a burst. It starts with chance ``begin``, and ends with ``end``."""

    begin: float = 0.1
    end: float = 0.5
    offers = frozenset({"individual"})

    def start(self, senders: int, receivers: int) -> Slots:
        return {"bad": torch.zeros(senders, dtype=torch.bool)}

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        """Whoever is in a burst is lost, in the long run ``begin / (begin + end)`` of all."""
        airtime = super().plan(x, state, rng)
        lost = airtime.arrived & state["bad"]
        return replace(
            airtime,
            arrived=airtime.arrived & ~lost,
            expect=airtime.expect * self.end / (self.begin + self.end),
            reason=torch.where(lost, int(Reason.OUTAGE), airtime.reason),
        )

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        delivery, _ = super().combine(x, airtime, sent, state, rng)
        chance = torch.where(state["bad"], 1.0 - self.end, self.begin)
        return delivery, {"bad": torch.from_numpy(rng.child("bursts").numpy().random(x.senders)) < chance}


@register("link", "bursts", paper="Gilbert, Bell System Technical Journal 39, 1960")
def bursts(
    *,
    begin: Annotated[float, Arg("chance that a burst of losses begins, in one exchange", ge=0, le=1)] = 0.1,
    end: Annotated[float, Arg("chance that it ends", gt=0, le=1)] = 0.5,
) -> Bursts:
    """Exact sums of what arrives; a sender loses its payloads in bursts, which last from exchange to exchange."""
    return Bursts(32.0, begin, end)


@dataclass(frozen=True)
class Rain(Channel):
    """Memory ``rain [1]``: whether it rains, for all pairs at once."""

    loss_db: float
    change: float

    def start(self, senders: int, receivers: int, rng: Rng) -> Slots:
        return {"rain": torch.zeros(1, dtype=torch.bool)}

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        """Gains ``[R, S]``: ``d^-4``, in rain less by the loss; the weather changes by the draw of this exchange."""
        changes = rng.child(site.clock.t, site.clock.e).numpy().random() < self.change
        rain = state["rain"] ^ changes
        dry = torch.cdist(site.receivers_m, site.senders_m).clamp(min=1.0) ** -4
        return ChannelState(torch.where(rain, dry * 10 ** (-self.loss_db / 10), dry), noise_w_hz=4e-21), {"rain": rain}


@register("channel", "rain")
def rain(
    *,
    loss_db: Annotated[float, Arg("loss of all gains in rain", unit="dB", ge=0, le=100)] = 10.0,
    change: Annotated[float, Arg("chance that the weather changes, from one exchange to the next", ge=0, le=1)] = 0.2,
) -> Rain:
    """Path loss ``d^-4`` with rain, which comes and goes for all at once."""
    return Rain(loss_db, change)


@dataclass(frozen=True)
class OneBit(Transform):
    """``v`` is sent as ``sign(v) |v|_1 / d``, each block by itself. By hand: (1, -3) becomes (2, -2)."""

    needs = frozenset({"individual"})
    """Sums of signs cannot be taken apart: a link that gives single payloads."""

    def message(self, before: Message) -> Message:
        """One bit a number, 32 for the mean of each block; it is never longer than the payload."""
        return replace(before, value_bits=1.0, side_bits=before.side_bits + 32.0 * before.blocks)

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        mean = sent.payload.abs().mean(dim=2, keepdim=True)
        return Coded(torch.where(sent.payload < 0, -mean, mean))

    def delta(self, numbers: int) -> float:
        """``|decoded - v|^2 = |v|^2 - |v|_1^2 / d <= (1 - 1/d) |v|^2``: `feedback` may stand in front."""
        return 1.0 / numbers


@register("transform", "one_bit", paper="Karimireddy et al., arXiv:1901.09847, Algorithm 1")
def one_bit() -> OneBit:
    """The sign of every number and the mean magnitude of its block; `feedback` makes up for what that loses."""
    return OneBit()

"""Over-the-air computation: all senders transmit at once and the channel adds their analogue symbols (see ``air``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.core.contracts import (
    Airtime,
    Allocation,
    ChannelState,
    Delivery,
    Exchange,
    Link,
    Noted,
    Reason,
    Sent,
    Slots,
    noted,
)
from fedradio.core.params import group_share
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.links.air import Air, Normaliser, direct, error_split, exact, hear, symbols, weighted

Sampler = Literal["exact", "direct"]

LOUDEST = 1e12
"""Largest noise variance of a symbol of size 1, whether given or made of a density."""


@dataclass(frozen=True)
class OverTheAir(Link):
    """Analogue over-the-air aggregation, see :func:`over_the_air`."""

    antennas: int
    normaliser: Normaliser
    sampler: Sampler
    sigma_h2: float
    symbol_rate_hz: float | None
    power_unit_w: float | None
    offers = frozenset({"superposition", "lossless", "amplitude"})
    needs = frozenset({"channel"})
    takes = frozenset({"none", "fresh"})
    """It draws fading for every symbol itself."""
    notes = frozenset({"bias", "fading", "intra", "inter", "noise", "tx_power", "tx_power_vector"})

    def check(self, channel: ChannelState) -> str:
        lacking = [name for name in ("symbol_rate_hz", "power_unit_w") if getattr(self, name) is None]
        if channel.noise_w_hz is None or (not lacking and self.noise(channel) <= LOUDEST):
            return ""
        if not lacking:
            return f"the noise variance of a symbol, noise_w_hz symbol_rate_hz / power_unit_w, is above {LOUDEST:g}"
        return f"turning a noise density into the noise of a symbol needs the link's {' and '.join(lacking)}"

    def noise(self, channel: ChannelState) -> float:
        """Noise variance ``sigma_z^2`` of a symbol in units of ``|x|^2``: as the channel has it, or ``N0 rate / unit``.

        A symbol of size 1 carries ``unit / rate`` joules, and the noise in its time has ``N0``.
        """
        if channel.noise_symbol is not None:
            return channel.noise_symbol
        assert self.symbol_rate_hz is not None
        assert self.power_unit_w is not None
        return channel.noise * self.symbol_rate_hz / self.power_unit_w

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        """All senders of the hop start together, when the last of them is ready.

        A sender that cannot end before the deadline stays silent; without a symbol rate the airtime is undefined and
        only the computing time counts. ``expect`` is a sender's share of the air: ``M beta_m P_m / sum_own beta P``,
        the mean coefficient of its weighted payload (1/M of that with normaliser ``sum``).
        """
        assert x.channel is not None
        active, ready_s = x.alloc.active, x.ready_s
        uses = x.message.blocks * symbols(x.message.values // x.message.blocks)
        air_s = None if self.symbol_rate_hz is None else uses / self.symbol_rate_hz
        late = torch.zeros_like(active)
        if ready_s is not None and x.deadline_s is not None:
            late = active & (ready_s + (air_s or 0.0) > x.deadline_s)
        sends = active & ~late
        done_s = None
        if ready_s is not None and air_s is not None:
            slowest_s = torch.where(sends, ready_s, 0.0).max()
            done_s = torch.where(sends, slowest_s, ready_s) + air_s
        strength = x.channel.gain[x.parent, torch.arange(x.senders)] * _amplitude(x.alloc) * sends
        share = group_share(strength, x.parent, x.receivers)
        members = torch.bincount(x.parent[sends], minlength=x.receivers)[x.parent]
        return Airtime(
            tx_s=None if air_s is None else sends.double() * air_s,
            done_s=done_s,
            arrived=sends,
            expect=share * members if self.normaliser == "mean" else share,
            reason=torch.where(late, int(Reason.DEADLINE), int(Reason.NONE)),
            uses=float(uses),
        )

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        """Noisy sums: senders scale their payload by ``w M / W`` (mean 1), receivers their estimate by W; 0 if silent.

        Notes: ``bias`` and the variance by cause, ``fading``, ``intra``, ``inter`` and ``noise``, of ``total`` per
        symbol ``[R]``; they add up to its expected squared error. ``tx_power [A]``: mean ``P^2 |x|^2`` per symbol;
        ``tx_power_vector [A]``: its sum over the symbols, ``|P delta|^2``, which the paper calls transmit power.
        """
        assert x.channel is not None
        active, sent = sent.ids, _only(sent, airtime.arrived[sent.ids])
        senders, group = sent.ids.numpy(), sent.group.numpy()
        factor, summed = weighted(sent.weight.double().numpy(), group, x.receivers)
        air = Air(
            gain=x.channel.gain.double().numpy()[:, senders],
            parent=group,
            amplitude=_amplitude(x.alloc).numpy()[senders],
            factor=factor,
            noise=self.noise(x.channel),
            antennas=self.antennas,
            sigma_h2=self.sigma_h2,
            normaliser=self.normaliser,
        )
        heard = hear(air, sent.payload)
        estimate = exact(air, heard, rng) if self.sampler == "exact" else direct(air, sent.payload, rng)
        total = estimate.mul_(torch.from_numpy(summed).to(estimate)[:, None, None])
        errors = {"bias": heard.bias} | error_split(air, heard.power)
        notes = noted("receiver", {name: torch.from_numpy(summed**2 * error) for name, error in errors.items()})
        tx_power = torch.zeros(x.senders, dtype=torch.float64)
        tx_power[sent.ids] = torch.from_numpy((air.amplitude * factor) ** 2 * heard.power)
        uses = sent.payload.shape[1] * symbols(sent.payload.shape[2])
        notes["tx_power"] = Noted("active", tx_power[active])
        notes["tx_power_vector"] = Noted("active", tx_power[active] * uses)
        return Delivery(total, None, self._joules(tx_power, uses), notes), state

    def _joules(self, tx_power: Tensor, uses: int) -> Tensor | None:
        """Transmit energy ``[S]``: ``unit sum |P x|^2 / rate``; undefined without a unit of power and a symbol rate."""
        if self.power_unit_w is None or self.symbol_rate_hz is None:
            return None
        return self.power_unit_w * tx_power * uses / self.symbol_rate_hz


@register("link", "over_the_air", paper="W-HFL, eqs. (8)-(17)")
def over_the_air(
    *,
    antennas: Annotated[int, Arg("receive antennas K", ge=1, le=1_000_000)] = 100,
    normaliser: Annotated[
        Normaliser,
        Arg("beta-bar of (12): the mean of the gains, or their sum as printed, which shrinks the estimate by 1/M"),
    ] = "mean",
    sampler: Annotated[
        Sampler, Arg("exact: one draw per symbol; direct: simulate every antenna and channel (slow)")
    ] = "exact",
    sigma_h2: Annotated[float, Arg("variance of the small-scale fading", ge=1e-12, le=1e12)] = 1.0,
    symbol_rate_hz: Annotated[
        float | None, Arg("symbols per second; without it, airtime and seconds are undefined", unit="Hz", gt=0, le=1e15)
    ] = None,
    power_unit_w: Annotated[
        float | None,
        Arg(
            "power of a symbol of size 1, used for joules and to turn a noise density into a variance",
            unit="W",
            gt=0,
            le=1e12,
        ),
    ] = None,
) -> OverTheAir:
    """Over-the-air uplink: all senders transmit uncoded symbols at once; Rayleigh fading, many antennas, a noisy mean.

    Neighbouring cells interfere. Senders do not equalise their channels, so each is weighted by its gain. Fading is
    redrawn for every symbol. Energy and noise are consistent: over a channel with noise density ``N0``, a symbol of
    size 1 carries ``power_unit_w / symbol_rate_hz`` joules against a noise of ``N0``. If the channel gives its noise as
    a ratio, ``noise_symbol``, that ratio is kept, and joules correspond to a density of ``noise_symbol power_unit_w /
    symbol_rate_hz``.
    """
    return OverTheAir(antennas, normaliser, sampler, sigma_h2, symbol_rate_hz, power_unit_w)


def _amplitude(alloc: Allocation) -> Tensor:
    """Amplitudes ``P_m [S]``; 1 unless the policy sets them."""
    return torch.ones(len(alloc.active), dtype=torch.float64) if alloc.amplitude is None else alloc.amplitude.double()


def _only(sent: Sent, chosen: Tensor) -> Sent:
    """The payloads of the senders ``chosen [A]``, without a copy where that is everybody."""
    if bool(chosen.all()):
        return sent
    rows = sent.payload[chosen.to(sent.payload.device)]
    return Sent(sent.ids[chosen], sent.group[chosen], rows, sent.weight[chosen])

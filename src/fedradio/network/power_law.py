"""Power-law channel: deterministic path loss ``d^-p``, in any unit of length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Channel, ChannelState, Site, Slots
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.network.channel import GEOMETRIES


@dataclass(frozen=True)
class PowerLaw(Channel):
    """Channel of deterministic path loss, see :func:`power_law`."""

    exponent: float
    noise_symbol: float
    noise_w_hz: float | None = None

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        """Gains ``beta = d^-p`` of all pairs ``[R, S]``; refuses a sender at the position of a receiver."""
        gain = _gains(site.receivers_m, site.senders_m, self.exponent)
        if self.noise_w_hz is not None:
            return ChannelState(gain, self.noise_w_hz), state
        return ChannelState(gain, noise_symbol=self.noise_symbol), state


@register("channel", "power_law", paper="W-HFL, section III")
def power_law(
    *,
    exponent: Annotated[float, Arg("path loss exponent p", ge=0, le=10)] = 4.0,
    noise_symbol: Annotated[
        float, Arg("noise variance sigma_z^2 of an analogue symbol, in units of the symbol's power", ge=0, le=1e12)
    ] = 10.0,
    noise_w_hz: Annotated[
        float | None,
        Arg("noise density divided by the gain at distance 1; replaces noise_symbol", unit="W/Hz", ge=0, le=1e12),
    ] = None,
) -> PowerLaw:
    """Power-law path loss: gain ``d^-p``, the same in every exchange, plus white noise.

    Give the noise either as a ratio, ``noise_symbol``, for analogue symbols only, or as a density, ``noise_w_hz``, for
    any link. A symbol then has the noise variance ``noise_w_hz symbol_rate_hz / power_unit_w``, with the link's rate
    and unit.
    """
    return PowerLaw(exponent, noise_symbol, noise_w_hz)


@lru_cache(maxsize=GEOMETRIES)
def _gains(receivers_m: Tensor, senders_m: Tensor, exponent: float) -> Tensor:
    """Gains ``[R, S]``, kept while the positions are the same objects: tensors are told apart by identity."""
    # the default mode of cdist goes through a matrix product and loses the distance of close pairs
    distance = torch.cdist(receivers_m, senders_m, compute_mode="donot_use_mm_for_euclid_dist")
    if bool((distance == 0).any()):
        pairs = (distance == 0).nonzero().tolist()
        receiver, sender = pairs[0]
        more = f" (and {len(pairs) - 1} more such pairs)" if len(pairs) > 1 else ""
        reason = f"sender {sender} is at the position of receiver {receiver}{more}, so its gain is infinite"
        raise SpecError(Problem("topology", reason, "move them apart"))
    return distance**-exponent

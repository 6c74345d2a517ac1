"""Shannon rates on a band of their own: bits, seconds and watts, per sender ``[S]`` (RawHFL, eqs. (12) and (13))."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import ChannelState


def noise_over_gain(channel: ChannelState, parent: Tensor, bandwidth_hz: float) -> Tensor:
    """``N0 w / g`` in watt ``[S]``: the transmit power at which a sender's own receiver sees an SNR of 1."""
    own = channel.gain[parent, torch.arange(len(parent))]
    return channel.noise_w_hz * bandwidth_hz / own


def airtime_s(bits: float, bandwidth_hz: float, power_w: Tensor, unit_w: Tensor) -> Tensor:
    """Seconds to send ``bits``: ``s / (w log2(1 + P/unit))``; infinite without power."""
    return bits / (bandwidth_hz * torch.log1p(power_w / unit_w) / torch.log(torch.tensor(2.0, dtype=power_w.dtype)))


def power_for_w(bits: float, bandwidth_hz: float, seconds: Tensor, unit_w: Tensor) -> Tensor:
    """Watts that send ``bits`` in that time: ``unit (2^(s/(w tau)) - 1)``."""
    return unit_w * torch.expm1(bits / (bandwidth_hz * seconds) * torch.log(torch.tensor(2.0, dtype=unit_w.dtype)))

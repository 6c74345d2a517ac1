"""Shannon rates of senders on bands of their own: airtime and power per sender ``[S]`` (RawHFL, eqs. (12), (13))."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import Rates


def noise_over_gain(noise_w_hz: float, gain: Tensor, parent: Tensor, bandwidth_hz: float) -> Tensor:
    """Transmit power for an SNR of 1 at the sender's own receiver, ``N0 w / g`` in watt ``[S]``; ``gain [R, S]``."""
    own = gain[parent, torch.arange(len(parent))]
    return noise_w_hz * bandwidth_hz / own


def airtime_s(bits: float | Tensor, bandwidth_hz: float, power_w: Tensor, unit_w: Tensor) -> Tensor:
    """Airtime of ``bits``, equal or ``[S]``, in seconds, ``s / (w log2(1 + P/unit))``; infinite without power."""
    return Rates(bits, bandwidth_hz, unit_w).seconds(power_w)


def power_for_w(bits: float | Tensor, bandwidth_hz: float, seconds: Tensor, unit_w: Tensor) -> Tensor:
    """Transmit power in watt that sends ``bits`` in ``seconds``, ``unit (2^(s/(w tau)) - 1)``."""
    return Rates(bits, bandwidth_hz, unit_w).power_w(seconds)


def rayleigh_above(level: Tensor, antennas: int = 1) -> Tensor:
    """Probability that the mean of ``|h|^2`` over ``antennas`` is at least ``level``, for Rayleigh fading of mean 1.

    ``exp(-level)`` with one antenna; the mean over K is Gamma distributed, with the tail ``Q(K, K level)``.
    """
    shape = torch.full_like(level, float(antennas))
    tail: Tensor = torch.special.gammaincc(shape, antennas * level.clamp(min=0.0))
    return tail

"""Analogue symbols superposed in the air, as receivers with many antennas hear them (W-HFL, eqs. (8)-(17)).

All senders transmit at once; fading is Rayleigh, fresh for every symbol, antenna and exchange; receivers know their own
senders' channels, senders know none. Antenna k of a receiver with own set c and the others as interference hears (8)
``y_k = sum_all P_m h_mk x_m + z_k``, combines (9) ``y = 1/K sum_k (sum_c h_mk)^* y_k`` and divides (12) by
``sigma_h^2 sum_c beta_m P_m``, so that the estimate's mean is ``xbar = sum_c beta_m P_m x_m / sum_c beta_m P_m``.

**Exact sampling.** Per antenna, ``a_k = sum_c h_mk`` and ``y_k`` are jointly Gaussian, so y_k is a multiple of a_k plus
an independent remainder, and ``sum_k a_k^* y_k`` needs only ``sum_k |a_k|^2``, a Gamma variable, and one more normal:
an off-diagonal entry of a 2x2 complex Wishart matrix. With ``S = sum_c beta_m``, ``Pbar = sum_c beta_m P_m / S`` and
``x'_m = x_m P_m / Pbar`` (which is x_m where all amplitudes of the own set are equal)::

    xbar = sum_c beta_m x'_m / S
    D    = [ sigma_z^2/(Pbar^2 sigma_h^2) + sum_c beta_m |x'_m - xbar|^2 + sum_foreign beta_m |x'_m|^2 ] / S   (>= 0)
    yhat = (g/K) xbar + (sqrt(g)/K) sqrt(D) w,        g ~ Gamma(K, 1), w ~ CN(0, 1)

one g and one w for each receiver and symbol, whatever K and the number of senders. Hence ``E yhat = xbar``, variance
``E|yhat - xbar|^2 = [sigma_z^2/(Pbar^2 sigma_h^2) + sum_all beta_m |x'_m|^2] / (S K)`` and pseudo-variance
``E(yhat - xbar)^2 = xbar^2/K``.

Shapes: payload ``[A, k, d]`` real; a block of d numbers is ``n = ceil(d/2)`` symbols, its first n numbers their real
parts, the rest (and a 0 if d is odd) their imaginary parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.rng import Rng

Normaliser = Literal["mean", "sum"]
Floats = NDArray[np.float64]

CACHED, DIRECT = 2**18, 2**18
"""Payload numbers, and complex channel coefficients of the direct simulation, that are processed at a time."""


@dataclass(frozen=True)
class Air:
    """One over-the-air exchange of A senders and R receivers.

    ``gain [R, A]`` large-scale beta of all pairs, ``parent [A]`` each sender's own receiver, ``amplitude [A]`` P_m,
    ``factor [A]`` by which a sender multiplies its payload before that (its weight, of mean 1 over the own set);
    ``noise`` sigma_z^2 and ``sigma_h2`` per symbol and antenna. ``normaliser``: (12) with beta-bar as the mean of the
    own set's gains, or as their sum, as printed, which shrinks the estimate by 1/M. Numpy, whose calls on such small
    matrices cost a fraction of torch's: for MNIST's few symbols they would take as long as the symbols themselves.
    """

    gain: Floats
    parent: NDArray[np.int64]
    amplitude: Floats
    factor: Floats
    noise: float
    antennas: int
    sigma_h2: float = 1.0
    normaliser: Normaliser = "mean"

    @property
    def receivers(self) -> int:
        return len(self.gain)

    @cached_property
    def own(self) -> Floats:
        """Own sets as a matrix of 0 and 1, ``[R, A]``: 1 where the sender is the receiver's."""
        return np.equal(np.arange(self.receivers)[:, None], self.parent).astype(np.float64)

    @cached_property
    def members(self) -> Floats:
        """Senders of each own set, ``M [R]``; 1 where nobody sends."""
        return np.maximum(1.0, _over_senders(self.own))

    @cached_property
    def strength(self) -> Floats:
        """Total gain of the own set, ``S = sum_c beta_m [R]``; 0 where nobody sends."""
        return _over_senders(self.gain * self.own)

    @cached_property
    def relative(self) -> Floats:
        """Relative gain ``beta_m / S [R, A]``; 0 where nobody sends."""
        return self.gain * inverse(self.strength)[:, None]

    @cached_property
    def near(self) -> Floats:
        """Relative gain ``beta_m / S`` of the own set, 0 elsewhere, ``[R, A]``."""
        return self.relative * self.own

    @cached_property
    def level(self) -> Floats:
        """Mean amplitude ``Pbar = sum_c beta_m P_m / S [R]``; 0 where nobody sends."""
        return self.near @ self.amplitude

    @cached_property
    def scale(self) -> Floats:
        """Factor from the payload to x' at each receiver: ``factor P_m / Pbar [R, A]``."""
        return self.factor * self.amplitude * inverse(self.level)[:, None]

    @cached_property
    def floor(self) -> Floats:
        """Noise term of D: ``sigma_z^2 / (Pbar^2 sigma_h^2 S) [R]``."""
        return self.noise / self.sigma_h2 * inverse(self.strength) * inverse(self.level) ** 2

    @cached_property
    def slope(self) -> Floats:
        """Final factor of the estimate ``[R]``: 1, or 1/M as printed."""
        return np.ones(self.receivers) if self.normaliser == "mean" else 1.0 / self.members


@dataclass(frozen=True)
class Heard:
    """Moments of the received symbols: ``mean [R, k, d]`` is xbar, ``spread [R, k, n]`` D; for the records, per symbol,
    ``power [A]``, the payload's mean ``|x|^2``, and ``bias [R]``, the mean ``|E yhat - true mean|^2``."""

    mean: Tensor
    spread: Tensor
    power: Floats
    bias: Floats


def symbols(d: int) -> int:
    """Number of complex symbols of a block of ``d`` real numbers."""
    return (d + 1) // 2


def inverse(values: Floats) -> Floats:
    """``1/x``, and 0 where x is 0: receivers that hear nobody deliver nothing."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def hear(air: Air, payload: Tensor) -> Heard:
    """Moments xbar and D of every symbol, computed in pieces that stay in cache and need no other large memory."""
    a, k, d = payload.shape
    n, receivers = symbols(d), air.receivers
    share = air.near * air.scale
    bias_of = air.slope[:, None] * share - air.own * air.factor / air.members[:, None]
    coefficients = (share, bias_of, air.near, (air.relative - air.near) * air.scale**2)
    rows = _like(payload, np.concatenate(coefficients))
    mix, near, far = rows[: 2 * receivers], rows[2 * receivers : 3 * receivers], rows[3 * receivers :]
    own_scale, floor = _like(payload, air.scale[air.parent, np.arange(a)])[:, None], _like(payload, air.floor)[:, None]
    parent = torch.from_numpy(air.parent).to(payload.device)
    mean, spread = payload.new_empty(receivers, k, 2 * n), payload.new_empty(receivers, k, n)
    power = torch.zeros(a, dtype=torch.float64, device=payload.device)
    bias = torch.zeros(receivers, dtype=torch.float64, device=payload.device)
    for block, piece, x in _pieces(payload, max(64, CACHED // (2 * max(1, a)))):
        bar, c = mix @ x, x.shape[1] // 2  # [2 R, 2 c]
        mean[:, block, piece] = bar[:receivers, :c]
        mean[:, block, n + piece.start : n + piece.stop] = bar[:receivers, c:]
        energy = x * x
        deviation = bar.index_select(0, parent).addcmul_(x, own_scale, value=-1.0).square_()
        both = (far @ energy).addmm_(near, deviation)
        spread[:, block, piece] = (both[:, :c] + both[:, c:]).add_(floor)
        power += energy.sum(dim=1)
        bias += bar[receivers:].square_().sum(dim=1)
    return Heard(mean[:, :, :d], spread, power.cpu().numpy() / (k * n), bias.cpu().numpy() / (k * n))


def exact(air: Air, heard: Heard, rng: Rng) -> Tensor:
    """Exact sampler of the estimates ``[R, k, d]``: one Gamma and one complex normal for each receiver and symbol."""
    (receivers, k, d), n = heard.mean.shape, heard.spread.shape[-1]
    # numpy is the faster one for Gammas, torch for normals; both on the CPU, so that every device sees the same air
    gamma = rng.child("gamma").numpy().standard_gamma(air.antennas, (receivers, k, n), dtype=np.float32)
    g = torch.from_numpy(gamma).to(heard.spread)
    w = torch.randn(receivers, k, 2 * n, generator=rng.child("normal").torch()).to(heard.spread)
    per_antenna = _like(g, air.slope / air.antennas)[:, None, None]
    noise = (g * heard.spread).mul_(0.5).sqrt_().mul_(per_antenna)  # w has a variance of 1/2 in each part
    g = g.mul_(per_antenna)
    out = torch.empty_like(heard.mean)
    for half in (slice(0, n), slice(n, d)):
        size = half.stop - half.start
        torch.mul(heard.mean[:, :, half], g[:, :, :size], out=out[:, :, half]).addcmul_(
            noise[:, :, :size], w[:, :, half]
        )
    return out


def direct(air: Air, payload: Tensor, rng: Rng) -> Tensor:
    """Antenna-by-antenna oracle of :func:`exact`: simulates every antenna and channel, (8), (10), (12); slow."""
    a, k, d = payload.shape
    n = symbols(d)
    out = payload.new_zeros(air.receivers, k, 2 * n)
    sent = _like(payload, air.factor * air.amplitude)[:, None]
    for r in range(air.receivers):
        own = air.parent == r
        if not own.any():
            continue
        beta, generator = air.gain[r], rng.child("direct", r).torch()
        weights = (beta * air.amplitude)[own]
        divisor = air.sigma_h2 * len(weights) * (weights.mean() if air.normaliser == "mean" else weights.sum())
        std = _like(payload, np.sqrt(air.sigma_h2 * beta))[:, None, None]
        own_rows = torch.from_numpy(own).to(payload.device)
        for block, piece, parts in _pieces(payload, DIRECT // (a * air.antennas)):
            x = torch.complex(*(sent * parts).chunk(2, dim=1))  # [A, c]
            shape = (air.antennas, x.shape[1])
            h = std * torch.randn(a, *shape, dtype=x.dtype, generator=generator).to(x)
            z = air.noise**0.5 * torch.randn(shape, dtype=x.dtype, generator=generator).to(x)
            y = (h * x[:, None]).sum(dim=0) + z  # (8), [K, c]
            combined = (h[own_rows].sum(dim=0).conj() * y).mean(dim=0) / float(divisor)  # (10), (12)
            out[r, block, piece] = combined.real
            out[r, block, n + piece.start : n + piece.stop] = combined.imag
    return out[:, :, :d]


def error_split(air: Air, power: Floats) -> dict[str, Floats]:
    """Variance ``E|yhat - E yhat|^2`` per symbol ``[R]``, by cause; ``power [A]`` is ``E|x_m|^2`` of the payload.

    Fading of a sender's own channel, interference inside the own set, interference from outside, receiver noise; the
    four add up to the variance of :func:`exact`.
    """
    q = air.scale**2 * power  # E|x'_m|^2, [R, A]
    near, each = air.near, air.slope**2 / air.antennas
    return {
        "fading": each * _over_senders(near**2 * q),
        "intra": each * _over_senders(near * (1.0 - near) * q),
        "inter": each * _over_senders((air.relative - near) * q),
        "noise": each * air.floor,
    }


def weighted(weight: Floats, parent: NDArray[np.int64], receivers: int) -> tuple[Floats, Floats]:
    """Weights as factors ``w M / W [A]`` of mean 1 over each own set, and the sums ``W [R]``; 0 where W is 0."""
    total: Floats = np.bincount(parent, weight, receivers).astype(np.float64)
    members = np.bincount(parent, minlength=receivers)
    per = np.divide(members, total, out=np.zeros(receivers), where=total != 0)
    return weight * per[parent], total


def _over_senders(values: Floats) -> Floats:
    """Sum over the senders, ``[R, A] -> [R]``."""
    total: Floats = values.sum(axis=1)
    return total


def _like(payload: Tensor, values: Floats) -> Tensor:
    """``values`` on the payload's device, in its precision."""
    return torch.from_numpy(values).to(payload)


def _pieces(payload: Tensor, size: int) -> Iterator[tuple[int, slice, Tensor]]:
    """The payload in pieces: block, range, and ``[A, 2 c]`` numbers, c real parts, then c imaginary."""
    _, k, d = payload.shape
    n, size = symbols(d), max(1, size)
    for block in range(k):
        row = payload[:, block]
        for start in range(0, n, size):
            stop = min(start + size, n)
            if 2 * (stop - start) == d:  # all of it: no copy
                yield block, slice(start, stop), row
                continue
            x = payload.new_zeros(len(row), 2 * (stop - start))
            x[:, : stop - start] = row[:, start:stop]
            imaginary = row[:, n + start : n + stop]  # one short at the end of an odd block: padded with 0
            x[:, stop - start : stop - start + imaginary.shape[1]] = imaginary
            yield block, slice(start, stop), x

"""Urban macro channel of 3GPP TR 38.901: power gains between all pairs of nodes, by exchange, by pair or by place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.core.contracts import Channel, ChannelState, Fading, Site, Slots
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.units import dbm_to_w
from fedradio.network.fields import normal_field
from fedradio.network.path_loss import (
    urban_macro_los_db,
    urban_macro_nlos_db,
    urban_macro_optional_nlos_db,
    urban_macro_sight,
)

SmallScale = Literal["none", "rayleigh"]
OutOfSight = Literal["standard", "optional"]
"""Which formula of TR 38.901 gives the path loss out of sight."""
Redraw = Literal["exchange", "never", "place"]
"""What sight and shadowing belong to: an exchange, a pair of nodes, or a place."""

LOS_M, NLOS_M, SIGHT_M = 37.0, 50.0, 50.0
"""Correlation distances of shadowing in and out of sight, and of the sight: TR 38.901, tables 7.5-6 and 7.6.3.1-2."""

SITES_SHARE = 0.5
"""Correlation of the shadowing towards two receivers at the same place, as system simulations of 3GPP assume it."""

DB = -math.log(10) / 10
"""Natural logarithm of the gain of a loss of 1 dB."""

GEOMETRIES = 4
"""Pairs of tiers whose path losses are kept: those of the hops of a run, and of the run before."""


@dataclass(frozen=True)
class UrbanMacro(Channel):
    """Urban macro channel with line of sight, shadowing and fading, see :func:`urban_macro`."""

    carrier_hz: float
    mast_m: float
    terminal_m: float
    los_sigma_db: float
    nlos_sigma_db: float
    small_scale: SmallScale
    noise_w_hz: float
    nlos: OutOfSight = "standard"
    redraw: Redraw = "exchange"

    @property
    def fading(self) -> Fading:
        return "block" if self.small_scale == "rayleigh" else "none"

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        """Line of sight, shadowing and fading of every pair ``[R, S]``; no draw depends on which senders are active.

        Gains hold path loss and shadowing, which planners know; fading is in the coefficients, which strike the upload.
        """
        now = rng.child(site.clock.t, site.clock.e)
        gain = self._gain(site, now if self.redraw == "exchange" else rng)
        if self.small_scale == "none":
            return ChannelState(gain, self.noise_w_hz), state
        receivers, senders = gain.shape
        parts = _draw(now.child("fading").numpy().standard_normal((2, receivers, 1, senders)))
        coefficient = torch.complex(parts[0], parts[1]) / math.sqrt(2)
        return ChannelState(gain, self.noise_w_hz, coefficient=coefficient, rayleigh=True), state

    def _gain(self, site: Site, rng: Rng) -> Tensor:
        """Linear gains ``[R, S]`` of path loss and shadowing."""
        radio, exact = (self.carrier_hz, self.mast_m, self.terminal_m), self.redraw != "exchange"
        p_sight, los_db, nlos_db = _geometry(site.receivers_m, site.senders_m, *radio, self.nlos, exact)
        if self.redraw == "place":
            chance, in_sight, out_of_sight = _shadows(len(site.receivers_m), site.senders_m, rng.child("place"))
        else:
            rng = rng if self.redraw == "exchange" else rng.child("pair")
            chance = _draw(rng.child("sight").numpy().random(p_sight.shape))
            in_sight = out_of_sight = _draw(rng.child("shadow").numpy().standard_normal(p_sight.shape))
        sight = chance < p_sight
        loss = torch.where(sight, los_db, nlos_db)
        shadow = torch.where(sight, self.los_sigma_db * in_sight, self.nlos_sigma_db * out_of_sight)
        return torch.exp((loss + shadow) * DB) if exact else torch.pow(10.0, -(loss + shadow) / 10.0)


@register("channel", "urban_macro", paper="3GPP TR 38.901, tables 7.4.1-1 and 7.4.2-1; RawHFL, section V")
def urban_macro(
    *,
    carrier_hz: Annotated[float, Arg("carrier frequency", unit="Hz", ge=5e8, le=1e11)] = 2.4e9,
    mast_m: Annotated[float, Arg("height of the receiver's mast", unit="m", ge=5, le=200)] = 25.0,
    terminal_m: Annotated[float, Arg("height of the terminals", unit="m", gt=1, lt=13)] = 1.5,
    los_sigma_db: Annotated[float, Arg("standard deviation of line-of-sight shadowing", unit="dB", ge=0, le=50)] = 4.0,
    nlos_sigma_db: Annotated[
        float,
        Arg(
            "standard deviation of non-line-of-sight shadowing; TR 38.901: 6 (standard) or 7.8 (optional)",
            unit="dB",
            ge=0,
            le=50,
        ),
    ] = 6.0,
    fading: Annotated[
        SmallScale, Arg("small-scale fading, constant during an upload and unknown when the policy plans")
    ] = "none",
    noise_dbm_hz: Annotated[float, Arg("thermal noise density", unit="dBm/Hz", ge=-250, le=0)] = -174.0,
    noise_figure_db: Annotated[float, Arg("noise figure of the receiver", unit="dB", ge=0, le=50)] = 0.0,
    nlos: Annotated[
        OutOfSight, Arg("non-line-of-sight path loss: the standard formula, or the optional one with 30 log d")
    ] = "standard",
    redraw: Annotated[
        Redraw,
        Arg(
            "what line of sight and shadowing belong to; exchange: drawn anew in every exchange, as if all clients had "
            "moved to new places; never: drawn once for every pair; place: fixed fields over the plane, correlated "
            "in space"
        ),
    ] = "exchange",
) -> UrbanMacro:
    """Urban macro cells: random line of sight, log-normal shadowing, and optional Rayleigh fading.

    With ``redraw: place``, shadowing is ``sqrt(1/2) F + sqrt(1/2) F_r`` for receiver r, of normal fields with
    correlation ``exp(-d/37 m)`` in sight and ``exp(-d/50 m)`` out of sight; a place is in sight of r where ``Phi(G_r)``
    is below its probability, with a field G_r of 50 m. Clients who do not move keep their gains, so a policy that looks
    for good channels chooses the same clients again and again. With ``redraw: exchange``, it gains from draws that no
    client at rest ever sees.

    The policy plans with path loss and shadowing only. Fading is drawn in every exchange: whether an upload then meets
    its deadline is random.
    """
    noise_w_hz = dbm_to_w(noise_dbm_hz + noise_figure_db)
    return UrbanMacro(carrier_hz, mast_m, terminal_m, los_sigma_db, nlos_sigma_db, fading, noise_w_hz, nlos, redraw)


@lru_cache(maxsize=GEOMETRIES)
def _geometry(
    receivers_m: Tensor,
    senders_m: Tensor,
    carrier_hz: float,
    mast_m: float,
    terminal_m: float,
    nlos: OutOfSight,
    exact: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Probability of line of sight, and the path loss in dB in and out of sight, of all pairs ``[R, S]`` each.

    Kept while the positions are the same objects, as they are where nobody moves: tensors are told apart by identity.
    ``exact``: the values of a pair depend on its own two nodes alone, to the last bit, whoever else is there.
    ``torch.hypot`` and ``torch.pow`` round the last elements of a tensor differently, so they cannot be used then.
    """
    mode = "donot_use_mm_for_euclid_dist" if exact else "use_mm_for_euclid_dist_if_necessary"
    d2_m = torch.cdist(receivers_m, senders_m, compute_mode=mode)
    height = mast_m - terminal_m
    d3_m = (d2_m * d2_m + height**2).sqrt() if exact else torch.hypot(d2_m, torch.full_like(d2_m, height))
    radio = (d2_m, d3_m, carrier_hz, mast_m, terminal_m)
    hidden_db = urban_macro_nlos_db(*radio) if nlos == "standard" else urban_macro_optional_nlos_db(d3_m, carrier_hz)
    return urban_macro_sight(d2_m), urban_macro_los_db(*radio), hidden_db


@lru_cache(maxsize=GEOMETRIES)
def _shadows(receivers: int, senders_m: Tensor, rng: Rng) -> tuple[Tensor, Tensor, Tensor]:
    """Fields at the senders' places towards every receiver, ``[R, S]`` each: uniform numbers of the sight, and normal
    numbers of the shadowing in and out of sight. Kept like the path losses."""

    def shadowing(name: str, distance_m: float) -> Tensor:
        common = normal_field(senders_m, distance_m, rng.child(name))
        own = [normal_field(senders_m, distance_m, rng.child("site", r, name)) for r in range(receivers)]
        return math.sqrt(SITES_SHARE) * common + math.sqrt(1 - SITES_SHARE) * torch.stack(own)

    sight = torch.stack([normal_field(senders_m, SIGHT_M, rng.child("site", r, "sight")) for r in range(receivers)])
    return torch.special.ndtr(sight), shadowing("in sight", LOS_M), shadowing("out of sight", NLOS_M)


def _draw(values: object) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float64)

"""Urban macro channel of 3GPP TR 38.901: power gains between all pairs of nodes, redrawn for every exchange."""

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
from fedradio.network.path_loss import (
    urban_macro_los_db,
    urban_macro_nlos_db,
    urban_macro_optional_nlos_db,
    urban_macro_sight,
)

SmallScale = Literal["none", "rayleigh"]
OutOfSight = Literal["standard", "optional"]
"""Which formula of TR 38.901 gives the path loss out of sight."""

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

    @property
    def fading(self) -> Fading:
        return "block" if self.small_scale == "rayleigh" else "none"

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        """Line of sight, shadowing and fading of every pair ``[R, S]``; no draw depends on which senders are active.

        Gains hold path loss and shadowing, which planners know; fading is in the coefficients, which strike the upload.
        """
        radio = (self.carrier_hz, self.mast_m, self.terminal_m)
        p_sight, los_db, nlos_db = _geometry(site.receivers_m, site.senders_m, *radio, self.nlos)
        rng = rng.child(site.clock.t, site.clock.e)
        shape = p_sight.shape  # [R, S]
        sight = _draw(rng.child("sight").numpy().random(shape)) < p_sight
        loss = torch.where(sight, los_db, nlos_db)
        sigma = torch.where(sight, self.los_sigma_db, self.nlos_sigma_db)
        shadow = sigma * _draw(rng.child("shadow").numpy().standard_normal(shape))
        gain = torch.pow(10.0, -(loss + shadow) / 10.0)
        if self.small_scale == "none":
            return ChannelState(gain, self.noise_w_hz), state
        parts = _draw(rng.child("fading").numpy().standard_normal((2, shape[0], 1, shape[1])))
        coefficient = torch.complex(parts[0], parts[1]) / math.sqrt(2)
        return ChannelState(gain, self.noise_w_hz, coefficient=coefficient, rayleigh=True), state


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
) -> UrbanMacro:
    """Urban macro cells: random line of sight, log-normal shadowing, optional Rayleigh fading, redrawn every exchange.

    The policy plans with path loss and shadowing only; with fading, whether an upload then meets its deadline is
    random.
    """
    noise_w_hz = dbm_to_w(noise_dbm_hz + noise_figure_db)
    return UrbanMacro(carrier_hz, mast_m, terminal_m, los_sigma_db, nlos_sigma_db, fading, noise_w_hz, nlos)


@lru_cache(maxsize=GEOMETRIES)
def _geometry(
    receivers_m: Tensor, senders_m: Tensor, carrier_hz: float, mast_m: float, terminal_m: float, nlos: OutOfSight
) -> tuple[Tensor, Tensor, Tensor]:
    """Probability of line of sight, and the path loss in dB in and out of sight, of all pairs ``[R, S]`` each.

    Kept while the positions are the same objects, as they are where nobody moves: tensors are told apart by identity.
    """
    distance = torch.cdist(receivers_m, senders_m)
    radio = (carrier_hz, mast_m, terminal_m)
    nlos_db = {"standard": urban_macro_nlos_db, "optional": urban_macro_optional_nlos_db}[nlos](distance, *radio)
    return urban_macro_sight(distance), urban_macro_los_db(distance, *radio), nlos_db


def _draw(values: object) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float64)

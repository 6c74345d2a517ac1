"""Path loss in dB of urban macro cells (UMa) over the horizontal distance ``d2_m`` and the distance ``d3_m`` from
antenna to antenna; 3GPP TR 38.901, table 7.4.1-1."""

from __future__ import annotations

import torch
from torch import Tensor

LIGHT_M_S = 3.0e8
"""Speed of light as TR 38.901 rounds it."""


def urban_macro_los_db(d2_m: Tensor, d3_m: Tensor, carrier_hz: float, mast_m: float, terminal_m: float) -> Tensor:
    """Line-of-sight path loss: 22 log d3 before the breakpoint ``4 (h_BS - 1)(h_UT - 1) f/c``, 40 log d3 beyond it."""
    height = mast_m - terminal_m
    frequency = 20 * torch.log10(torch.tensor(carrier_hz / 1e9, dtype=d2_m.dtype))
    breakpoint_m = 4 * (mast_m - 1) * (terminal_m - 1) * carrier_hz / LIGHT_M_S
    near = 28 + 22 * torch.log10(d3_m) + frequency
    corner = 9 * torch.log10(torch.tensor(breakpoint_m**2 + height**2, dtype=d2_m.dtype))
    far = 28 + 40 * torch.log10(d3_m) + frequency - corner
    return torch.where(d2_m <= breakpoint_m, near, far)


def urban_macro_nlos_db(d2_m: Tensor, d3_m: Tensor, carrier_hz: float, mast_m: float, terminal_m: float) -> Tensor:
    """Non-line-of-sight path loss: ``13.54 + 39.08 log d3 + 20 log f - 0.6 (h_UT - 1.5)``, at least that in sight."""
    frequency = 20 * torch.log10(torch.tensor(carrier_hz / 1e9, dtype=d2_m.dtype))
    hidden = 13.54 + 39.08 * torch.log10(d3_m) + frequency - 0.6 * (terminal_m - 1.5)
    return torch.maximum(hidden, urban_macro_los_db(d2_m, d3_m, carrier_hz, mast_m, terminal_m))


def urban_macro_optional_nlos_db(d3_m: Tensor, carrier_hz: float) -> Tensor:
    """Optional non-line-of-sight path loss of the same table, ``32.4 + 20 log f + 30 log d3``.

    At 2.4 GHz 100.35 dB at 100 m and 118.09 dB at 400 m: 5 dB less than the other formula at the edge of the cell.
    """
    frequency = 20 * torch.log10(torch.tensor(carrier_hz / 1e9, dtype=d3_m.dtype))
    return 32.4 + frequency + 30 * torch.log10(d3_m)


def urban_macro_sight(d2_m: Tensor) -> Tensor:
    """Line-of-sight probability of terminals below 13 m: 1 up to 18 m, then ``18/d + exp(-d/63)(1 - 18/d)``."""
    near = 18.0 / d2_m.clamp(min=18.0)
    return near + torch.exp(-d2_m / 63.0) * (1.0 - near)

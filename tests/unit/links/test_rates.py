"""Rates, airtimes and the powers they need."""

import math

import torch
from torch import Tensor

from fedradio.links.rates import airtime_s, noise_over_gain, power_for_w

PARENT = torch.tensor([0, 1, 0, 1])


def gains(gain: float = 1e-10) -> Tensor:
    foreign = torch.full((2, 4), 1.0, dtype=torch.float64)  # foreign gains must not matter
    foreign[PARENT, torch.arange(4)] = gain
    return foreign


def test_power_and_airtime_are_inverse() -> None:
    unit = noise_over_gain(4e-21, gains(), PARENT, 540e3)
    power = torch.tensor([1e-6, 1e-3, 0.1, 1.0], dtype=torch.float64)
    seconds = airtime_s(7e6, 540e3, power, unit)
    assert torch.allclose(power_for_w(7e6, 540e3, seconds, unit), power, rtol=1e-10)
    assert math.isinf(airtime_s(7e6, 540e3, torch.zeros(4).double(), unit)[0].item())

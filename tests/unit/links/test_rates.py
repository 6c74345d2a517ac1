"""Rates, airtimes and the powers they need."""

import math

import pytest
import torch
from torch import Tensor

from fedradio.links.rates import airtime_s, noise_over_gain, power_for_w, rayleigh_above

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


def test_the_law_of_rayleigh_fading() -> None:
    """One antenna: exp(-x); two: Q(2, 2x) = (1 + 2x) exp(-2x), so .406 at 1; 0 is always exceeded, infinity never."""
    level = torch.tensor([0.0, 0.5, 1.0, math.inf], dtype=torch.float64)
    assert rayleigh_above(level).tolist() == pytest.approx([1.0, math.exp(-0.5), math.exp(-1), 0.0])
    assert rayleigh_above(level, 2).tolist() == pytest.approx([1.0, 2 * math.exp(-1), 3 * math.exp(-2), 0.0])

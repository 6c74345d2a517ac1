"""Random fields over the plane: normal numbers that belong to places, correlated in space."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from fedradio.core.rng import Rng

WAVES = 500
"""Plane waves in the sum of a field."""

BLOCK = 4096
"""Places that are evaluated at a time, which bounds memory to some 50 MB."""


def normal_field(places_m: Tensor, distance_m: float, rng: Rng) -> Tensor:
    """A standard normal field with correlation ``exp(-|x - y| / distance_m)`` at ``places_m [n, 2]``, as ``[n]``.

    ``F(x) = sqrt(2/N) sum_i cos(k_i x + phi_i)`` with N waves, uniform phases, and ``k = z / (|w| distance_m)`` of
    normal numbers z (two) and w. This law of k is the bivariate Cauchy law, for which ``E cos(k x) = exp(-|x| /
    distance_m)``.

    Note: a value depends on its own place alone, to the last bit, whoever else is there. One world of a few correlation
    distances has a mean far from 0: average over seeds, not over the places of one world.
    """
    draws = rng.numpy()
    waves, scale = draws.standard_normal((2, WAVES)), draws.standard_normal(WAVES)
    k_x, k_y = waves / (np.abs(scale) * distance_m)
    phase = 2 * math.pi * draws.random(WAVES)
    places = places_m.double().numpy()
    blocks = [places[start : start + BLOCK] for start in range(0, len(places), BLOCK)]
    found = [np.cos(block[:, :1] * k_x + block[:, 1:] * k_y + phase).sum(axis=1) for block in blocks]
    return torch.from_numpy(math.sqrt(2 / WAVES) * np.concatenate(found or [np.zeros(0)]))

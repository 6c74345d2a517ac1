"""Placement of nodes in the plane: coordinates ``[n, 2]`` in metres, float64."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from fedradio.core.rng import Rng


def disc(n: int, radius_m: float, min_distance_m: float, rng: Rng) -> Tensor:
    """``n`` points uniform in the ring between ``min_distance_m`` and ``radius_m`` around the origin.

    Uniform in area: ``r = sqrt(r0^2 + u (R^2 - r0^2))``.
    """
    u = torch.from_numpy(rng.numpy().random((n, 2)))
    r = torch.sqrt(min_distance_m**2 + u[:, 0] * (radius_m**2 - min_distance_m**2))
    angle = 2 * math.pi * u[:, 1]
    return torch.stack((r * torch.cos(angle), r * torch.sin(angle)), dim=1)


def square(n: int, half_diagonal_m: float, min_distance_m: float, rng: Rng) -> Tensor:
    """``n`` points uniform in the square around the origin with its corners ``half_diagonal_m`` away, none nearer to
    the origin than ``min_distance_m``.

    By rejection: points too near are drawn again, from draws made for all points, so that no position depends on the
    others. The hole has to fit into the square (``min_distance_m <= half_diagonal_m / sqrt(2)``): then at least a
    fifth of the draws is accepted.
    """
    if min_distance_m > half_diagonal_m / math.sqrt(2):
        raise ValueError("the circle of min_distance_m does not fit into the square")
    side_m, draws = math.sqrt(2) * half_diagonal_m, rng.numpy()
    points = side_m * (draws.random((n, 2)) - 0.5)
    near = np.hypot(points[:, 0], points[:, 1]) < min_distance_m
    while near.any():
        redrawn = side_m * (draws.random((n, 2)) - 0.5)
        points[near] = redrawn[near]
        near = np.hypot(points[:, 0], points[:, 1]) < min_distance_m
    return torch.from_numpy(points)


def square_grid(n: int, spacing_m: float) -> Tensor:
    """``n`` points of a square grid centred at the origin, row by row."""
    columns = math.ceil(math.sqrt(n))
    rows = math.ceil(n / columns)
    number = torch.arange(n)
    x = (number % columns).double() - (columns - 1) / 2
    y = torch.div(number, columns, rounding_mode="floor").double() - (rows - 1) / 2
    return spacing_m * torch.stack((x, y), dim=1)

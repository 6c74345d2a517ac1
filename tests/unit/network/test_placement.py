"""Places drawn uniformly in discs and squares, and grids."""

import math

import torch

from fedradio.core.rng import Rng
from fedradio.network.placement import disc, square, square_grid


def test_disc_is_uniform_in_area() -> None:
    """Share of points within r is (r^2 - r0^2)/(R^2 - r0^2); four standard deviations of a binomial share."""
    n, radius, inner = 40_000, 400.0, 10.0
    distance = disc(n, radius, inner, Rng(1)).norm(dim=1)
    assert float(distance.min()) >= inner
    assert float(distance.max()) <= radius
    for r in (100.0, 200.0, 300.0):
        expected = (r**2 - inner**2) / (radius**2 - inner**2)
        tolerance = 4 * math.sqrt(expected * (1 - expected) / n)
        assert abs(float((distance <= r).double().mean()) - expected) < tolerance


def test_square_is_uniform_in_area() -> None:
    """Side s, a hole in the middle: the share left of a line at x, right of the hole, is
    ((s/2 + x) s - hole)/(s^2 - hole); four standard deviations of a binomial share. The same from all four sides."""
    n, corner, inner = 40_000, 200.0, 100.0
    places = square(n, corner, inner, Rng(1))
    side, hole = corner * math.sqrt(2), math.pi * inner**2
    distance = places.norm(dim=1)
    assert float(distance.min()) >= inner
    assert float(distance.max()) > 0.97 * corner  # corners are reached, which no disc in the square does
    assert float(places.abs().max()) <= side / 2
    for x in (110.0, 125.0, 135.0):
        expected = ((side / 2 + x) * side - hole) / (side**2 - hole)
        tolerance = 4 * math.sqrt(expected * (1 - expected) / n)
        for values in (places[:, 0], places[:, 1], -places[:, 0], -places[:, 1]):
            assert abs(float((values <= x).double().mean()) - expected) < tolerance


def test_nobodys_place_in_the_square_depends_on_who_is_redrawn() -> None:
    """Without a hole nobody is drawn again; with one, all outside of it stand where they stood."""
    free, holed = square(500, 200.0, 0.0, Rng(4)), square(500, 200.0, 120.0, Rng(4))
    outside = free.norm(dim=1) >= 120.0
    assert torch.equal(free[outside], holed[outside])
    assert 0 < int(outside.sum()) < 500
    assert bool((holed[~outside].norm(dim=1) >= 120.0).all())


def test_grid_is_centred_and_spaced() -> None:
    grid = square_grid(4, 800.0)
    assert torch.equal(grid.sum(dim=0), torch.zeros(2, dtype=torch.float64))
    assert torch.pdist(grid).min() == 800.0

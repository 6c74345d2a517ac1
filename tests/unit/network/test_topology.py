import math

import pytest
import torch

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.network.placement import disc, square, square_grid
from fedradio.network.topology import flat, hierarchical


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


def test_flat_squares() -> None:
    topology = flat(Rng(3), clients=200, radius_m=200.0, area="square")
    distance = topology.positions[0].norm(dim=1)
    assert bool((topology.positions[0].abs() <= 200.0 / math.sqrt(2)).all())
    assert float(distance.min()) >= 10.0
    assert float(distance.max()) > 200.0 / math.sqrt(2)
    assert torch.equal(topology.positions[1], torch.zeros(1, 2, dtype=torch.float64))
    assert not torch.equal(topology.positions[0], flat(Rng(3), clients=200, radius_m=200.0).positions[0])


def test_a_hole_beyond_the_sides_is_refused() -> None:
    """Half-diagonal 200 m: the sides are 141.4 m away."""
    assert (
        float(flat(Rng(0), radius_m=200.0, min_distance_m=141.0, area="square").positions[0].norm(dim=1).min()) >= 141
    )
    with pytest.raises(SpecError, match="sides of the square"):
        flat(Rng(0), radius_m=200.0, min_distance_m=142.0, area="square")
    with pytest.raises(ValueError, match="does not fit"):
        square(1, 200.0, 142.0, Rng(0))
    flat(Rng(0), radius_m=200.0, min_distance_m=142.0)


def test_grid_is_centred_and_spaced() -> None:
    grid = square_grid(4, 800.0)
    assert torch.equal(grid.sum(dim=0), torch.zeros(2, dtype=torch.float64))
    assert torch.pdist(grid).min() == 800.0


def test_hierarchical_cells() -> None:
    topology = hierarchical(Rng(2), edges=4, clients_per_edge=3, radius_m=100.0)
    assert (topology.hops, topology.clients) == (2, 12)
    assert topology.parents[0].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert topology.parents[1].tolist() == [0, 0, 0, 0]
    distance = (topology.positions[0] - topology.positions[1][topology.parents[0]]).norm(dim=1)
    assert bool(((distance >= 10.0) & (distance <= 100.0)).all())


def test_flat_of_a_hierarchy_keeps_the_clients_where_they_are() -> None:
    cells = hierarchical(Rng(2), edges=4, clients_per_edge=3)
    flattened = cells.flat()
    assert flattened.hops == 1
    assert torch.equal(flattened.positions[0], cells.positions[0])
    assert flattened.receivers(0) == 1


def test_same_seed_same_places() -> None:
    assert torch.equal(flat(Rng(3)).positions[0], flat(Rng(3)).positions[0])
    assert not torch.equal(flat(Rng(3)).positions[0], flat(Rng(4)).positions[0])


def test_an_empty_ring_is_refused() -> None:
    with pytest.raises(SpecError, match="min_distance_m"):
        flat(Rng(0), radius_m=5.0, min_distance_m=5.0)

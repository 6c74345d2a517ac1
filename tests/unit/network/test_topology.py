import math

import pytest
import torch

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.network.placement import disc, square_grid
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

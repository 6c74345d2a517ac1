"""Flat and hierarchical networks."""

import math

import pytest
import torch

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.network.placement import square
from fedradio.network.topology import flat, hierarchical


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


def test_hierarchical_cells() -> None:
    topology = hierarchical(Rng(2), edges=4, clients_per_edge=3, radius_m=100.0)
    assert (topology.hops, topology.clients) == (2, 12)
    assert topology.parents[0].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert topology.parents[1].tolist() == [0, 0, 0, 0]
    distance = (topology.positions[0] - topology.positions[1][topology.parents[0]]).norm(dim=1)
    assert bool(((distance >= 10.0) & (distance <= 100.0)).all())


def test_same_seed_same_places() -> None:
    assert torch.equal(flat(Rng(3)).positions[0], flat(Rng(3)).positions[0])
    assert not torch.equal(flat(Rng(3)).positions[0], flat(Rng(4)).positions[0])


def test_an_empty_ring_is_refused() -> None:
    with pytest.raises(SpecError, match="min_distance_m"):
        flat(Rng(0), radius_m=5.0, min_distance_m=5.0)


def test_flat_via_cells() -> None:
    """The places of the hierarchical network of the same seed; payloads are passed on."""
    topology = flat(Rng(2), clients=12, via=4, radius_m=100.0)
    cells = hierarchical(Rng(2), edges=4, clients_per_edge=3, radius_m=100.0)
    assert topology.forwards
    assert not cells.forwards
    assert not flat(Rng(2)).forwards
    assert all(map(torch.equal, topology.positions, cells.positions))
    assert all(map(torch.equal, topology.parents, cells.parents))


def test_cells_of_unequal_size_are_refused() -> None:
    with pytest.raises(SpecError) as caught:
        flat(Rng(0), clients=10, via=4, area="square")
    assert [problem.path for problem in caught.value.problems] == ["topology.via", "topology.area"]

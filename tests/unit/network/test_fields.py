"""Normal fields over the plane: moments, correlation in space, and values that belong to places alone."""

import math

import pytest
import torch

from fedradio.core.rng import Rng
from fedradio.network.fields import BLOCK, normal_field


def test_correlation_falls_with_the_distance() -> None:
    """exp(-d/37 m) at five distances within .05, over 4,000 independent fields; moments within four deviations."""
    seeds, distances = 4000, (5.0, 18.5, 37.0, 74.0, 148.0)
    places = torch.tensor([(0.0, 0.0), *((0.6 * d, 0.8 * d) for d in distances)], dtype=torch.float64)
    values = torch.stack([normal_field(places, 37.0, Rng(seed)) for seed in range(seeds)])
    assert float(values.mean()) == pytest.approx(0.0, abs=4 / math.sqrt(seeds))
    assert float(values.var()) == pytest.approx(1.0, abs=4 * math.sqrt(2 / seeds))
    for d, found in zip(distances, torch.corrcoef(values.T)[0, 1:].tolist(), strict=True):
        assert found == pytest.approx(math.exp(-d / 37.0), abs=0.05), d


def test_a_value_belongs_to_its_place() -> None:
    """To the last bit, whoever else is there, in whatever order, in whatever block."""
    places = 300 * torch.from_numpy(Rng(1).numpy().standard_normal((BLOCK + 3, 2)))
    values = normal_field(places, 50.0, Rng(2))
    assert torch.equal(normal_field(places.flip(0), 50.0, Rng(2)), values.flip(0))
    assert torch.equal(normal_field(places[BLOCK:], 50.0, Rng(2)), values[BLOCK:])
    assert torch.equal(normal_field(places[7:8], 50.0, Rng(2)), values[7:8])
    assert normal_field(places[:0], 50.0, Rng(2)).shape == (0,)


def test_another_generator_is_another_field() -> None:
    places = torch.zeros(1, 2, dtype=torch.float64)
    assert float(normal_field(places, 50.0, Rng(1))) != float(normal_field(places, 50.0, Rng(1).child("other")))

"""Where training starts: uniform as in torch, zero, from the generator alone."""

from __future__ import annotations

import math

import pytest
import torch

from fedradio.core.rng import Rng
from fedradio.models import FlatModel, cnn5x5, logistic, mlp


def test_the_start_depends_on_the_generator_alone() -> None:
    model = mlp((12,), 5, hidden=(7, 6))
    state = torch.get_rng_state()
    first = model.init(Rng(1))
    assert torch.equal(first, mlp((12,), 5, hidden=(7, 6)).init(Rng(1)))
    assert not torch.equal(first, model.init(Rng(2)))
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("model", [mlp((300,), 40), cnn5x5((3, 20, 20), 10), logistic((500,), 30, init="uniform")])
def test_uniform_start_is_that_of_torch(model: FlatModel) -> None:
    """Within +-1/sqrt(fan_in), and filling that interval evenly."""
    tensors = list(model.shared.views(model.init(Rng(3))).values())
    for weight, bias in zip(tensors[::2], tensors[1::2], strict=True):
        bound = 1 / math.sqrt(weight[0].numel())
        for tensor in (weight, bias):
            assert tensor.abs().max() <= bound
        assert weight.std() == pytest.approx(bound / math.sqrt(3), rel=0.05)


def test_logistic_starts_at_zero() -> None:
    assert not logistic((4,), 3).init(Rng(0)).any()

"""The real MNIST, fetched by ``make paper``."""

import pytest
import torch

from fedradio.core.rng import Rng
from fedradio.data import sources


@pytest.mark.paper
def test_the_real_mnist() -> None:
    samples = sources.mnist(1, Rng(0))
    assert samples.x.shape == (60_000, 1, 28, 28)
    assert samples.test_x.shape == (10_000, 1, 28, 28)
    assert torch.bincount(samples.y).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert samples.y[:8].tolist() == [5, 0, 4, 1, 9, 2, 1, 3]  # the official order
    assert samples.scale is not None
    x = samples.scale(samples.x)
    assert abs(x.mean()) < 1e-3
    assert abs(x.std() - 1) < 1e-3

"""The registered models: exact sizes, starts and limits."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from fedradio.core.errors import SpecError
from fedradio.core.registry import part
from fedradio.core.rng import Rng
from fedradio.models import FlatModel, cnn5x5, logistic, mlp


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (logistic((784,), 10), 7_850),
        (logistic((1, 28, 28), 10), 7_850),
        (mlp((43,), 256, hidden=(512, 256)), 219_648),
        (mlp((784,), 10), 159_010),
        (mlp((1, 28, 28), 10, hidden=(200, 200)), 199_210),
        (mlp((3168,), 100, hidden=(512, 512)), 1_936_484),
        (cnn5x5((3, 32, 32), 10), 878_538),
        (cnn5x5((1, 28, 28), 10), 582_026),
        (cnn5x5((3, 32, 32), 10, padding="same"), 2_156_490),
    ],
)
def test_sizes_of_the_papers(model: FlatModel, parameters: int) -> None:
    assert model.shared.size == model.size == parameters
    row = model.init(Rng(0))
    assert row.shape == (parameters,)
    assert model.apply(row, torch.randn(3, *model.shape)).shape == (3, model.classes)


def test_pool_and_relu_commute() -> None:
    """The network equals the one people write, ReLU before the pool, in values and gradients."""
    model = cnn5x5((1, 16, 16), 3, width=4, features=8)
    usual = nn.Sequential(
        nn.Conv2d(1, 4, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3),
    )  # fmt: skip
    row = model.init(Rng(0))
    ours = list(model.shared.views(row).values())
    for theirs, tensor in zip(usual.parameters(), ours, strict=True):
        theirs.data = tensor
    x, y = torch.randn(6, 1, 16, 16, generator=Rng(1).torch()), torch.tensor([0, 1, 2, 0, 1, 2])
    assert torch.allclose(model.apply(row, x), usual(x), atol=1e-6)
    for parameter, tensor in zip(model.module.parameters(), ours, strict=True):
        parameter.data = tensor
    for module in (model.module, usual):
        cross_entropy(module(x), y).backward()
    for a, b in zip(model.module.parameters(), usual.parameters(), strict=True):
        assert a.grad is not None
        assert torch.allclose(a.grad, b.grad, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: mlp((4,), 3, hidden=()), "model.hidden"),
        (lambda: mlp((4,), 3, hidden=(8, 0)), "model.hidden"),
        (lambda: mlp((4,), 3, hidden=(10**9,)), "model.hidden"),
        (lambda: mlp((4,), 3, hidden=(8,) * 65), "model.hidden"),
        (lambda: mlp((4,), 3, hidden=(65_536, 65_536)), "model"),
        (lambda: logistic((10**8,), 100), "model"),
        (lambda: cnn5x5((3, 15, 32), 10), "model"),
        (lambda: cnn5x5((3, 3, 3), 10, padding="same"), "model"),
        (lambda: cnn5x5((28, 28), 10), "model"),
        (lambda: cnn5x5((3, 4000, 4000), 10), "model"),
    ],
)
def test_what_cannot_be_built_is_an_error_of_the_spec(make: object, path: str) -> None:
    with pytest.raises(SpecError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.problems[0].path == path
    assert caught.value.problems[0].remedy


def test_the_smallest_images() -> None:
    for model in (cnn5x5((1, 16, 16), 2), cnn5x5((1, 4, 4), 2, padding="same")):
        assert model.apply(model.init(Rng(0)), torch.zeros(1, *model.shape)).shape == (1, 2)


def test_parts_are_registered() -> None:
    for kind in ("logistic", "mlp", "cnn3x3", "cnn5x5", "cnn_batchnorm", "lstm", "squeezenet"):
        assert part("model", kind).summary
        assert all(parameter.arg.doc for parameter in part("model", kind).parameters())

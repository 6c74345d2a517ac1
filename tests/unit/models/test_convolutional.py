"""The convolutional models of OSAFL and W-HFL: exact sizes, starts, what is shared, and limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.models import FlatModel, cnn3x3, cnn_batchnorm, squeezenet
from fedradio.models.dropout import SeededDropout


def _images(model: FlatModel, n: int = 4) -> Tensor:
    return torch.randn(n, *model.shape, generator=Rng(7).torch())


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (squeezenet((3, 32, 33), 100), 773_796),
        (squeezenet((3, 64, 64), 100), 773_796),
        (squeezenet((1, 17, 17), 10), 773_796 - 90 * 513 - 2 * 9 * 64),
        (cnn3x3((3, 32, 33), 100), 1_026_772),
        (cnn3x3((1, 28, 28), 10), 320 + 18_496 + (64 * 49 + 1) * 240 + 2_410),
    ],
)
def test_sizes_without_norm_layers(model: FlatModel, parameters: int) -> None:
    assert model.shared.size == model.size == parameters
    assert model.apply(model.init(Rng(0)), _images(model)).shape == (4, model.classes)


def test_batch_norm_is_no_part_of_the_payload() -> None:
    """W-HFL: 307,498 go over the air, with scale and offset there are 308,394, with running statistics 309,290."""
    model = cnn_batchnorm((3, 32, 32), 10)
    assert model.shared.size == 307_498
    assert model.shared.size + model.local.size == 308_394
    assert model.size == 309_290
    assert all(field.name.startswith(("conv", "fc")) for field in model.shared.fields)
    assert all(field.name.startswith("norm") for field in (*model.local.fields, *model.buffers.fields))
    assert {field.name.split(".")[1] for field in model.buffers.fields} == {"running_mean", "running_var"}
    assert model.norms == "shared"
    assert cnn_batchnorm((3, 32, 32), 10, norms="local").norms == "local"


def test_dropout_of_the_papers() -> None:
    def shares(model: FlatModel) -> list[float]:
        return [layer.p for layer in model.module.modules() if isinstance(layer, SeededDropout)]

    assert shares(squeezenet((3, 32, 33), 100)) == [0.5]
    assert shares(squeezenet((3, 32, 33), 100, dropout=0.1)) == [0.1]
    assert shares(cnn_batchnorm((3, 32, 32), 10)) == [0.2, 0.3, 0.4]


@pytest.mark.parametrize(
    "make",
    [
        lambda: squeezenet((3, 20, 20), 5),
        lambda: cnn3x3((3, 9, 9), 5, width=4, features=6),
        lambda: cnn_batchnorm((3, 9, 9), 5, width=4),
    ],
)
def test_the_start_depends_on_the_generator_alone(make: Callable[[], FlatModel]) -> None:
    model, state = make(), torch.get_rng_state()
    row = model.init(Rng(1))
    assert torch.equal(row, make().init(Rng(1)))
    assert not torch.equal(row, model.init(Rng(2)))
    assert torch.isfinite(row).all()
    assert torch.equal(state, torch.get_rng_state())


def test_norm_layers_start_neutral() -> None:
    model = cnn_batchnorm((3, 9, 9), 5, width=4)
    for name, tensor in model.views(model.init(Rng(1))).items():
        if name.startswith("norm"):
            assert (tensor == (1.0 if name.endswith(("weight", "running_var")) else 0.0)).all()
        elif name.endswith("weight"):
            assert 0 < tensor.abs().max() <= 1 / math.sqrt(tensor[0].numel())


def test_squeezenet_keeps_the_size_of_its_signal() -> None:
    """Kaiming's start: features of unit inputs are of the order of 1 behind 17 ReLU layers, logits near 1 and alive."""
    model = squeezenet((3, 32, 33), 100)
    tensors = model.views(model.init(Rng(3)))
    assert (tensors.pop("last.bias") == 1).all()
    assert not any(tensor.any() for name, tensor in tensors.items() if name.endswith("bias"))
    assert tensors["last.weight"].std() == pytest.approx(0.01, rel=0.05)
    for name, tensor in tensors.items():
        if name.endswith("weight") and not name.startswith("last"):
            assert tensor.std() == pytest.approx(math.sqrt(2 / tensor[0].numel()), rel=0.1)
    module = model.module.eval()
    for name, parameter in module.named_parameters():
        parameter.data = tensors.get(name, torch.ones(100))
    with torch.no_grad():
        assert 0.1 < float(module.features(_images(model, 8)).std()) < 10  # type: ignore[operator]
        logits = module(_images(model, 8))
    assert (logits > 0).double().mean() > 0.99
    assert float(logits.mean()) == pytest.approx(1.0, abs=0.2)
    assert 0.1 < float(logits.std()) < 0.6


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: squeezenet((3, 16, 40), 10), "model"),
        (lambda: squeezenet((3168,), 10), "model"),
        (lambda: cnn3x3((3, 3, 9), 10), "model"),
        (lambda: cnn3x3((28, 28), 10), "model"),
        (lambda: cnn3x3((3, 4000, 4000), 10), "model"),
        (lambda: cnn_batchnorm((3, 7, 8), 10), "model"),
        (lambda: cnn_batchnorm((3, 32, 32), 10, dropout=(0.2,)), "model.dropout"),
        (lambda: cnn_batchnorm((3, 32, 32), 10, width=2048), "model"),
    ],
)
def test_what_cannot_be_built_is_an_error_of_the_spec(make: Callable[[], FlatModel], path: str) -> None:
    with pytest.raises(SpecError) as caught:
        make()
    assert caught.value.problems[0].path == path
    assert caught.value.problems[0].remedy


def test_the_smallest_images() -> None:
    for model in (squeezenet((1, 17, 17), 2), cnn3x3((1, 4, 4), 2), cnn_batchnorm((1, 8, 8), 2)):
        assert model.apply(model.init(Rng(0)), torch.zeros(1, *model.shape)).shape == (1, 2)


@pytest.mark.parametrize(
    "model", [squeezenet((3, 17, 18), 6), cnn_batchnorm((3, 9, 8), 6, width=4)], ids=["squeezenet", "cnn_batchnorm"]
)
def test_threads_do_not_meet(model: FlatModel) -> None:
    """Every thread has its own copy of the module: rows do not mix."""
    rows, x = [model.init(Rng(seed)) for seed in range(6)], _images(model)
    expected = [model.apply(row, x) for row in rows]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda row: model.apply(row, x), rows))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))

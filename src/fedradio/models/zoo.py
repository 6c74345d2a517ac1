"""The models of the four papers that every experiment starts from."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.models.checks import check_size
from fedradio.models.model import FlatModel

MAX_WIDTH = 65_536
MAX_DEPTH = 64


@register("model", "logistic")
def logistic(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    init: Annotated[Literal["zeros", "uniform"], Arg("start at zero, or uniform in +-1/sqrt(inputs)")] = "zeros",
) -> FlatModel:
    """One linear layer, ``z = W x + b``: convex, 7850 parameters on MNIST."""
    return _build(lambda: _dense_stack(shape, (), classes), shape, classes, zeros=init == "zeros")


@register("model", "mlp")
def mlp(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    hidden: Annotated[tuple[int, ...], Arg("widths of the hidden layers, input side first")] = (200,),
) -> FlatModel:
    """Linear layers with ReLU between them; inputs are flattened.

    43-512-256-256 has 219,648 parameters, 784-200-10 159,010, 3168-512-512-100 1,936,484.
    """
    if not 1 <= len(hidden) <= MAX_DEPTH or not all(1 <= width <= MAX_WIDTH for width in hidden):
        reason = f"needs 1 to {MAX_DEPTH} widths, each from 1 to {MAX_WIDTH:,}"
        raise SpecError(Problem("model.hidden", reason, "such as [200] or [512, 256]; kind logistic has none", hidden))
    return _build(lambda: _dense_stack(shape, hidden, classes), shape, classes)


@register("model", "cnn5x5")
def cnn5x5(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    padding: Annotated[
        Literal["valid", "same"], Arg("whether convolutions shrink the image by 4 or keep it")
    ] = "valid",
    width: Annotated[int, Arg("channels of the first convolution; the second has twice as many", ge=1, le=1024)] = 32,
    features: Annotated[int, Arg("width of the dense layer", ge=1, le=MAX_WIDTH)] = 512,
) -> FlatModel:
    """Convolutions 5x5-32 and 5x5-64, each pooled 2x2, then FC 512 and the classes; ReLU between.

    878,538 parameters on CIFAR-10, 582,026 on MNIST (``valid``). The maximum is taken before the ReLU: they commute
    exactly, and the ReLU then sees a quarter of the pixels.
    """
    sides = _image_sides(shape, padding)
    border = 2 if padding == "same" else 0
    flat = 2 * width * sides[0] * sides[1]

    def make() -> nn.Module:
        layers: list[tuple[str, nn.Module]] = [
            ("conv1", nn.Conv2d(shape[0], width, 5, padding=border)),
            ("pool1", nn.MaxPool2d(2)),
            ("relu1", nn.ReLU()),
            ("conv2", nn.Conv2d(width, 2 * width, 5, padding=border)),
            ("pool2", nn.MaxPool2d(2)),
            ("relu2", nn.ReLU()),
            ("flatten", nn.Flatten()),
            ("fc1", nn.Linear(flat, features)),
            ("relu3", nn.ReLU()),
            ("fc2", nn.Linear(features, classes)),
        ]
        return nn.Sequential(OrderedDict(layers))

    return _build(make, shape, classes)


def _image_sides(shape: Sequence[int], padding: str) -> tuple[int, int]:
    """Height and width after both convolutions and pools."""
    lost, smallest = (4, 16) if padding == "valid" else (0, 4)
    if len(shape) != 3 or min(shape[1:]) < smallest:
        reason = f"cnn5x5 with {padding} padding needs images [channels, height, width] of at least {smallest} pixels"
        raise SpecError(Problem("model", reason, "padding: same, or kind mlp", tuple(shape)))
    height, width = (((side - lost) // 2 - lost) // 2 for side in shape[1:])
    return height, width


def _dense_stack(shape: Sequence[int], hidden: Sequence[int], classes: int) -> nn.Module:
    widths = (math.prod(shape), *hidden, classes)
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _build(make: Callable[[], nn.Module], shape: Sequence[int], classes: int, zeros: bool = False) -> FlatModel:
    with torch.device("meta"):  # counts parameters without memory, and without torch's global generator
        module = make()
    check_size(sum(p.numel() for p in module.parameters()))
    return FlatModel(module.to_empty(device="cpu"), shape, classes, _zeros if zeros else _uniform)


def _zeros(model: FlatModel, _rng: Rng) -> Tensor:
    return torch.zeros(model.size)


def _uniform(model: FlatModel, rng: Rng) -> Tensor:
    """``U(-1/sqrt(fan_in), 1/sqrt(fan_in))`` for weights and biases, torch's default for linear and convolution layers
    (Kaiming uniform with ``a = sqrt(5)``), layer after layer from one generator."""
    generator = rng.torch()
    row = torch.empty(model.size)
    bound = 0.0
    for tensor in model.shared.views(row).values():
        if tensor.dim() > 1:  # a layer's weight comes before its bias, and gives both their bound
            bound = 1.0 / math.sqrt(math.prod(tensor.shape[1:]))
        tensor.uniform_(-bound, bound, generator=generator)
    return row

"""Convolutional networks: the CNNs of the papers and SqueezeNet 1.1."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import relu_

from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.models.dropout import SeededDropout
from fedradio.models.model import FlatModel, Norms
from fedradio.models.start import build, default_init, he

MAX_CHANNELS = 1024
MAX_FEATURES = 65_536


@register("model", "cnn5x5")
def cnn5x5(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    padding: Annotated[
        Literal["valid", "same"], Arg("valid: each convolution shrinks the image by 4 pixels; same: it keeps the size")
    ] = "valid",
    width: Annotated[
        int, Arg("channels of the first convolution; the second has twice as many", ge=1, le=MAX_CHANNELS)
    ] = 32,
    features: Annotated[int, Arg("width of the dense layer", ge=1, le=MAX_FEATURES)] = 512,
) -> FlatModel:
    """CNN: 5x5 convolutions with 32 and 64 channels, each max-pooled 2x2, then dense layers of 512 and the classes.

    878,538 parameters on CIFAR-10, 582,026 on MNIST (``valid``). Pooling comes before the ReLU: the two commute
    exactly, and the ReLU then processes a quarter of the pixels.
    """
    lost, smallest = (4, 16) if padding == "valid" else (0, 4)
    _check_image(f"cnn5x5 with {padding} padding", shape, smallest, "use padding: same, or kind mlp")
    sides = [((side - lost) // 2 - lost) // 2 for side in shape[1:]]
    return _two_convolutions(shape, classes, 5, padding, width, features, sides)


@register("model", "cnn3x3", paper="OSAFL, section V")
def cnn3x3(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    width: Annotated[
        int, Arg("channels of the first convolution; the second has twice as many", ge=1, le=MAX_CHANNELS)
    ] = 32,
    features: Annotated[int, Arg("width of the dense layer", ge=1, le=MAX_FEATURES)] = 240,
) -> FlatModel:
    """CNN: padded 3x3 convolutions with 32 and 64 channels, each max-pooled 2x2, then a dense layer of 240.

    1,026,772 parameters with 100 classes on inputs of 3 x 32 x 33. Pooling comes before the ReLU, as in cnn5x5.
    """
    _check_image("cnn3x3", shape, 4, "use kind mlp")
    sides = [side // 2 // 2 for side in shape[1:]]
    return _two_convolutions(shape, classes, 3, "same", width, features, sides)


@register("model", "squeezenet", paper="OSAFL, section V")
def squeezenet(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    dropout: Annotated[float, Arg("dropout rate of the last features during training", ge=0, lt=1)] = 0.5,
) -> FlatModel:
    """SqueezeNet 1.1: a convolution, eight fire modules, a 1x1 convolution to the classes, global average pooling.

    773,796 parameters with 100 classes on images with 3 channels of any size from 17 x 17 pixels. Weights are
    initialised uniformly in +-sqrt(6/inputs) and biases at zero: without norm layers, the signal would vanish in 18
    ReLU layers with the smaller initial weights of the other models. The last layer is initialised around 1 with
    standard deviation 0.01, so that its ReLU passes the logits of all classes; around 0, half of the classes would get
    no gradient.
    """
    _check_image("squeezenet", shape, 17, "use kind cnn3x3 or mlp")
    return build(lambda: SqueezeNet(shape[0], classes, dropout), shape, classes, _squeezenet_start)


@register("model", "cnn_batchnorm", paper="W-HFL, section V")
def cnn_batchnorm(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    width: Annotated[
        int, Arg("channels of the first pair of convolutions; each further pair doubles them", ge=1, le=MAX_CHANNELS)
    ] = 32,
    dropout: Annotated[tuple[float, ...], Arg("dropout rate after each pair", ge=0, lt=1)] = (0.2, 0.3, 0.4),
    norms: Annotated[Norms, Arg("whether norm layers stay on the client or are averaged alongside the payload")] = (
        "shared"
    ),
) -> FlatModel:
    """CNN: three pairs of 3x3 convolutions (32, 64, 128 channels) with batch norm, pooling and dropout.

    On CIFAR-10 the payload has 307,498 parameters; in addition there are 896 parameters of norm layers and as many
    running statistics. Pooling comes before the ReLU, as in cnn5x5.
    """
    _check_image("cnn_batchnorm", shape, 8, "use kind cnn3x3 or mlp")
    if len(dropout) != 3:
        raise SpecError(Problem("model.dropout", "needs one rate for each of the three pairs", "[0, 0, 0]", dropout))
    sides = [side // 8 for side in shape[1:]]

    def make() -> nn.Module:
        layers: list[tuple[str, nn.Module]] = []
        inputs = shape[0]
        for pair, share in enumerate(dropout, start=1):
            outputs = width * 2 ** (pair - 1)
            layers += [
                (f"conv{pair}a", nn.Conv2d(inputs, outputs, 3, padding=1)),
                (f"norm{pair}a", nn.BatchNorm2d(outputs)),
                (f"relu{pair}a", nn.ReLU(inplace=True)),
                (f"conv{pair}b", nn.Conv2d(outputs, outputs, 3, padding=1)),
                (f"norm{pair}b", nn.BatchNorm2d(outputs)),
                (f"pool{pair}", nn.MaxPool2d(2)),
                (f"relu{pair}b", nn.ReLU(inplace=True)),
                (f"drop{pair}", SeededDropout(share)),
            ]
            inputs = outputs
        layers += [("flatten", nn.Flatten()), ("fc", nn.Linear(inputs * sides[0] * sides[1], classes))]
        return nn.Sequential(OrderedDict(layers))

    return build(make, shape, classes, norms=norms)


class Fire(nn.Module):
    """Fire module: 1x1 convolution to ``squeeze`` channels, from these ``expand`` by 1x1 and as many by 3x3."""

    def __init__(self, inputs: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.expand1 = nn.Conv2d(squeeze, expand, 1)
        self.expand3 = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = relu_(self.squeeze(x))
        # a ReLU each: its backward pass makes its half of the gradient contiguous, which a convolution needs
        return torch.cat([relu_(self.expand1(x)), relu_(self.expand3(x))], dim=1)


class SqueezeNet(nn.Module):
    """SqueezeNet 1.1: ``x [n, channels, height, width] -> logits [n, classes]``; dropout comes after ``features``."""

    repeats_until = "features"

    def __init__(self, channels: int, classes: int, dropout: float) -> None:
        super().__init__()
        pool = partial(nn.MaxPool2d, 3, stride=2, ceil_mode=True)
        self.features = nn.Sequential(
            nn.Conv2d(channels, 64, 3, stride=2),
            pool(),  # before the ReLU, with which it commutes
            nn.ReLU(inplace=True),
            Fire(64, 16, 64),
            Fire(128, 16, 64),
            pool(),
            Fire(128, 32, 128),
            Fire(256, 32, 128),
            pool(),
            Fire(256, 48, 192),
            Fire(384, 48, 192),
            Fire(384, 64, 256),
            Fire(512, 64, 256),
        )
        self.dropout = SeededDropout(dropout)
        self.last = nn.Conv2d(512, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        return relu_(self.last(self.dropout(self.features(x)))).mean(dim=(2, 3))


def _squeezenet_start(model: FlatModel, rng: Rng) -> Tensor:
    convolutions = {name: he for name, layer in model.module.named_modules() if isinstance(layer, nn.Conv2d)}
    return default_init(model, rng, convolutions | {"last": _around_one})


def _around_one(_layer: nn.Module, own: Mapping[str, Tensor], generator: Generator) -> None:
    own["weight"].normal_(std=0.01, generator=generator)
    own["bias"].fill_(1.0)


def _two_convolutions(
    shape: Sequence[int], classes: int, kernel: int, padding: str, width: int, features: int, sides: Sequence[int]
) -> FlatModel:
    """Two pooled convolutions and two dense layers; ``sides`` are the height and width of the last feature maps."""
    border = kernel // 2 if padding == "same" else 0

    def make() -> nn.Module:
        layers: list[tuple[str, nn.Module]] = [
            ("conv1", nn.Conv2d(shape[0], width, kernel, padding=border)),
            ("pool1", nn.MaxPool2d(2)),
            ("relu1", nn.ReLU()),
            ("conv2", nn.Conv2d(width, 2 * width, kernel, padding=border)),
            ("pool2", nn.MaxPool2d(2)),
            ("relu2", nn.ReLU()),
            ("flatten", nn.Flatten()),
            ("fc1", nn.Linear(2 * width * sides[0] * sides[1], features)),
            ("relu3", nn.ReLU()),
            ("fc2", nn.Linear(features, classes)),
        ]
        return nn.Sequential(OrderedDict(layers))

    return build(make, shape, classes)


def _check_image(kind: str, shape: Sequence[int], smallest: int, remedy: str) -> None:
    if len(shape) != 3 or min(shape[1:]) < smallest:
        reason = f"{kind} needs images [channels, height, width] of at least {smallest} pixels"
        raise SpecError(Problem("model", reason, remedy, tuple(shape)))

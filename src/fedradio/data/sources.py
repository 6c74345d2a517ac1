"""Sources of images: each gives a :class:`Samples` of standardised ``x [n, channels, height, width]``, float32. Fetched
data sets stay uint8 in memory and are standardised batch by batch.

A source gets the number of clients (for sources whose clients produce their own samples) and its own generator.
``sample_bits`` counts 8 bits a value, as raw images have.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate

from fedradio.core.contracts import Samples, Scale
from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import group_rank
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.data import cache as store
from fedradio.data.catalog import Bytes, find

DIGITS_MEAN, DIGITS_STD = 0.30526, 0.37605
"""Mean and standard deviation of the 1797 embedded digits, as fractions of the brightest value 16."""

MAX_VALUES = 500_000_000
"""Most pixels of a synthetic data set, training and test together: 2 GB."""

TEMPLATE_GRID = 4
"""Side of the random grid that is enlarged smoothly to a class template."""


@register("source", "digits")
def digits(
    clients: int,
    rng: Rng,
    /,
    *,
    test_fraction: Annotated[float, Arg("fraction of every class held out as the test set", ge=0.01, le=0.99)] = 0.2,
) -> Samples:
    """1797 handwritten digits of 8x8 pixels that come with fedradio; nothing to download.

    Standardised with the mean and standard deviation of the whole set; the split is drawn from the seed, class by
    class.
    """
    images, labels = _embedded_digits()
    x = torch.from_numpy(images).float().div_(16).sub_(DIGITS_MEAN).div_(DIGITS_STD).unsqueeze(1)
    y = torch.from_numpy(labels).long()
    rank = group_rank(torch.from_numpy(rng.child("split").numpy().random(len(y))), y)
    test = rank < torch.round(test_fraction * torch.bincount(y))[y]
    return _samples(x[~test], y[~test], x[test], y[test], classes=10)


@register("source", "synthetic_images")
def synthetic_images(
    clients: int,
    rng: Rng,
    /,
    *,
    samples: Annotated[int, Arg("training samples", ge=1, le=1_000_000)] = 2000,
    test_samples: Annotated[int, Arg("test samples", ge=1, le=1_000_000)] = 500,
    classes: Annotated[int, Arg("number of equally frequent classes", ge=2, le=1000)] = 10,
    channels: Annotated[int, Arg("channels", ge=1, le=64)] = 1,
    height: Annotated[int, Arg("height", unit="pixels", ge=1, le=256)] = 8,
    width: Annotated[int, Arg("width", unit="pixels", ge=1, le=256)] = 8,
    noise: Annotated[
        float, Arg("standard deviation of the noise relative to that of the templates", ge=0, le=100)
    ] = 2.0,
    shift: Annotated[int, Arg("largest random shift along each axis, with wrap-around", ge=0, le=128)] = 0,
) -> Samples:
    """Synthetic images of any size: a smooth random template per class, shifted, plus white noise.

    ``x = (template[y] + noise * n) / sqrt(1 + noise^2)``, with templates of mean square 1 and standard normal ``n``.
    More noise and larger shifts make it harder.
    """
    total = samples + test_samples
    values = total * channels * height * width
    if values > MAX_VALUES:
        reason = f"{total} images of {channels}x{height}x{width} exceed {MAX_VALUES} values"
        raise SpecError(Problem("data.source.samples", reason, "use fewer samples or smaller images", samples))
    y = torch.from_numpy(rng.child("labels").numpy().permutation(total) % classes)
    x = _shifted(_templates(classes, (channels, height, width), rng.child("templates")), y, shift, rng.child("shift"))
    if noise > 0:
        white = torch.from_numpy(rng.child("noise").numpy().standard_normal(tuple(x.shape), dtype=np.float32))
        x = white.mul_(noise).add_(x).div_(math.sqrt(1 + noise**2))
    return _samples(x[:samples], y[:samples], x[samples:], y[samples:], classes)


@register("source", "synthetic_regression", paper="Friedman, Annals of Statistics, 1991, section 4.3")
def synthetic_regression(
    clients: int,
    rng: Rng,
    /,
    *,
    samples: Annotated[int, Arg("training samples", ge=1, le=1_000_000)] = 2000,
    test_samples: Annotated[int, Arg("test samples", ge=1, le=1_000_000)] = 500,
    features: Annotated[int, Arg("inputs; five of them matter", ge=5, le=1000)] = 10,
    noise: Annotated[float, Arg("standard deviation of the noise; 1 leaves 4 % of the variance", ge=0, le=100)] = 1.0,
) -> Samples:
    """Regression on Friedman's function of five uniform inputs: real values to predict, nothing to download.

    ``y = 10 sin(pi u_1 u_2) + 20 (u_3 - 1/2)^2 + 10 u_4 + 5 u_5 + noise n`` with ``u`` uniform on [0, 1] and standard
    normal ``n``. Inputs are ``x = sqrt(12) (u - 1/2)``; the values have mean 0 and deviation 1 on the training samples,
    so that an RMSE of 1 is that of the mean.
    """
    total, draws = samples + test_samples, rng.child("inputs").numpy()
    if total * features > MAX_VALUES:
        reason = f"{total} samples of {features} values exceed {MAX_VALUES} values"
        raise SpecError(Problem("data.source.samples", reason, "use fewer samples or features", samples))
    u = draws.random((total, features))
    y = friedman(u) + noise * rng.child("noise").numpy().standard_normal(total)
    mean, deviation = float(y[:samples].mean()), float(y[:samples].std()) or 1.0
    values = torch.from_numpy(((y - mean) / deviation).astype(np.float32))
    x = torch.from_numpy((math.sqrt(12.0) * (u - 0.5)).astype(np.float32))
    return Samples(x[:samples], values[:samples], x[samples:], values[samples:], 1, 32.0 * features)


def friedman(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Friedman's function ``[n]`` of ``u [n, 5 or more]``. By hand: 10 + 0 + 0 + 5 = 15 at (1/2, 1, 1/2, 0, 1)."""
    found: NDArray[np.float64] = 10.0 * np.sin(np.pi * u[:, 0] * u[:, 1]) + 20.0 * (u[:, 2] - 0.5) ** 2
    return found + 10.0 * u[:, 3] + 5.0 * u[:, 4]


@register("source", "mnist")
def mnist(
    clients: int,
    rng: Rng,
    /,
    *,
    samples: Annotated[int | None, Arg("use only this many training samples, drawn at random", ge=1, le=60_000)] = None,
) -> Samples:
    """MNIST: 60,000 + 10,000 handwritten digits of 28x28 pixels, standardised as ``(x/255 - .1307)/.3081``."""
    return _stored("mnist", samples, rng)


@register("source", "fashion_mnist")
def fashion_mnist(
    clients: int,
    rng: Rng,
    /,
    *,
    samples: Annotated[int | None, Arg("use only this many training samples, drawn at random", ge=1, le=60_000)] = None,
) -> Samples:
    """Fashion-MNIST: 60,000 + 10,000 images of clothing of 28x28 pixels, standardised as ``(x/255 - .2860)/.3530``."""
    return _stored("fashion_mnist", samples, rng)


@register("source", "cifar10")
def cifar10(
    clients: int,
    rng: Rng,
    /,
    *,
    samples: Annotated[int | None, Arg("use only this many training samples, drawn at random", ge=1, le=50_000)] = None,
) -> Samples:
    """CIFAR-10: 50,000 + 10,000 colour images of 32x32 pixels in ten classes, scaled as ``(x/255 - .5)/.25``."""
    return _stored("cifar10", samples, rng)


@register("source", "cifar100")
def cifar100(
    clients: int,
    rng: Rng,
    /,
    *,
    samples: Annotated[int | None, Arg("use only this many training samples, drawn at random", ge=1, le=50_000)] = None,
) -> Samples:
    """CIFAR-100: 50,000 + 10,000 colour images of 32x32 pixels in a hundred classes, scaled as ``(x/255 - .5)/.25``."""
    return _stored("cifar100", samples, rng)


@cache
def _embedded_digits() -> tuple[Bytes, Bytes]:
    """Images ``[1797, 8, 8]`` of values 0 to 16, and labels ``[1797]``: the test part of "Optical Recognition of
    Handwritten Digits" (E. Alpaydin, C. Kaynak, UCI Machine Learning Repository, 1998; CC BY 4.0)."""
    with np.load(Path(__file__).with_name("digits.npz"), allow_pickle=False) as arrays:
        return arrays["images"], arrays["labels"]


def _stored(name: str, samples: int | None, rng: Rng) -> Samples:
    """Samples of a fetched data set: the first ``samples`` of a random order, so that fewer are a subset of more."""
    dataset, arrays = find(name), store.load(name)
    x, y = arrays.train_x, arrays.train_y
    if samples is not None:
        chosen = rng.child("samples").numpy().permutation(len(x))[:samples]
        x, y = x[chosen], y[chosen]
    train, test = (torch.from_numpy(images) for images in (x, arrays.test_x))
    labels, test_labels = (torch.from_numpy(numbers).long() for numbers in (y, arrays.test_y))
    return _samples(train, labels, test, test_labels, dataset.classes, Scale(dataset.mean, dataset.std))


def _templates(classes: int, shape: tuple[int, int, int], rng: Rng) -> Tensor:
    """Smooth random images ``[classes, *shape]`` with mean square 1."""
    channels, height, width = shape
    coarse = (classes, channels, min(TEMPLATE_GRID, height), min(TEMPLATE_GRID, width))
    grid = torch.from_numpy(rng.numpy().standard_normal(coarse, dtype=np.float32))
    smooth = interpolate(grid, size=(height, width), mode="bilinear", align_corners=False)
    return smooth / smooth.square().mean(dim=(1, 2, 3), keepdim=True).sqrt()


def _shifted(templates: Tensor, y: Tensor, shift: int, rng: Rng) -> Tensor:
    """``x [n, *shape]``: the template of every label, rolled by up to ``shift`` pixels along both axes."""
    if shift == 0:
        return templates[y]
    height, width = templates.shape[-2:]
    offset = torch.from_numpy(rng.numpy().integers(-shift, shift, size=(2, len(y)), endpoint=True))
    rows = (torch.arange(height) - offset[0, :, None]) % height  # [n, height]
    columns = (torch.arange(width) - offset[1, :, None]) % width  # [n, width]
    channel = torch.arange(templates.shape[1])
    return templates[y[:, None, None, None], channel[:, None, None], rows[:, None, :, None], columns[:, None, None, :]]


def _samples(x: Tensor, y: Tensor, test_x: Tensor, test_y: Tensor, classes: int, scale: Scale | None = None) -> Samples:
    return Samples(x, y, test_x, test_y, classes, 8.0 * math.prod(x.shape[1:]), scale)

"""Dense networks: logistic regression and multilayer perceptrons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

from torch import nn

from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.models.model import FlatModel
from fedradio.models.start import build, default_init, zeros

MAX_WIDTH = 65_536
MAX_DEPTH = 64


@register("model", "logistic")
def logistic(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    init: Annotated[
        Literal["zeros", "uniform"], Arg("initial weights: zero, or uniform in +-1/sqrt(inputs)")
    ] = "zeros",
) -> FlatModel:
    """Logistic regression, one linear layer ``z = W x + b``: a convex problem, with 7850 parameters on MNIST."""
    return build(lambda: _dense_stack(shape, (), classes), shape, classes, zeros if init == "zeros" else default_init)


@register("model", "mlp")
def mlp(
    shape: tuple[int, ...],
    classes: int,
    /,
    *,
    hidden: Annotated[tuple[int, ...], Arg("widths of the hidden layers, input side first")] = (200,),
) -> FlatModel:
    """Multilayer perceptron: linear layers with ReLU between them; inputs are flattened.

    43-512-256-256 has 219,648 parameters, 784-200-10 159,010, 3168-512-512-100 1,936,484.
    """
    if not 1 <= len(hidden) <= MAX_DEPTH or not all(1 <= width <= MAX_WIDTH for width in hidden):
        reason = f"needs 1 to {MAX_DEPTH} widths, each from 1 to {MAX_WIDTH:,}"
        raise SpecError(
            Problem(
                "model.hidden", reason, "such as [200] or [512, 256]; for no hidden layer use kind logistic", hidden
            )
        )
    return build(lambda: _dense_stack(shape, hidden, classes), shape, classes)


def _dense_stack(shape: Sequence[int], hidden: Sequence[int], classes: int) -> nn.Module:
    widths = (math.prod(shape), *hidden, classes)
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])

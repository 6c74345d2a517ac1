"""Construction of registered networks and initialisation of their parameters from the run's generators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Generator, Tensor, nn

from fedradio.core.rng import Rng
from fedradio.models.checks import check_size
from fedradio.models.model import NORMS, FlatModel, Norms

Fill = Callable[[nn.Module, Mapping[str, Tensor], Generator], None]
"""Initialises the tensors of one layer, given by their names inside the layer."""


def build(
    make: Callable[[], nn.Module],
    shape: Sequence[int],
    classes: int,
    initial: Callable[[FlatModel, Rng], Tensor] | None = None,
    norms: Norms = "local",
) -> FlatModel:
    """Flat model of ``make()``, refused if too large; its first row comes from ``initial``, or :func:`default_init`."""
    with torch.device("meta"):  # counts parameters without memory, and without torch's global generator
        module = make()
    check_size(sum(p.numel() for p in module.parameters()))
    return FlatModel(_with_memory(module), shape, classes, initial or default_init, norms)


def _with_memory(module: nn.Module) -> nn.Module:
    """The module with uninitialised tensors on the CPU. As ``to_empty``, which imports a second of symbolic algebra."""
    for layer in module.modules():
        for name, parameter in layer.named_parameters(recurse=False):
            empty = torch.empty(parameter.shape, dtype=parameter.dtype)
            setattr(layer, name, nn.Parameter(empty, requires_grad=parameter.requires_grad))
        for name, buffer in layer.named_buffers(recurse=False):
            setattr(layer, name, torch.empty(buffer.shape, dtype=buffer.dtype))
    return module


def zeros(model: FlatModel, _rng: Rng) -> Tensor:
    """Initial row of zeros."""
    return torch.zeros(model.size)


def default_init(model: FlatModel, rng: Rng, special: Mapping[str, Fill] | None = None) -> Tensor:
    """Initial row ``[D]``, layer by layer from one generator; ``special`` initialises layers by name differently.

    As in torch: ``U(-1/sqrt(n), 1/sqrt(n))`` for weights and biases, ``n`` the inputs of a unit of linear and
    convolution layers (Kaiming uniform with ``a = sqrt(5)``) and the hidden units of an LSTM; ``N(0, 1)`` for
    embeddings; scale 1 and offset 0, running mean 0 and variance 1 for norm layers.
    """
    generator = rng.torch()
    row = torch.empty(model.size)
    views = model.views(row)
    for name, layer in model.module.named_modules():
        prefix = f"{name}." if name else ""
        own = {leaf: views[prefix + leaf] for leaf in (*layer._parameters, *layer._buffers) if prefix + leaf in views}
        if own:
            (special or {}).get(name, _fill)(layer, own, generator)
    return row


def he(_layer: nn.Module, own: Mapping[str, Tensor], generator: Generator) -> None:
    """He initialisation: weights ``U(-sqrt(6/n), sqrt(6/n))``, ``n`` the inputs of a unit, which keeps the variance
    through ReLUs; biases 0."""
    bound = math.sqrt(6.0 / own["weight"][0].numel())
    own["weight"].uniform_(-bound, bound, generator=generator)
    own["bias"].zero_()


def _fill(layer: nn.Module, own: Mapping[str, Tensor], generator: Generator) -> None:
    if isinstance(layer, NORMS):
        for name, tensor in own.items():
            tensor.fill_(1.0 if name in ("weight", "running_var") else 0.0)
    elif isinstance(layer, nn.Embedding):
        own["weight"].normal_(generator=generator)
    else:
        inputs = layer.hidden_size if isinstance(layer, nn.LSTM) else own["weight"][0].numel()
        bound = 1.0 / math.sqrt(inputs)
        for tensor in own.values():
            tensor.uniform_(-bound, bound, generator=generator)

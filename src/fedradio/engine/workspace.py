"""Buffers of the dense kernel: parameters, activations and gradients of a group of clients, one set per thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.params import Field
from fedradio.engine.layers import Layer
from fedradio.engine.update import Parameter

MOST_VIEWS = 256
"""Most cached views, of a few kilobytes each; a cohort of uneven batches could ask for any number of shapes."""


@dataclass(frozen=True)
class LayerView:
    """Buffers of one layer for ``k`` clients with ``b`` samples each; without the client axis if ``k = 1``.

    ``z [k, b, out]`` are its outputs and ``g [k, b, out]`` their gradients; ``z_t`` and ``g_t`` are the same memory
    with the last two axes exchanged. Where ``class_major``, the latter are the contiguous ones and biases are columns.
    """

    weight: Parameter
    bias: Parameter | None
    w_t: Tensor
    z: Tensor
    z_t: Tensor
    g: Tensor
    g_t: Tensor
    relu: bool
    class_major: bool


@dataclass(frozen=True)
class LayerBuffers:
    """Buffers of all layers, and constants ``[k, b, 1]`` and ``[k, 1, b]``: 1 for sums over samples, -1 for labels."""

    layers: tuple[LayerView, ...]
    ones: Tensor
    ones_t: Tensor
    minus: Tensor
    minus_t: Tensor


class Workspace:
    """Memory for ``clients`` clients with batches of ``batch``; ``names`` are the tensors of ``Parameter`` in use."""

    def __init__(
        self, layers: Sequence[Layer], clients: int, batch: int, names: Sequence[str], class_major: bool, like: Tensor
    ) -> None:
        def room(*shape: int) -> Tensor:
            return torch.empty(shape, dtype=like.dtype, device=like.device)

        self.layers = layers
        self.clients = clients
        self.class_major = class_major
        fields = [field for layer in layers for field in layer.fields]
        self.params = {field: {name: room(clients, field.size) for name in ("w", *names)} for field in fields}
        self._z = [room(clients * batch * layer.outputs) for layer in layers]
        self._g = [room(clients * batch * layer.outputs) for layer in layers]
        self._like = like.new_empty(0)
        self._views: dict[tuple[int, int], LayerBuffers] = {}

    def view(self, k: int, b: int) -> LayerBuffers:
        """Buffers of the first ``k`` clients for ``b`` samples each; the views are cached."""
        if (k, b) not in self._views:
            if len(self._views) >= MOST_VIEWS:
                self._views.clear()
            layers = tuple(self._layer(i, k, b) for i in range(len(self.layers)))
            ones = self._like.new_ones(k * b)
            shapes = ((k, b, 1), (k, 1, b))
            constants = [_squeeze(values.view(shape)) for values in (ones, -ones) for shape in shapes]
            self._views[k, b] = LayerBuffers(layers, *constants)
        return self._views[k, b]

    def _layer(self, i: int, k: int, b: int) -> LayerView:
        layer = self.layers[i]
        flipped = self.class_major and i == len(self.layers) - 1
        z, z_t = _pair(self._z[i], k, b, layer.outputs, flipped)
        g, g_t = _pair(self._g[i], k, b, layer.outputs, flipped)
        weight = self._parameter(layer.weight, k, layer.weight.shape)
        vector = (layer.outputs, 1) if flipped else (1, layer.outputs)
        bias = None if layer.bias is None else self._parameter(layer.bias, k, vector)
        return LayerView(weight, bias, weight.w.mT, z, z_t, g, g_t, layer.relu, flipped)

    def _parameter(self, field: Field, k: int, shape: Sequence[int]) -> Parameter:
        return Parameter(**{name: _squeeze(rows[:k].view(k, *shape)) for name, rows in self.params[field].items()})


def _pair(flat: Tensor, k: int, b: int, outputs: int, flipped: bool) -> tuple[Tensor, Tensor]:
    """``([k, b, out], [k, out, b])`` views of one buffer, the second one contiguous if ``flipped``."""
    used = flat[: k * b * outputs]
    if flipped:
        by_class = _squeeze(used.view(k, outputs, b))
        return by_class.mT, by_class
    by_sample = _squeeze(used.view(k, b, outputs))
    return by_sample, by_sample.mT


def _squeeze(stack: Tensor) -> Tensor:
    """A stack of one matrix without its first axis: mm is faster than bmm."""
    return stack[0] if len(stack) == 1 else stack

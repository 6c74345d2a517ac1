"""The first dense layer in coordinates, where all inputs of a source lie in a small space.

With orthonormal rows ``Q [r, D]`` that span all inputs, ``x = c Q`` and ``W x = (W Q^T) c``. The gradient of ``W`` is
``(G^T c) Q``, so that a layer trained from ``W_0`` stays at ``W_0 + (V - V_0) Q`` with ``V = W Q^T``: of SGD, momentum
from 0 and the proximal term, none leaves the space. ``V`` is trained, and the change is expanded at the end.

By hand: ``D = 2``, ``Q = (.6, .8)``, ``W_0 = (1, 1)``: ``V_0 = 1.4``. The input ``c = 5`` is ``x = (3, 4)``; a gradient
``G = 1`` and a rate of .1 give ``V - V_0 = -.5`` and the change ``(-.3, -.4) = -.1 G x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor
from torch.nn.functional import linear

from fedradio.core.contracts import EvalJob, Fetch, Spanned
from fedradio.core.params import Field
from fedradio.engine.layers import Layer, dense_layers
from fedradio.engine.local import Coordinates, Training

PROJECT = True
"""Whether coordinates are used; tests and benchmarks compare both ways."""

FEW = 0.25
"""Most dimensions of the space that inputs span, in units of the dimensions of an input."""


@dataclass(frozen=True)
class InSpace:
    """A fetch of coordinates ``[*index, r]`` in place of inputs."""

    fetch: Spanned

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.fetch.coordinates(index), self.fetch.labels(index)

    def key(self, index: Tensor) -> Tensor:
        return self.fetch.key(index)

    def labels(self, index: Tensor) -> Tensor:
        return self.fetch.labels(index)


def in_space(fetch: Fetch) -> InSpace:
    """The fetch of coordinates in place of inputs."""
    assert isinstance(fetch, Spanned)
    return InSpace(fetch)


def spanned(fetch: Fetch, layers: Sequence[Layer]) -> Spanned | None:
    """The fetch, if its inputs span a small space and the first layer holds most of the parameters."""
    if not PROJECT or not isinstance(fetch, Spanned):
        return None
    parameters, inputs = sum(field.size for layer in layers for field in layer.fields), layers[0].inputs
    worthwhile = fetch.rank <= FEW * inputs and 2 * layers[0].weight.size > parameters
    return fetch if worthwhile else None


def in_coordinates(training: Training, layers: Sequence[Layer]) -> Training:
    """The training with its first layer in coordinates, or the same, where that is not exact or not worthwhile."""
    rule, start = training.rule, training.start
    fetch = spanned(training.fetch, layers)
    if fetch is None or rule.optimiser != "sgd" or start.shift is not None or training.memory:
        return training
    basis = fetch.basis().to(start.w)
    wide = layers[0].weight
    field = Field(wide.name, (wide.shape[0], len(basis)), wide.offset)
    narrow = (replace(layers[0], weight=field), *layers[1:])
    values = start.w.new_zeros(len(start.w), field.size)
    for row in {group for group, n in zip(start.group.tolist(), training.updates, strict=True) if n > 0}:
        values[row] = _project(start.w[row], wide, basis).flatten()
    return replace(training, fetch=InSpace(fetch), coordinates=Coordinates(basis, wide, narrow, values))


class Narrow:
    """A dense network for all, in coordinates: ``[n, r] -> [n, classes]``."""

    def __init__(self, row: Tensor, layers: Sequence[Layer], basis: Tensor) -> None:
        first = layers[0]
        weights = [_project(row, first.weight, basis), *(_values(row, layer.weight) for layer in layers[1:])]
        biases = [None if layer.bias is None else _values(row, layer.bias) for layer in layers]
        self._layers = list(zip(weights, biases, [layer.relu for layer in layers], strict=True))

    def __call__(self, h: Tensor) -> Tensor:
        for weight, bias, relu in self._layers:
            h = linear(h, weight, bias)
            h = h.relu_() if relu else h
        return h


def narrow_members(job: EvalJob) -> list[Narrow] | None:
    """Networks of an ensemble's members in coordinates; None where members are not one for all, or inputs not few."""
    layers, members = dense_layers(job.model), job.ensemble.members
    if layers is None or job.local is not None or any(len(member) > 1 for member in members):
        return None
    fetch = spanned(job.test.fetch, layers)
    if fetch is None:
        return None
    return [Narrow(member[0], layers, fetch.basis().to(member)) for member in members]


def _project(row: Tensor, field: Field, basis: Tensor) -> Tensor:
    """``V = W Q^T [out, r]`` of the first layer of a row."""
    return _values(row, field) @ basis.T


def _values(row: Tensor, field: Field) -> Tensor:
    return row[field.span].view(field.shape)

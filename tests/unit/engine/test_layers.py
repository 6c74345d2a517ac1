"""Stacks of linear layers are recognised, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from support.reference import Reference
from support.training import assert_same
from torch import nn

from fedradio.core.contracts import LocalRule
from fedradio.engine import Engine
from fedradio.engine.layers import dense_layers
from fedradio.models import FlatModel, wrap

EXACT = 1e-9


SGD = LocalRule(lr=0.1)


Make = Callable[..., Any]


some = partial(pytest.mark.parametrize, indirect=True)


@some("model", ["logistic", "mlp", "mlp2", "dense_odd"])
def test_dense_stacks_are_recognised(model: FlatModel) -> None:
    assert dense_layers(model) is not None


@some("model", ["cnn5x5", "normed", "residual", "reader"])
def test_other_networks_are_not_dense(model: FlatModel) -> None:
    assert dense_layers(model) is None


def test_nested_stacks() -> None:
    nested = nn.Sequential(nn.Identity(), nn.Sequential(nn.Flatten(), nn.Linear(4, 3)), nn.ReLU(), nn.Linear(3, 2))
    layers = dense_layers(wrap(nested, (2, 2), 2))
    assert layers is not None
    assert [(layer.inputs, layer.outputs, layer.relu) for layer in layers] == [(4, 3, True), (3, 2, False)]


def test_what_only_looks_dense(cohort: Make) -> None:
    twice = nn.Linear(4, 4)
    hooked = nn.Linear(4, 4)
    hooked.register_forward_hook(lambda _module, _x, z: 2 * z)
    for module, shape in [
        (nn.Sequential(twice, nn.ReLU(), twice), (4,)),
        (nn.Sequential(hooked), (4,)),
        (nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()), (4,)),
        (nn.Sequential(nn.Linear(4, 4), nn.Flatten(), nn.Linear(8, 4)), (2, 4)),
    ]:
        model = wrap(module, shape, 4)
        assert dense_layers(model) is None
        work = cohort(model, SGD)
        assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)

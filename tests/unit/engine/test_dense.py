"""The kernel for stacks of linear layers: groups of clients at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.reference import Reference
from support.training import assert_same

from fedradio.core.contracts import LocalRule
from fedradio.engine import Engine
from fedradio.engine.dense import Dense
from fedradio.engine.layers import dense_layers
from fedradio.engine.local import prepare
from fedradio.models import mlp

EXACT = 1e-9


SGD = LocalRule(lr=0.1)


Make = Callable[..., Any]


@pytest.mark.parametrize("batch", [1, 6])
def test_full_batches_in_large_stacks(cohort: Make, batch: int) -> None:
    """More clients than a stack holds, equal work: every group is a slice, the last one is smaller."""
    work = cohort(mlp((12,), 5, hidden=(16,)), SGD, updates=[4] * 70, ragged=False, batch=batch)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


def test_buffers_grow_with_the_group_and_are_kept(cohort: Make) -> None:
    """The bits of a group do not depend on what was trained in its buffers before."""
    model = mlp((12,), 5, hidden=(16,))
    layers = dense_layers(model)
    assert layers is not None
    kernel = Dense(layers)
    training = prepare(cohort(model, SGD, updates=[4] * 5).job)
    kernel.train(training, [3, 4])
    small = training.delta[3:].clone()
    space = kernel.workspace(training, 1)
    assert space.clients == 2
    kernel.train(training, [0, 1, 2])
    assert kernel.workspace(training, 2).clients == 3
    kernel.train(training, [3, 4])
    assert torch.equal(training.delta[3:], small)

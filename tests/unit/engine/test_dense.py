"""The kernel for stacks of linear layers: groups of clients at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.training import assert_same
from torch import nn

from fedradio.core.contracts import LocalRule
from fedradio.engine import Engine, Reference
from fedradio.engine.dense import Dense
from fedradio.engine.layers import dense_layers
from fedradio.engine.local import prepare
from fedradio.models import mlp, wrap

EXACT = 1e-9


SGD = LocalRule(lr=0.1)


Make = Callable[..., Any]


@pytest.mark.parametrize("batch", [1, 6])
def test_full_batches_in_large_stacks(cohort: Make, batch: int) -> None:
    """More clients than a stack holds, equal work: every group is a slice, the last one is smaller."""
    work = cohort(mlp((12,), 5, hidden=(16,)), SGD, updates=[4] * 70, ragged=False, batch=batch)
    assert_same(work.run(Engine(1)), work.run(Reference()), EXACT)


def test_stacks_follow_the_size_of_the_work(cohort: Make) -> None:
    sizes = {}
    for width, batch in [(16, 6), (2000, 6), (2000, 1000)]:
        model = wrap(nn.Sequential(nn.Linear(100, width), nn.ReLU(), nn.Linear(width, 10)), (100,), 10)
        work = cohort(model, SGD, dtype=torch.float32, updates=[1], ragged=False, batch=batch)
        job = prepare(model, work.rule, 0, work.start, work.batches, work.updates, work.rng)
        layers = dense_layers(model)
        assert layers is not None
        sizes[width, batch] = Dense(layers).stack(job)
    assert sizes == {(16, 6): 64, (2000, 6): 4, (2000, 1000): 1}

"""The weight of own models, learned from held-out labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar

from fedradio.algorithms.mixture_weights import learned_weights, maximise
from fedradio.core.contracts import Ensemble, TestSet
from fedradio.models.zoo import logistic


def test_by_hand() -> None:
    """2b = 1/2 + 3b/(2b+1), so 4b^2 - 2b - 1/2 = 0."""
    found = maximise(torch.tensor([0.9]).log(), torch.tensor([0.3]).log(), 0.5)
    assert found == pytest.approx((1 + math.sqrt(3)) / 4, abs=1e-6)


def test_equal_models_leave_the_weight_where_it_was() -> None:
    same = torch.rand(20).log()
    assert maximise(same, same, 0.75) == pytest.approx(0.75, abs=1e-9)


@pytest.mark.parametrize("prior", [0.1, 0.5, 0.9])
def test_it_maximises_the_penalised_likelihood(prior: float) -> None:
    """sum_n log(b q_n + (1-b) h_n) + b_0 log b + (1-b_0) log(1-b), by a search on the interval."""
    generator = np.random.default_rng(3)
    q, h = generator.uniform(0.01, 1, 30), generator.uniform(0.01, 1, 30)

    def cost(b: float) -> float:
        return -float(np.log(b * q + (1 - b) * h).sum() + prior * np.log(b) + (1 - prior) * np.log(1 - b))

    best = minimize_scalar(cost, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-10}).x
    assert maximise(torch.tensor(q).log(), torch.tensor(h).log(), prior) == pytest.approx(best, abs=1e-5)


def test_impossible_labels_of_one_model_do_not_break_it() -> None:
    found = maximise(torch.tensor([-1e4, -1e4]), torch.tensor([0.0, 0.0]), 0.75)
    assert found == pytest.approx(0.75 / 3, abs=1e-6)


def test_of_several_clients_on_their_own_samples() -> None:
    """Client 0 has a perfect own model, client 1 a useless one, client 2 no samples."""
    model = logistic((2,), 2)
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    y = torch.tensor([0, 1, 0])
    rows = torch.zeros(3, model.shared.size)
    for row, sign in zip(rows, (20.0, -20.0), strict=False):
        next(view for view in model.shared.views(row).values() if view.dim() == 2).copy_(sign * torch.eye(2))
    group = torch.tensor([0, 0, 0, 1, 1, 1])
    held = TestSet(torch.arange(3).repeat(2), group, 3, True, lambda index: (x[index], y[index]))
    ensemble = Ensemble((rows, torch.zeros(1, model.shared.size)), (0.5, 0.5))
    found = learned_weights(model, ensemble, held, workers=1)
    assert torch.equal(found, learned_weights(model, ensemble, held, workers=2))
    assert found[0] > 0.7
    assert found[1] < 0.3
    assert found[2] == 0.5

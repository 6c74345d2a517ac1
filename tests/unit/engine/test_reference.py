"""The reference loop itself, by hand; evaluation against it."""

from __future__ import annotations

import math

import pytest
import torch
from support.reference import Reference
from torch import Tensor, nn

from fedradio.core.contracts import Batches, Ensemble, EvalJob, LocalRule, Picks, Start, TestSet, TrainJob
from fedradio.core.rng import Rng
from fedradio.engine import Engine
from fedradio.models import FlatModel, logistic, mlp, wrap


def test_one_step_of_one_sample_by_hand() -> None:
    """Logistic regression from zero: p = (1/2, 1/2), so the step is -lr*(p - onehot) x^T."""
    model = logistic((2,), 2)
    x, y = torch.tensor([[3.0, -1.0]]), torch.tensor([1])
    batches = Batches(
        Picks(torch.zeros(1, 1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.long)), None, lambda i: (x[i], y[i])
    )
    start = Start(model.init(Rng(0))[None], torch.tensor([0]))
    for backend in (Engine(1), Reference()):
        job = TrainJob(model, LocalRule(lr=0.2), 0, start, batches, torch.tensor([1]), Rng(0))
        trained = backend.train(job, [[0]])
        w, b = model.shared.views(trained.delta[0]).values()
        torch.testing.assert_close(w, torch.tensor([[-0.3, 0.1], [0.3, -0.1]]))
        torch.testing.assert_close(b, torch.tensor([-0.1, 0.1]))
        torch.testing.assert_close(trained.loss, torch.tensor([2.0]).log())


def rows(model: FlatModel, n: int) -> Tensor:
    return torch.stack([model.init(Rng(i)) for i in range(n)])


def test_an_evaluation_by_hand() -> None:
    """Logits (x, 0): the samples 0 and log 3 have the probabilities (1/2, 1/2) and (3/4, 1/4). Label 1 of the first
    comes second of equals; label 0 of the second is the likeliest."""
    model = logistic((1,), 2)
    x, y = torch.tensor([[1.0], [3.0]]).log(), torch.tensor([1, 0])
    test = TestSet(torch.arange(2), torch.tensor([0, 1]), 2, True, lambda i: (x[i], y[i]))
    job = EvalJob(model, Ensemble((torch.tensor([[1.0, 0.0, 0.0, 0.0]]),)), test, None, top=2)
    for backend in (Engine(1), Reference()):
        scores = backend.evaluate(job)
        assert scores.group_top.tolist() == [[0.0, 1.0], [1.0, 1.0]]
        assert (scores.accuracy, scores.top.tolist()) == (0.5, [0.5, 1.0])
        assert scores.loss == pytest.approx(math.log(2.0 * 4 / 3) / 2, rel=1e-6)


@pytest.mark.parametrize("per_client", [True, False])
@pytest.mark.parametrize("personal", [True, False])
def test_evaluation_equals_the_reference(per_client: bool, personal: bool) -> None:
    """Two members with weights of their own, norm layers, and a group without samples."""
    net = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 4))
    model = wrap(net, (6,), 4) if personal else mlp((6,), 4, hidden=(8,))
    d, g = model.shared.size, Rng(3).torch()
    x, y = torch.randn(30, 6, generator=g), torch.randint(4, (30,), generator=g)
    group = torch.tensor([0] * 9 + [1] * 4 + [3] * 7)
    test = TestSet(torch.randperm(30, generator=g)[:20], group, 4, per_client, lambda i: (x[i], y[i]))
    own = rows(model, 4)
    members = (rows(model, 1)[:, :d], own[:, :d]) if personal else (rows(model, 1),)
    weights = (torch.tensor([0.1, 0.5, 0.9, 1.0]), torch.tensor([0.9, 0.5, 0.1, 0.0])) if personal else (1.0,)
    local = own[:, d:].abs() if personal else None
    job = EvalJob(model, Ensemble(members, weights), test, local, top=3)
    got, want = Engine(2).evaluate(job), Reference().evaluate(job)
    for name in ("group_accuracy", "group_top", "top"):
        torch.testing.assert_close(getattr(got, name), getattr(want, name), rtol=1e-5, atol=1e-7, equal_nan=True)
    assert got.accuracy == pytest.approx(want.accuracy)
    assert got.loss == pytest.approx(want.loss, rel=1e-5)

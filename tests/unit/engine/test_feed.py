"""Mini-batches of a loss: labelled before unlabelled samples, pseudo-labels of the received model."""

from __future__ import annotations

import math

import pytest
import torch

from fedradio.core.contracts import Batches, LocalRule, Picks, Start, TrainJob
from fedradio.core.rng import Rng
from fedradio.engine.feed import Feed
from fedradio.engine.local import Training, prepare
from fedradio.losses.fedcpsl import FedCpslLoss, targets
from fedradio.models import FlatModel, logistic

X = torch.tensor([[1.0], [-1.0], [2.0], [0.0]])
Y = torch.tensor([0, 1, 1, 0])


def training_of(model: FlatModel, loss: FedCpslLoss, w: list[float]) -> Training:
    """Two clients with two updates and one: samples 0 and 1 have labels, 2 and 3 have none. What was drawn for a second
    update of client 1 must not count."""
    lit = Picks(torch.tensor([[[0], [1]], [[1], [0]]]), torch.tensor([[1, 1], [1, 0]]))
    dark = Picks(torch.tensor([[[2, 3], [2, 2]], [[3, 3], [2, 2]]]), torch.tensor([[2, 1], [1, 2]]))
    start = Start(torch.tensor([w]), torch.tensor([0, 0]))
    rule = LocalRule(lr=0.1, batch=1, loss=loss)
    batches = Batches(lit, dark, lambda index: (X[index], Y[index]))
    return prepare(TrainJob(model, rule, 0, start, batches, torch.tensor([2, 1]), Rng(0)))


def test_batches_and_pseudo_labels_by_hand() -> None:
    """``z = (x, 0)`` and ``alpha_p = alpha_r``: nu = softmax(z), so (e^2, 1)/(e^2 + 1) of x = 2 and (1, 1)/2 of 0."""
    model = logistic((1,), 2)
    training = training_of(model, FedCpslLoss(alpha_p=0.2, alpha_r=0.2, unlabelled_batch=2), [1.0, 0.0, 0.0, 0.0])
    assert training.part is not None
    feed = Feed(model, training, training.part, [0, 1])
    found = feed(0, 2)
    assert found is not None
    x, to = found[0], targets(FedCpslLoss(alpha_p=0.2, alpha_r=0.2), found[1])
    assert x.squeeze(-1).tolist() == [[1.0, 2.0, 0.0], [-1.0, 0.0, 0.0]]
    e = math.exp(2)
    assert to.label[0].flatten().tolist() == pytest.approx([1, 0, e / (e + 1), 1 / (e + 1), 0.5, 0.5])
    assert to.label[1, :2].tolist() == [[0, 1], [0.5, 0.5]]
    alone = feed(1, 1)
    assert alone is not None
    assert alone[0].squeeze(-1).tolist() == [-1.0, 2.0]
    # client 0 meets sample 2 twice, whose label 1 is missed, and sample 3 once, where (1/2, 1/2) points at label 0
    torch.testing.assert_close(training.part.hits, torch.tensor([1 / 3, 1.0]))


def test_nothing_pulls_without_alpha_p() -> None:
    model = logistic((1,), 2)
    training = training_of(model, FedCpslLoss(alpha_r=0.2, unlabelled_batch=2), [1.0, 0.0, 0.0, 0.0])
    assert training.part is not None
    found = Feed(model, training, training.part, [0, 1])(0, 2)
    assert found is not None
    assert bool((found[1].targets == 0.5).all())
    assert bool(training.part.hits.isnan().all())

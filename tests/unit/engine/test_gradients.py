"""Loss and gradient of real models on samples."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from fedradio.core.rng import Rng
from fedradio.engine.gradients import gradient, squared_norm
from fedradio.models import wrap
from fedradio.models.zoo import logistic, mlp

DRAW = torch.Generator().manual_seed(5)


def test_logistic_regression_by_hand() -> None:
    """Two classes, w = 0: the loss is log 2, and x = (1, 2) with label 0 pulls by (h - y) x: -x/2 and x/2, the same
    for the biases."""
    model = logistic((2,), 2)
    loss, found = gradient(model, torch.zeros(model.size), torch.tensor([[1.0, 2.0]]), torch.tensor([0]))
    views = model.shared.views(found)
    assert loss == pytest.approx(0.693147, abs=1e-6)
    assert [views[name].tolist() for name in views] == [[[-0.5, -1.0], [0.5, 1.0]], [-0.5, 0.5]]
    assert float(squared_norm(found)) == pytest.approx(3.0)


def test_the_gradient_is_autograds_for_any_chunk() -> None:
    model = mlp((5,), 3, hidden=(7,))
    row = model.init(Rng(1))
    x, y = torch.randn(50, 5, generator=DRAW), torch.randint(0, 3, (50,), generator=DRAW)
    model.module.load_state_dict(model.shared.views(row))
    wanted_loss = cross_entropy(model.module(x), y)
    wanted = torch.cat([g.flatten() for g in torch.autograd.grad(wanted_loss, list(model.module.parameters()))])
    for chunk in (7, 50, 1000):
        loss, found = gradient(model, row, x, y, chunk)
        assert loss == pytest.approx(float(wanted_loss.detach()), rel=1e-5)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)
    assert not row.requires_grad
    loss, found = gradient(model, row, x[:0], y[:0])
    assert (loss, float(found.abs().sum())) == (0.0, 0.0)


def test_norm_layers_are_held_at_the_values_of_the_row() -> None:
    """Running variance 4 in place of 1 halves the outputs of the norm layer, and leaves no gradient of its own."""
    model = wrap(nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)), (4,), 2)
    row, x, y = model.init(Rng(0)), torch.randn(8, 4, generator=DRAW), torch.zeros(8).long()
    wide = row.clone()
    model.buffers.views(wide[model.shared.size + model.local.size :])["1.running_var"].fill_(4.0)
    (loss, found), (other, _) = gradient(model, row, x, y), gradient(model, wide, x, y)
    assert found.shape == (model.shared.size,)
    views = model.shared.views(row)
    hidden = (x @ views["0.weight"].T + views["0.bias"]) / (4.0 + 1e-5) ** 0.5
    logits = hidden @ views["2.weight"].T + views["2.bias"]
    assert other == pytest.approx(float(cross_entropy(logits, y)), rel=1e-5)
    assert other != pytest.approx(loss, rel=1e-3)

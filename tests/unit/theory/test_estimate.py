"""Estimators on quadratics, whose smoothness, variance and divergences are known, and gradients of real models."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedradio.core.rng import Rng
from fedradio.models import wrap
from fedradio.models.zoo import logistic, mlp
from fedradio.theory import estimate

DRAW = torch.Generator().manual_seed(5)


def normal(*size: int) -> Tensor:
    return torch.randn(*size, generator=DRAW, dtype=torch.float64)


def test_smoothness_of_a_quadratic() -> None:
    """Curvatures 1, 2, 5: a trajectory along the last axis shows 5, one along the first 1; rest shows nothing."""
    curvature = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    for axis, wanted in enumerate((1.0, 2.0, 5.0)):
        points = torch.zeros(4, 3, dtype=torch.float64)
        points[:, axis] = torch.tensor([0.0, 0.3, -0.2, 1.0])
        assert estimate.smoothness(points, points * curvature) == pytest.approx(wanted)
    anywhere = normal(20, 3)
    assert 1.0 < estimate.smoothness(anywhere, anywhere * curvature) <= 5.0
    assert estimate.smoothness(anywhere[:1], anywhere[:1]) == 0.0
    assert estimate.smoothness(anywhere[[0, 0]], anywhere[[0, 0]]) == 0.0


def test_probes_find_the_sharpest_direction() -> None:
    matrix = normal(6, 6)
    matrix = matrix @ matrix.T
    top = float(torch.linalg.eigvalsh(matrix)[-1])
    found = estimate.probed_smoothness(lambda w: matrix @ w, normal(6), normal(6), radius=0.1, probes=60)
    assert found == pytest.approx(top, rel=1e-3)
    few = estimate.probed_smoothness(lambda w: matrix @ w, normal(6), normal(6), radius=0.1, probes=2)
    assert few <= top * (1 + 1e-9)
    assert estimate.probed_smoothness(lambda w: 0 * w, normal(6), normal(6), radius=0.1) == 0.0


def test_variance_of_known_noise() -> None:
    """Noise of variance .25 in each of 40 coordinates: sigma^2 = 10."""
    full = normal(40)
    assert estimate.gradient_variance(full + 0.5 * normal(4000, 40), full) == pytest.approx(10.0, rel=0.02)
    assert estimate.gradient_variance(full.expand(3, 40), full) == 0.0


def test_divergences_by_hand() -> None:
    """Cell 0 has gradients (0,0), (4,0) with weights 1/4, 3/4: mean (3,0), divergence 9/4 + 3/4 = 3. Cell 1 has (0,2)
    twice: 0. Two steps each: h = (6,0), (0,4), alpha_b = 1/2, mean (3,2), eps_1^2 = |(3,-2)|^2 = 13; one step: 13/4.
    """
    gradients = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    alpha_u, edge = torch.tensor([0.25, 0.75, 0.5, 0.5]), torch.tensor([0, 0, 1, 1])
    half = torch.tensor([0.5, 0.5])
    assert estimate.client_divergence(gradients, alpha_u, edge, 2).tolist() == pytest.approx([3.0, 0.0])
    assert estimate.edge_divergence(gradients, alpha_u, edge, half, torch.full((4,), 2)) == pytest.approx(13.0)
    assert estimate.edge_divergence(gradients, alpha_u, edge, half, torch.ones(4)) == pytest.approx(3.25)


def test_one_edge_or_equal_data_do_not_diverge() -> None:
    gradients, edge = normal(5, 7), torch.zeros(5, dtype=torch.long)
    share = torch.full((5,), 0.2, dtype=torch.float64)
    assert estimate.edge_divergence(gradients, share, edge, torch.ones(1), torch.arange(1, 6)) == pytest.approx(0.0)
    same = gradients[:1].expand(5, 7)
    assert float(estimate.client_divergence(same, share, edge, 1)) == pytest.approx(0.0, abs=1e-20)
    two = torch.tensor([0, 0, 1, 1, 1])
    halves = torch.tensor([0.5, 0.5, 1 / 3, 1 / 3, 1 / 3], dtype=torch.float64)
    steps = torch.full((5,), 3)
    assert estimate.edge_divergence(same, halves, two, torch.tensor([0.5, 0.5]), steps) == pytest.approx(0, abs=1e-20)


def test_bias_of_unequal_steps() -> None:
    """Gradients 1 and -1, equal weights, steps 3 and 1: f has gradient 0, the step-weighted loss 1/2; bias 1/4."""
    gradients = torch.tensor([[1.0], [-1.0]])
    alpha = torch.tensor([[0.5, 0.5]])
    assert estimate.step_bias(gradients, alpha, torch.tensor([[3, 1]])) == pytest.approx(0.25)
    assert estimate.step_bias(gradients, alpha, torch.tensor([[3, 3]])) == 0.0
    both = torch.tensor([[3, 1], [1, 3]])  # over two edge rounds it evens out
    assert estimate.step_bias(gradients, alpha.repeat(2, 1), both) == pytest.approx(0.0)


def test_gradient_of_a_model_is_autograds_for_any_chunk() -> None:
    model = mlp((5,), 3, hidden=(7,))
    row = model.init(Rng(1))
    x, y = torch.randn(50, 5, generator=DRAW), torch.randint(0, 3, (50,), generator=DRAW)
    model.module.load_state_dict(model.shared.views(row))
    wanted_loss = cross_entropy(model.module(x), y)
    wanted = torch.cat([g.flatten() for g in torch.autograd.grad(wanted_loss, list(model.module.parameters()))])
    for chunk in (7, 50, 1000):
        loss, found = estimate.gradient(model, row, x, y, chunk)
        assert loss == pytest.approx(float(wanted_loss.detach()), rel=1e-5)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)
    assert not row.requires_grad
    loss, found = estimate.gradient(model, row, x[:0], y[:0])
    assert (loss, float(found.abs().sum())) == (0.0, 0.0)


def test_gradient_leaves_local_parts_alone() -> None:
    model = wrap(nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)), (4,), 2)
    _, found = estimate.gradient(model, model.init(Rng(0)), torch.randn(8, 4, generator=DRAW), torch.zeros(8).long())
    assert found.shape == (model.shared.size,)
    assert model.local.size > 0


def test_logistic_regression_is_as_smooth_as_its_data() -> None:
    """At w = 0 with two classes the softmax Hessian's largest value is lambda_max(X'X/n) / 2."""
    model = logistic((3,), 2)
    x, y = torch.randn(200, 3, generator=DRAW), torch.randint(0, 2, (200,), generator=DRAW)
    design = torch.cat([x, torch.ones(200, 1)], 1).double()
    top = float(torch.linalg.eigvalsh(design.T @ design / 200)[-1]) / 2
    start = torch.zeros(model.size)

    def slope(w: Tensor) -> Tensor:
        return estimate.gradient(model, w, x, y)[1]

    direction = torch.randn(model.size, generator=DRAW)
    assert estimate.probed_smoothness(slope, start, direction, 0.05, 30) == pytest.approx(top, rel=0.02)


def test_convexity_of_a_quadratic() -> None:
    """Curvatures 1, 2, 5: moves along the axes show them, any move something between; a saddle shows less than 0."""
    curvature = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    for axis, wanted in enumerate((1.0, 2.0, 5.0)):
        points = torch.zeros(3, 3, dtype=torch.float64)
        points[:, axis] = torch.tensor([0.0, 0.3, -0.2])
        assert estimate.convexity(points, points * curvature) == pytest.approx(wanted)
    anywhere = normal(20, 3)
    assert 1.0 <= estimate.convexity(anywhere, anywhere * curvature) < 5.0
    assert estimate.convexity(anywhere, anywhere * (curvature - 3)) < 0
    assert estimate.convexity(anywhere[[0, 0]], anywhere[[0, 0]]) == float("inf")


def test_smoothness_of_outputs_by_hand() -> None:
    """h(w) = w^2 has the second derivative 2: from 0 over 1 to 2 the second difference is 4 - 2 = 2, over (2/2)^2."""
    first, middle, last = (torch.tensor([[value, 0.0]], dtype=torch.float64) for value in (0.0, 1.0, 4.0))
    assert estimate.output_smoothness(first, middle, last, 2.0) == pytest.approx(2.0)
    assert estimate.output_smoothness(first, first, first, 0.0) == 0.0
    assert estimate.output_smoothness(first[:0], first[:0], first[:0], 1.0) == 0.0


def test_a_cost_is_a_sum_over_samples_for_any_chunk() -> None:
    """Weights of its own for every sample: their places tell which."""
    model = mlp((5,), 3, hidden=(7,))
    row = model.init(Rng(1)).double()
    x, weight = normal(20, 5), normal(20, 3)
    log_p = estimate.log_outputs(model, row, x, chunk=6)
    assert log_p.exp().sum(dim=1).tolist() == pytest.approx([1.0] * 20)
    found = [
        estimate.cost_gradient(model, row, x, lambda log_p, part: (weight[part] * log_p).sum(), chunk)
        for chunk in (6, 100)
    ]
    assert found[0][0] == pytest.approx(float((weight * log_p).sum()))
    torch.testing.assert_close(found[0][1], found[1][1])
    step = normal(len(row))
    ends = [float((weight * estimate.log_outputs(model, row + sign * 1e-5 * step, x)).sum()) for sign in (1, -1)]
    assert float(found[0][1] @ step) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)
    assert estimate.log_outputs(model, row, x[:0]).shape == (0, 3)

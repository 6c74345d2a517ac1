"""Costs, gradients and pseudo-labels of FedCPSL, from logits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from fedradio.core.contracts import Batch
from fedradio.core.rng import Rng
from fedradio.losses.fedcpsl import (
    FedCpslLoss,
    Targets,
    cost,
    gradient,
    mix,
    mixture_gradient,
    project,
    pseudo_labels,
)
from fedradio.losses.fedcpsl import targets as targets_of

TOLERANCE = 1e-6
LOSS = FedCpslLoss(alpha_p=0.3, alpha_r=0.2, unlabelled_batch=4)
CLASSES = 5
CLIENTS = 4
LABELLED = torch.tensor([3, 3, 0, 1])
UNLABELLED = torch.tensor([4, 0, 2, 3])
"""Padded batches of 3 + 4 samples; the second client has no unlabelled, the third no labelled ones."""


def normal(name: str, *shape: int, scale: float = 1.0) -> Tensor:
    return torch.from_numpy(Rng(3, (name,)).numpy().normal(size=shape)) * scale


def targets(loss: FedCpslLoss, y: Tensor, labelled: Tensor, nu: Tensor, unlabelled: Tensor) -> Targets:
    """Targets of a batch whose first samples of each kind are real."""

    def mean(count: Tensor, width: int) -> Tensor:
        return (torch.arange(width) < count[..., None]).to(nu) / count[..., None].clamp(min=1)

    return targets_of(loss, Batch(y, mean(labelled, y.shape[-1]), nu, mean(unlabelled, nu.shape[-2])))


def textbook(p: Tensor, y: Tensor, nu: Tensor, n_l: int, n_u: int, loss: FedCpslLoss) -> Tensor:
    """The cost (4) of one client's probabilities ``[3 + 4, C]``, word for word."""
    log_p = p.log()
    total = p.new_zeros(())
    if n_l:
        total = total - torch.stack([log_p[i, y[i]] for i in range(n_l)]).mean()
    if n_u:
        h, log_h, labels = p[3 : 3 + n_u], log_p[3 : 3 + n_u], nu[:n_u]
        ce = -(labels * log_h).sum(1).mean()
        uniform = math.log(p.shape[1])
        kl = ((labels * labels.log()).sum(1) + (h * log_h).sum(1) + 2 * uniform).mean()
        total = total + loss.alpha_p * ce + loss.alpha_r * kl
    return total


@pytest.fixture
def y() -> Tensor:
    return torch.tensor([[0, 4, 2], [1, 1, 3], [0, 0, 0], [2, 0, 0]])


@pytest.fixture
def nu() -> Tensor:
    return normal("nu", CLIENTS, 4, CLASSES).softmax(-1)


@pytest.fixture
def to(y: Tensor, nu: Tensor) -> Targets:
    return targets(LOSS, y, LABELLED, nu, UNLABELLED)


def test_one_labelled_and_one_unlabelled_sample_by_hand() -> None:
    """Two classes: h = (3/4, 1/4) with label 1, and u = (1/2, 1/2) with nu = (9/10, 1/10); ap = .5, ar = .2.

    CE(y, h) = log 4, CE(nu, u) = log 2, KL(u, d) = 0, KL(nu, d) = .9 log 1.8 + .1 log .2 = .368064; the gradients are
    h - y = (3/4, -3/4) and .5 (u - nu) = (-1/5, 1/5).
    """
    z = torch.tensor([[math.log(3.0), 0.0], [0.0, 0.0]], dtype=torch.float64)
    nu = torch.tensor([[0.9, 0.1]], dtype=torch.float64)
    to = targets(FedCpslLoss(0.5, 0.2, 1), torch.tensor([1]), torch.tensor(1), nu, torch.tensor(1))
    log_h = z.log_softmax(-1)
    assert float(cost(log_h, to)) == pytest.approx(math.log(4) + 0.5 * math.log(2) + 0.2 * 0.3680642, abs=1e-7)
    want = torch.tensor([[0.75, -0.75], [-0.2, 0.2]], dtype=torch.float64)
    torch.testing.assert_close(gradient(log_h, to), want)
    # mixed half and half with a model that says (1/4, 3/4), p = (1/2, 1/2): r_y = (.5 * 3/4) / (1/2) = 3/4
    own = torch.tensor([[0.0, math.log(3.0)], [0.0, 0.0]], dtype=torch.float64).log_softmax(-1)
    got = mixture_gradient(own, log_h, torch.tensor(0.5, dtype=torch.float64), to)
    torch.testing.assert_close(got[0], 0.75 * torch.tensor([0.25, -0.25], dtype=torch.float64))
    torch.testing.assert_close(got[1], 0.5 * want[1])


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_the_cost_and_its_gradient(y: Tensor, nu: Tensor, to: Targets, scale: float) -> None:
    """Of every client on its own, with missing parts and padding."""
    z = normal("z", CLIENTS, 7, CLASSES, scale=scale).requires_grad_()
    rows = zip(z.softmax(-1), y, nu, LABELLED.tolist(), UNLABELLED.tolist(), strict=True)
    want = torch.stack([textbook(*row, LOSS) for row in rows])
    log_h = z.detach().log_softmax(-1)
    torch.testing.assert_close(cost(log_h, to), want.detach(), rtol=TOLERANCE, atol=TOLERANCE)
    (slope,) = torch.autograd.grad(want.sum(), z)
    torch.testing.assert_close(gradient(log_h, to), slope, rtol=TOLERANCE, atol=1e-12)
    assert not gradient(log_h, to)[3, 1:3].any(), "padded samples have no gradient"


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_the_cost_of_the_mixture_and_its_gradient(y: Tensor, nu: Tensor, to: Targets, scale: float) -> None:
    """Every client with a weight of its own, both ends of the range among them."""
    b = torch.tensor([0.75, 0.0, 1.0, 0.3], dtype=torch.float64)[:, None, None]
    own = normal("own", CLIENTS, 7, CLASSES, scale=scale).requires_grad_()
    log_h = normal("z", CLIENTS, 7, CLASSES, scale=scale).log_softmax(-1)
    p = b * own.softmax(-1) + (1 - b) * log_h.exp()
    rows = zip(p, y, nu, LABELLED.tolist(), UNLABELLED.tolist(), strict=True)
    want = torch.stack([textbook(*row, LOSS) for row in rows])
    log_own = own.detach().log_softmax(-1)
    torch.testing.assert_close(cost(mix(log_own, log_h, b), to), want.detach(), rtol=TOLERANCE, atol=TOLERANCE)
    (slope,) = torch.autograd.grad(want.sum(), own)
    torch.testing.assert_close(mixture_gradient(log_own, log_h, b, to), slope, rtol=TOLERANCE, atol=1e-12)


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e8])
def test_extreme_logits(to: Targets, scale: float) -> None:
    """Where probabilities underflow, autograd of log_softmax and logaddexp still agrees, and all is finite."""
    z = normal("z", CLIENTS, 7, CLASSES, scale=scale).requires_grad_()
    own = normal("own", CLIENTS, 7, CLASSES, scale=scale).requires_grad_()
    b = torch.full((CLIENTS, 1, 1), 0.75, dtype=torch.float64)
    f = cost(z.log_softmax(-1), to)
    log_h = z.log_softmax(-1).detach()
    mixed = cost(mix(own.log_softmax(-1), log_h, b), to)
    slopes = torch.autograd.grad(f.sum() + mixed.sum(), [z, own])
    got = gradient(log_h, to), mixture_gradient(own.detach().log_softmax(-1), log_h, b, to)
    for mine, theirs in zip(got, slopes, strict=True):
        assert torch.isfinite(mine).all()
        torch.testing.assert_close(mine, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def test_the_ends_of_the_mixture(to: Targets) -> None:
    """b = 1 is the own model alone, b = 0 the other one, which the own model cannot change; bit for bit."""
    log_own = normal("own", CLIENTS, 7, CLASSES, scale=50.0).log_softmax(-1)
    log_h = normal("z", CLIENTS, 7, CLASSES, scale=50.0).log_softmax(-1)
    none, all_ = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    assert torch.equal(mix(log_own, log_h, all_), log_own)
    assert torch.equal(mix(log_own, log_h, none), log_h)
    torch.testing.assert_close(mixture_gradient(log_own, log_h, all_, to), gradient(log_own, to), rtol=1e-12, atol=0)
    assert not mixture_gradient(log_own, log_h, none, to).any()


def test_clients_without_any_samples_have_no_cost(y: Tensor, nu: Tensor) -> None:
    nothing = torch.zeros(CLIENTS, dtype=torch.long)
    log_h = normal("z", CLIENTS, 7, CLASSES).log_softmax(-1)
    to = targets(LOSS, y, nothing, nu, nothing)
    assert not cost(log_h, to).any()
    assert not gradient(log_h, to).any()


def test_plain_cross_entropy_without_unlabelled_samples(y: Tensor) -> None:
    z = normal("z", CLIENTS, 3, CLASSES)
    full = torch.full((CLIENTS,), 3)
    to = targets(LOSS, y, full, z.new_zeros(CLIENTS, 0, CLASSES), torch.zeros(CLIENTS, dtype=torch.long))
    want = torch.nn.functional.cross_entropy(z.mT, y, reduction="none").mean(1)
    torch.testing.assert_close(cost(z.log_softmax(-1), to), want)


@pytest.mark.parametrize("alphas", [(0.1, 0.1), (0.5, 0.2), (0.05, 1.0)])
def test_closed_pseudo_labels_are_the_optimum_of_7a(alphas: tuple[float, float]) -> None:
    """Against a numerical minimum over the simplex of ``ap CE(nu, h) + ar KL(nu, d)``."""
    loss = FedCpslLoss(*alphas, 1)
    ap, ar = alphas
    for z in normal("anchor", 4, CLASSES, scale=1.5):
        log_h = z.log_softmax(-1).numpy()

        def f(u: np.ndarray, log_h: np.ndarray = log_h) -> tuple[float, np.ndarray]:
            log_nu = u - np.logaddexp.reduce(u)  # free coordinates u, nu = softmax(u) never leaves the simplex
            nu = np.exp(log_nu)
            slope = -ap * log_h + ar * (log_nu + 1.0)
            return float(nu @ (-ap * log_h + ar * log_nu)), nu * (slope - nu @ slope)

        found = minimize(f, np.zeros(CLASSES), jac=True, method="BFGS", options={"gtol": 1e-11})
        best = torch.from_numpy(found.x).softmax(-1)
        torch.testing.assert_close(pseudo_labels(loss, z), best, rtol=0, atol=TOLERANCE)


def test_closed_pseudo_labels_of_extreme_logits() -> None:
    z = torch.tensor([[3e30, -3e30, 0.0]])
    torch.testing.assert_close(pseudo_labels(FedCpslLoss(0.5, 0.1, 1), z), torch.tensor([[1.0, 0.0, 0.0]]))


@pytest.mark.parametrize("pseudo", ["closed", "gradient"])
def test_limits_of_the_pseudo_labels(pseudo: str) -> None:
    """Nothing regularises: all on the largest logit, equals sharing. Nothing pulls: uniform."""
    z = torch.tensor([[1.0, 3.0, 2.0, 3.0], [0.5, 0.0, -1.0, 0.4]])
    hard = torch.tensor([[0.0, 0.5, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0]])
    for regulariser in (0.0, 1e-40):
        given = FedCpslLoss(0.1, regulariser, 1, pseudo)  # type: ignore[arg-type]
        torch.testing.assert_close(pseudo_labels(given, z), hard)
    for regulariser in (0.0, 0.1):
        free = FedCpslLoss(0.0, regulariser, 1, pseudo)  # type: ignore[arg-type]
        torch.testing.assert_close(pseudo_labels(free, z), torch.full_like(z, 0.25))


def test_one_projected_step_from_uniform() -> None:
    """(10): the gradient of f in nu at 1/C, a step of 1/(4 L), L = ar C, and the nearest point of the simplex."""
    loss = FedCpslLoss(0.4, 0.1, 1, "gradient")
    z = normal("anchor", 6, CLASSES, scale=1.5)
    nu = torch.full_like(z, 1 / CLASSES).requires_grad_()
    f = (-0.4 * nu * z.log_softmax(-1) + 0.1 * nu * nu.log()).sum()
    (slope,) = torch.autograd.grad(f, nu)
    moved = nu.detach() - slope / (4 * 0.1 * CLASSES)
    torch.testing.assert_close(pseudo_labels(loss, z), brute_force(moved), rtol=0, atol=1e-12)


def test_a_projected_step_from_kept_labels_by_hand() -> None:
    """The case of :func:`gradient_step`: alpha_p .2, alpha_r .1, h = (1/4, 3/4), from nu = (.7, .3). Slopes of a
    sample's cost: .1 log .7 - .2 log .25 = .241592 and .1 log .3 - .2 log .75 = -.062861; the rate is 1/(4 2 .1) =
    1.25; (.398010, .378576) lacks .223414 to a sum of 1, half of it for each: (.509717, .490283). At rate .5:
    (.579204, .331430) -> (.623887, .376113)."""
    z, nu = torch.tensor([0.0, math.log(3.0)]).double(), torch.tensor([0.7, 0.3]).double()
    loss = FedCpslLoss(0.2, 0.1, 1, "gradient")
    assert pseudo_labels(loss, z, nu).tolist() == pytest.approx([0.509717, 0.490283], abs=1e-6)
    slower = replace(loss, pseudo_rate=0.5)
    assert pseudo_labels(slower, z, nu).tolist() == pytest.approx([0.623887, 0.376113], abs=1e-6)


def test_kept_labels_step_by_step_against_brute_force() -> None:
    """Five steps, each from the last one's labels; entries below rate alpha_r have the slope of the entropy there."""
    loss = FedCpslLoss(0.4, 0.1, 1, "gradient", pseudo_rate=0.3)
    z = normal("anchor", 6, CLASSES, scale=1.5)
    nu = torch.full_like(z, 1 / CLASSES)
    for _ in range(5):
        wanted = brute_force(nu - 0.3 * (0.1 * nu.clamp(min=0.03).log() - 0.4 * z.log_softmax(-1)))
        nu = pseudo_labels(loss, z, nu)
        torch.testing.assert_close(nu, wanted, rtol=0, atol=1e-12)
    assert bool((nu == 0).any())


@pytest.mark.parametrize("rate", [None, 0.2])
def test_kept_labels_come_to_rest_at_the_closed_ones(rate: float | None) -> None:
    """Of logits whose closed labels lie well inside the simplex, where no entry is below rate alpha_r."""
    loss = FedCpslLoss(0.1, 0.1, 1, "gradient", pseudo_rate=rate)
    z, nu = normal("anchor", 4, CLASSES, scale=0.3), torch.full((4, CLASSES), 1 / CLASSES).double()
    for _ in range(3000):
        nu = pseudo_labels(loss, z, nu)
    torch.testing.assert_close(nu, z.softmax(-1), rtol=0, atol=1e-9)


def brute_force(points: Tensor) -> Tensor:
    """The nearest points of the simplex, by trying every set of positive entries."""

    def nearest(v: Tensor) -> Tensor:
        best, least = v, math.inf
        for size in range(1, len(v) + 1):
            for support in combinations(range(len(v)), size):
                x = torch.zeros_like(v)
                x[list(support)] = v[list(support)] - (v[list(support)].sum() - 1) / size
                if (x >= 0).all() and float((x - v).norm()) < least:
                    best, least = x, float((x - v).norm())
        return best

    return torch.stack([nearest(v) for v in points])


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_projection_on_the_simplex(scale: float) -> None:
    points = normal("points", 20, CLASSES, scale=scale)
    torch.testing.assert_close(project(points), brute_force(points), rtol=0, atol=1e-12)


def test_projection_of_odd_points() -> None:
    inside = torch.tensor([0.2, 0.3, 0.5])
    torch.testing.assert_close(project(inside), inside)
    assert project(torch.tensor([1e9, -math.inf, 1e9])).tolist() == [0.5, 0.0, 0.5]
    assert project(torch.tensor([7.0])).tolist() == [1.0]
    assert torch.isnan(project(torch.tensor([math.nan, 0.0]))).all()


@pytest.mark.parametrize("make", [gradient, lambda log_h, to: mixture_gradient(log_h, log_h, torch.tensor(0.7), to)])
def test_single_precision_stays_single(y: Tensor, nu: Tensor, make: Callable[[Tensor, Targets], Tensor]) -> None:
    to = targets(LOSS, y, LABELLED, nu.float(), UNLABELLED)
    assert make(normal("z", CLIENTS, 7, CLASSES).float().log_softmax(-1), to).dtype is torch.float32

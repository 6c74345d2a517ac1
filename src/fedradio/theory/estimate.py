"""Estimators of the constants that convergence theorems assume, from gradients as plain matrices ``[n, d]``.

An assumption holds for all parameters; an estimate knows only the visited ones. Estimates of smoothness, variance and
divergences are therefore at most the constants of the assumption.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import nll_loss

from fedradio.core.contracts import Model
from fedradio.core.params import group_sum

CHUNK = 2048
"""Samples that go through a model at once; the gradient of all is the sum over chunks."""


Cost = Callable[[Tensor, slice], Tensor]
"""Cost of some samples, a part of a sum: from their log-probabilities ``[n, C]`` and their places among all."""


def gradient(model: Model, row: Tensor, x: Tensor, y: Tensor, chunk: int = CHUNK) -> tuple[float, Tensor]:
    """Mean cross entropy of the samples and its gradient ``[d]`` in the shared parameters of ``row [D]``.

    The model is in evaluation mode. Without samples both are 0. Threads may call this at the same time.
    """
    return cost_gradient(model, row, x, lambda log_p, part: nll_loss(log_p, y[part], reduction="sum") / len(y), chunk)


def cost_gradient(model: Model, row: Tensor, x: Tensor, cost: Cost, chunk: int = CHUNK) -> tuple[float, Tensor]:
    """A sum of the samples' costs and its gradient ``[d]``, as :func:`gradient`."""
    d = model.shared.size
    total, value = torch.zeros_like(row[:d]), 0.0
    log_p = _log_probabilities(model, row)
    for start in range(0, len(x), chunk):
        part = slice(start, min(start + chunk, len(x)))
        leaf = row[:d].detach().clone().requires_grad_(True)
        here = cost(log_p(leaf, x[part]), part)
        total += torch.autograd.grad(here, leaf)[0]
        value += float(here.detach())
    return value, total


def log_outputs(model: Model, row: Tensor, x: Tensor, chunk: int = CHUNK) -> Tensor:
    """Log-probabilities ``[n, C]`` of the samples in the precision of ``row [D]``."""
    log_p = _log_probabilities(model, row)
    with torch.no_grad():
        parts = [log_p(row[: model.shared.size], x[start : start + chunk]) for start in range(0, len(x), chunk)]
    return torch.cat(parts) if parts else row.new_zeros(0, model.classes)


def _log_probabilities(model: Model, row: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """The model as a function of its shared parameters ``[d]`` and samples, in evaluation mode; what it keeps to itself
    is that of ``row``."""
    shared, local, d = model.shared, model.local, model.shared.size
    module = copy.deepcopy(model.module).to(row.device).eval()
    fixed = local.views(row[d : d + local.size]) | model.buffers.views(row[d + local.size :])

    def log_p(leaf: Tensor, x: Tensor) -> Tensor:
        x = x.to(row.dtype) if x.is_floating_point() else x
        logits: Tensor = functional_call(module, {**shared.views(leaf), **fixed}, (x,))
        return logits.log_softmax(-1)

    return log_p


def squared_norm(vectors: Tensor) -> Tensor:
    """Squared norms ``|v|^2`` of vectors ``[..., d]``, summed in float64."""
    norm: Tensor = torch.linalg.vector_norm(vectors, dim=-1, dtype=torch.float64)
    return norm.square()


def smoothness(points: Tensor, gradients: Tensor) -> float:
    """Smoothness along a trajectory ``points [n, d]``: the largest difference quotient of successive gradients.

    ``max |grad f(w_i) - grad f(w_(i+1))| / |w_i - w_(i+1)|``; 0 at rest.
    """
    moved = squared_norm(points.diff(dim=0))
    ratio = torch.where(moved > 0, squared_norm(gradients.diff(dim=0)) / moved.clamp(min=1e-300), 0.0)
    return float(ratio.max().sqrt()) if len(ratio) else 0.0


def probed_smoothness(
    slope: Callable[[Tensor], Tensor], w: Tensor, direction: Tensor, radius: float, probes: int = 8
) -> float:
    """Smoothness around ``w``: the largest gradient difference quotient at distance ``radius``, by power iteration.

    A trajectory need not move where the loss bends most. Each probe steps from ``w`` along the last gradient
    difference, which turns to the sharpest direction; on a quadratic the quotient rises to the largest curvature.
    """
    centre, largest = slope(w), 0.0
    for _ in range(probes):
        length = float(squared_norm(direction).sqrt())
        if not length > 0:
            break
        direction = slope(w + direction * (radius / length)) - centre
        largest = max(largest, float(squared_norm(direction).sqrt()) / radius)
    return largest


def gradient_variance(batch_gradients: Tensor, full: Tensor) -> float:
    """Variance ``mean |g - grad f_u|^2`` of mini-batch gradients ``[m, d]`` around the full gradient ``[d]``."""
    return float(squared_norm(batch_gradients - full).mean())


def mean_gradient(gradients: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean gradient ``sum_u weight_u grad f_u`` of ``gradients [U, d]``."""
    return weight.to(gradients) @ gradients


def client_divergence(gradients: Tensor, alpha_u: Tensor, edge: Tensor, edges: int) -> Tensor:
    """Client-edge divergence of every edge ``[B]``, RawHFL (19): ``sum_u alpha_u |grad f_u - grad f_b|^2``.

    ``f_b`` is the mean of the edge's ``f_u``.
    """
    centre = group_sum(alpha_u[:, None].to(gradients) * gradients, edge, edges)  # [B, d]
    return group_sum(alpha_u.double() * squared_norm(gradients - centre[edge]), edge, edges)


def edge_divergence(gradients: Tensor, alpha_u: Tensor, edge: Tensor, alpha_b: Tensor, steps: Tensor) -> float:
    """Edge-global divergence, RawHFL (20): ``sum_b alpha_b |h_b - sum_b' alpha_b' h_b'|^2``.

    ``h_b = sum_u alpha_u L_u grad f_u``.
    """
    summed = (alpha_u * steps)[:, None].to(gradients) * gradients
    h = group_sum(summed, edge, len(alpha_b))  # [B, d]
    return float((alpha_b.double() * squared_norm(h - mean_gradient(h, alpha_b))).sum())


def step_bias(gradients: Tensor, alpha: Tensor, steps: Tensor) -> float:
    """Bias ``|grad f - grad f'|^2`` of unequal local steps.

    f weighs clients by ``alpha [E, U]`` and f' by ``alpha * steps``, each normalised. Averaging minimises f', not f:
    this is the floor of ``|grad f|^2`` at a stationary point of f'. It is 0 for equal steps.
    """
    intended, actual = alpha.double().sum(0), (alpha.double() * steps).sum(0)
    return float(squared_norm(mean_gradient(gradients, intended / intended.sum() - actual / actual.sum())))


def convexity(points: Tensor, gradients: Tensor) -> float:
    """Curvature along a trajectory ``points [n, d]``: the smallest ``<dg, dw> / |dw|^2`` of successive gradients.

    At least the modulus of strong convexity, which is the smallest along *all* directions; negative where the function
    is not convex, infinite at rest.
    """
    moves, bends = points.diff(dim=0).double(), gradients.diff(dim=0).double()
    lengths = squared_norm(moves)
    along = (moves * bends).sum(dim=1)[lengths > 0] / lengths[lengths > 0]
    return float(along.min()) if len(along) else math.inf


def output_smoothness(first: Tensor, middle: Tensor, last: Tensor, distance: float) -> float:
    """Smoothness of outputs ``[n, C]`` in the parameters, from a move of length ``distance`` with its middle.

    The largest second difference ``|h(w) - 2 h(w + v/2) + h(w + v)| / |v/2|^2`` over the samples; 0 at rest.
    """
    if not distance > 0 or not len(first):
        return 0.0
    return float(squared_norm(first - 2 * middle + last).max().sqrt() / (distance / 2) ** 2)

"""Loss and gradient of a model on samples, in the shared parameters, by autograd and in evaluation mode."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from fedradio.core.contracts import Model

CHUNK = 2048
"""Samples that go through a model at once; the gradient of all is the sum over chunks."""


def gradient(model: Model, row: Tensor, x: Tensor, y: Tensor, chunk: int = CHUNK) -> tuple[float, Tensor]:
    """Mean cross entropy of the samples in nats (of values: squared error) and its gradient ``[d]`` in the shared
    parameters of ``row [D]``.

    Norm layers keep the values of ``row``. Without samples both are 0. Threads may call this at the same time.
    """
    shared, local, d = model.shared, model.local, model.shared.size
    module = copy.deepcopy(model.module).to(row.device).eval()
    fixed = local.views(row[d : d + local.size]) | model.buffers.views(row[d + local.size :])
    loss, total = 0.0, torch.zeros_like(row[:d])
    for start in range(0, len(x), chunk):
        part = slice(start, start + chunk)
        w = row[:d].detach().clone().requires_grad_(True)
        inputs = x[part].to(row.dtype) if x.is_floating_point() else x[part]
        logits = functional_call(module, {**shared.views(w), **fixed}, (inputs,))
        cost = _summed_cost(logits, y[part]) / len(y)
        total += torch.autograd.grad(cost, w)[0]
        loss += float(cost.detach())
    return loss, total


def _summed_cost(logits: Tensor, y: Tensor) -> Tensor:
    """Cross entropy of labels, squared error of values, summed over samples."""
    if y.is_floating_point():
        return (logits[:, 0] - y).square().sum()
    return cross_entropy(logits, y, reduction="sum")


def squared_norm(vectors: Tensor) -> Tensor:
    """Squared norms ``|v|^2`` of vectors ``[..., d]``, summed in float64."""
    norm: Tensor = torch.linalg.vector_norm(vectors, dim=-1, dtype=torch.float64)
    return norm.square()

"""Accuracy and loss of an ensemble on test samples, per evaluation group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import Ensemble, Model, TestSet
from fedradio.core.params import group_sum
from fedradio.engine.layers import dense_layers
from fedradio.engine.threads import parallel_map


@dataclass(frozen=True)
class Scores:
    """Top-1 accuracy and cross entropy in nats, per group ``[G]`` (NaN without samples), and plain means over groups.

    ``top [M]`` and ``group_top [G, M]`` are top-m accuracies, ``m = 1..M``. A group is one of the test set's, or, where
    every client has a model of its own and all share the samples, a client.
    """

    accuracy: float
    loss: float
    group_accuracy: Tensor
    group_loss: Tensor
    top: Tensor
    group_top: Tensor


@dataclass(frozen=True)
class _Chunk:
    """Samples ``lo:hi`` of the test set, evaluated with the model of ``client``."""

    client: int
    lo: int
    hi: int


def evaluate(
    model: Model,
    ensemble: Ensemble,
    test: TestSet,
    local: Tensor | None,
    workers: int,
    chunk: int | None = None,
    top: int = 1,
) -> Scores:
    """Scores of members ``[1, d]`` (one for all) or ``[C, d]`` (one a client), with local parts ``[1 or C, d_local]``.

    Probabilities are mixed, ``p = sum_m a_m softmax(z_m)``. One model per client is evaluated on its client's samples
    if the test set has them (``per_client``), and on all samples otherwise. ``chunk`` samples go through a model at
    once (default: 1000 for dense stacks, 250 for others). Hits are counted among the ``1..top`` likeliest classes.
    """
    clients = max([1, *(len(member) for member in ensemble.members), 1 if local is None else len(local)])
    size = chunk or (1000 if dense_layers(model) else 250)
    if clients == 1:
        chunks = _cut(0, 0, len(test.index), size)
    elif test.per_client:
        if clients != test.groups:
            raise ValueError(f"{clients} models for {test.groups} clients with samples of their own")
        chunks = [part for client, (lo, hi) in enumerate(test.bounds()) for part in _cut(client, lo, hi, size)]
    else:
        chunks = [part for client in range(clients) for part in _cut(client, 0, len(test.index), size)]

    def score(part: _Chunk) -> Tensor:
        return _score(model, ensemble, test, local, part, top)

    results = parallel_map(score, chunks, workers)
    own = clients > 1 and not test.per_client
    groups = clients if own else test.groups
    total = torch.zeros(groups, 1 + top, dtype=torch.float64)
    count = torch.zeros(groups, dtype=torch.float64)
    for part, sample_scores in zip(chunks, results, strict=True):  # in the order of the chunks: the same sums
        group = torch.full((part.hi - part.lo,), part.client) if own else test.group[part.lo : part.hi].cpu()
        total += group_sum(sample_scores, group, groups)
        count += torch.bincount(group, minlength=groups)
    mean = total / count[:, None]
    loss, hits = mean[:, 0], mean[:, 1:]
    return Scores(_mean(hits[:, 0]), _mean(loss), hits[:, 0], loss, hits.nanmean(dim=0), hits)


def _score(model: Model, ensemble: Ensemble, test: TestSet, local: Tensor | None, part: _Chunk, top: int) -> Tensor:
    """Loss and hits (0 or 1) among the ``1..top`` likeliest classes, ``[hi - lo, 1 + top]`` float64 on the CPU."""
    x, y = test.fetch(test.index[part.lo : part.hi])
    likelihoods = []
    for member in ensemble.members:
        row = _row(member, local, part.client)
        likelihoods.append(model.apply(row, x).log_softmax(dim=1))
    mixed = _mix(likelihoods, [_of(weight, part.client) for weight in ensemble.weight])
    y = y.to(mixed.device)[:, None]
    loss = -mixed.gather(1, y)
    hits = mixed.argmax(dim=1, keepdim=True) == y if top == 1 else _rank(mixed, y) < torch.arange(1, top + 1).to(y)
    return torch.cat([loss, hits], dim=1).double().cpu()


def _rank(likelihood: Tensor, y: Tensor) -> Tensor:
    """Rank ``[n, 1]`` of the label ``y [n, 1]`` among the classes by decreasing likelihood, 0 the first.

    Of equals the lower class is first, as in argmax; NaN comes last.
    """
    own = likelihood.gather(1, y)
    number = torch.arange(likelihood.shape[1], device=y.device)
    behind = (likelihood < own) | ((likelihood == own) & (number >= y))
    return likelihood.shape[1] - behind.sum(dim=1, keepdim=True)


def _mix(likelihoods: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Mixture ``log sum_m a_m exp(l_m)`` of log likelihoods ``[n, classes]``, in log space."""
    if len(likelihoods) == 1:
        return likelihoods[0]
    logs = [math.log(weight) if weight > 0 else -math.inf for weight in weights]
    return torch.stack([ll + log for ll, log in zip(likelihoods, logs, strict=True)]).logsumexp(dim=0)


def _of(weight: float | Tensor, client: int) -> float:
    return float(weight[client]) if isinstance(weight, Tensor) else weight


def _row(member: Tensor, local: Tensor | None, client: int) -> Tensor:
    """Model row ``[D]`` of a client."""
    shared = member[client if len(member) > 1 else 0]
    if local is None:
        return shared
    return torch.cat([shared, local[client if len(local) > 1 else 0]])


def _cut(client: int, lo: int, hi: int, size: int) -> list[_Chunk]:
    return [_Chunk(client, i, min(i + size, hi)) for i in range(lo, hi, size)]


def _mean(values: Tensor) -> float:
    """Plain mean over the groups that have samples."""
    return float(values.nanmean())

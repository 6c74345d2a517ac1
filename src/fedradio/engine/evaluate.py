"""Accuracy and loss of an ensemble on test samples, per evaluation group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import EvalJob, Metric, Scores
from fedradio.core.params import group_sum
from fedradio.engine.layers import dense_layers
from fedradio.engine.threads import parallel_map
from fedradio.metrics.accuracy import rank


@dataclass(frozen=True)
class _Chunk:
    """Samples ``lo:hi`` of the test set, evaluated with the model of ``client``."""

    client: int
    lo: int
    hi: int


@dataclass(frozen=True)
class _Scored:
    """Loss and hits (0 or 1) among the ``1..top`` likeliest classes of a chunk's samples, ``[n, 1 + top]`` float64, and
    what metrics judge: log-probabilities ``logits [n, C]`` (None without metrics) and labels ``y [n]``; on the CPU."""

    losses_and_hits: Tensor
    logits: Tensor | None
    y: Tensor


def evaluate(job: EvalJob, workers: int, chunk: int | None = None) -> Scores:
    """Scores of an ensemble; ``chunk`` samples go through a model at once (default: 1000 for dense stacks, 250 for
    others)."""
    test, clients = job.test, models(job)
    chunks = _chunks(job, clients, chunk or (1000 if dense_layers(job.model) else 250))
    results = parallel_map(lambda part: _score(job, part), chunks, workers)
    own = clients > 1 and not test.per_client
    groups = clients if own else test.groups
    total = torch.zeros(groups, 1 + job.top, dtype=torch.float64)
    count = torch.zeros(groups, dtype=torch.float64)
    group_of = [
        torch.full((part.hi - part.lo,), part.client) if own else test.group[part.lo : part.hi].cpu() for part in chunks
    ]
    for scored, group in zip(results, group_of, strict=True):  # in the order of the chunks: the same sums
        total += group_sum(scored.losses_and_hits, group, groups)
        count += torch.bincount(group, minlength=groups)
    mean = total / count[:, None]
    loss, hits = mean[:, 0], mean[:, 1:]
    logits = [scored.logits for scored in results if scored.logits is not None]
    metrics: dict[str, float] = {}
    if logits:
        y, client = torch.cat([scored.y for scored in results]), torch.cat(group_of)
        metrics = judge(job.metrics, torch.cat(logits), y, client)
    return Scores(_mean(hits[:, 0]), _mean(loss), hits[:, 0], loss, hits.nanmean(dim=0), hits, metrics)


def models(job: EvalJob) -> int:
    """Models that a job compares with the labels: 1 for all, or one per client."""
    rows = [*job.ensemble.members, *([] if job.local is None else [job.local])]
    clients = max([1, *map(len, rows)])
    if clients > 1 and job.test.per_client and clients != job.test.groups:
        raise ValueError(f"{clients} models for {job.test.groups} clients with samples of their own")
    return clients


def judge(metrics: Sequence[Metric], logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
    """Scores of all metrics by name; ``logits [n, C]``, ``y [n]``, ``client [n]``."""
    return {name: value for metric in metrics for name, value in metric.score(logits, y, client).items()}


def _chunks(job: EvalJob, clients: int, size: int) -> list[_Chunk]:
    """The pieces in which samples go through models, client after client."""
    if clients == 1:
        return _cut(0, 0, len(job.test.index), size)
    if job.test.per_client:
        return [part for client, (lo, hi) in enumerate(job.test.bounds()) for part in _cut(client, lo, hi, size)]
    return [part for client in range(clients) for part in _cut(client, 0, len(job.test.index), size)]


def _score(job: EvalJob, part: _Chunk) -> _Scored:
    """Scores of the samples of a chunk."""
    test, top = job.test, job.top
    x, y = test.fetch(test.index[part.lo : part.hi])
    likelihoods = []
    for member in job.ensemble.members:
        row = _row(member, job.local, part.client)
        likelihoods.append(job.model.apply(row, x).log_softmax(dim=1))
    mixed = _mix(likelihoods, [_of(weight, part.client) for weight in job.ensemble.weight])
    y = y.to(mixed.device)[:, None]
    loss = -mixed.gather(1, y)
    hits = mixed.argmax(dim=1, keepdim=True) == y if top == 1 else rank(mixed, y) < torch.arange(1, top + 1).to(y)
    scores = torch.cat([loss, hits], dim=1).double().cpu()
    return _Scored(scores, mixed.cpu() if job.metrics else None, y[:, 0].cpu())


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

"""Accuracy and loss of an ensemble on test samples, per evaluation group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import Ensemble, EvalJob, Metric, Model, Scores
from fedradio.core.params import group_sum
from fedradio.engine.coordinates import in_space, narrow_members
from fedradio.engine.layers import dense_layers
from fedradio.engine.memo import Likelihoods, Memo, Part, Plan, missing, place_of
from fedradio.engine.threads import one_torch_thread, parallel_map
from fedradio.metrics.accuracy import rank


@dataclass(frozen=True)
class Scored:
    """Loss and hits (0 or 1) among the ``1..top`` likeliest classes of a part's samples or questions, ``[n, 1 + top]``
    float64; how many samples each stands for, ``count [n]`` (None: one); the ``group [n]`` of each; and the
    log-probabilities ``[n, C]`` that metrics judge (None without metrics), with labels ``y``; on the CPU."""

    losses_and_hits: Tensor
    count: Tensor | None
    group: Tensor
    likelihood: Tensor | None
    y: Tensor


def evaluate(job: EvalJob, workers: int, chunk: int | None = None, memo: Memo | None = None) -> Scores:
    """Scores of an ensemble; up to ``chunk`` inputs go through a model at once (default: 1000 for dense stacks, 250 for
    others). ``memo`` is what is known from earlier jobs."""
    memo = memo or Memo()
    plan = plan_of(job, memo, chunk)
    known = memo.known(job, plan)
    return summed(job, plan, score(job, plan, plan.parts, workers, known))


def plan_of(job: EvalJob, memo: Memo, chunk: int | None = None) -> Plan:
    """The parts in which a job is done; they depend on the job alone."""
    return memo.plan(job, models(job), chunk or (1000 if dense_layers(job.model) else 250))


def score(
    job: EvalJob, plan: Plan, parts: Sequence[Part], workers: int, known: Likelihoods | None = None
) -> list[Scored]:
    """Scores of some parts of a job, which depend on no others; ``known``: what is known, to be added to."""
    networks = _Networks(job)
    if known is not None:
        new = missing(known, job.ensemble.members, parts)
        parallel_map(lambda part: _learn(networks, plan, known, part), new, workers)
    return parallel_map(lambda part: _score(networks, plan, known, part), parts, workers)


def summed(job: EvalJob, plan: Plan, results: Sequence[Scored]) -> Scores:
    """Scores of a job from those of all its parts, in the order of these: the same sums."""
    groups = models(job) if _everybody(job) else job.test.groups
    total = torch.zeros(groups, 1 if job.target == "value" else 1 + job.top, dtype=torch.float64)
    count = torch.zeros(groups, dtype=torch.float64)
    for scored in results:
        total += group_sum(scored.losses_and_hits, scored.group, groups)
        count += torch.bincount(scored.group, scored.count, minlength=groups)
    mean = total / count[:, None]
    loss, hits = mean[:, 0], mean[:, 1:]
    metrics = _judged(job, plan, results) if job.metrics and results else {}
    if job.target == "value":
        nothing = torch.full((groups,), math.nan, dtype=torch.float64)
        return Scores(math.nan, _mean(loss), nothing, hits.new_zeros(0), hits[:, :0], metrics, loss.sqrt())
    return Scores(_mean(hits[:, 0]), _mean(loss), hits[:, 0], hits.nanmean(dim=0), hits, metrics)


def models(job: EvalJob) -> int:
    """Models that a job compares with the labels: 1 for all, or one per client."""
    rows = [*job.ensemble.members, *([] if job.local is None else [job.local])]
    clients = max([1, *map(len, rows)])
    if clients > 1 and job.test.per_client and clients != job.test.groups:
        raise ValueError(f"{clients} models for {job.test.groups} clients with samples of their own")
    return clients


def probabilities(model: Model, ensemble: Ensemble, x: Tensor, client: Tensor, local: Tensor | None = None) -> Tensor:
    """Probabilities ``[n, classes]`` of the labels of inputs ``x [n, *shape]`` of clients ``[n]``, float64 on the CPU.

    Members, weights and ``local`` parts as of an :class:`EvalJob`; inputs of all clients go through a model at once
    where it is the same for all.
    """
    rows = [*ensemble.members, *([] if local is None else [local])]
    own = any(len(each) > 1 for each in rows) or any(isinstance(weight, Tensor) for weight in ensemble.weight)
    mixed = torch.empty(len(x), model.classes, dtype=torch.float64)
    for number in sorted(set(client.tolist())) if own else [0]:
        chosen = (client == number) if own else torch.ones_like(client, dtype=torch.bool)
        inputs = x[chosen.to(x.device)]
        likelihoods = [model.apply(_row(each, local, number), inputs).log_softmax(dim=1) for each in ensemble.members]
        weights = [_of(weight, number) for weight in ensemble.weight]
        mixed[chosen.cpu()] = _mix(likelihoods, weights).double().exp().cpu()
    return mixed


def judge(metrics: Sequence[Metric], logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
    """Scores of all metrics by name; ``logits [n, C]``, ``y [n]``, ``client [n]``."""
    return {name: value for metric in metrics for name, value in metric.score(logits, y, client).items()}


class _Networks:
    """The models of a job, in coordinates of the inputs where these span a small space."""

    def __init__(self, job: EvalJob) -> None:
        self.job = job
        with one_torch_thread():
            self.narrow = narrow_members(job)
        self.fetch = job.test.fetch if self.narrow is None else in_space(job.test.fetch)

    def inputs(self, plan: Plan, part: Part) -> Tensor:
        """Inputs of a part; labels of samples are noted."""
        if plan.asked is not None:
            return self.fetch(plan.asked.index[part.lo : part.hi])[0]
        x, plan.labels[part.lo, part.hi] = self.fetch(self.job.test.index[part.lo : part.hi])
        return x

    def likelihood(self, number: int, part: Part, x: Tensor) -> Tensor:
        """Log-probabilities ``[inputs, C]`` of a part under a member of the ensemble; of values, the predictions."""
        job, member = self.job, self.job.ensemble.members[number]
        if self.narrow is not None:
            return self.narrow[number](x.to(member)).log_softmax(dim=1)
        z = job.model.apply(_row(member, job.local, part.client), x)
        return z if job.target == "value" else z.log_softmax(dim=1)


def _learn(networks: _Networks, plan: Plan, known: Likelihoods, part: Part) -> None:
    """Add to what is ``known`` the log-probabilities of a part's inputs under every member."""
    x: Tensor | None = None
    for number, member in enumerate(networks.job.ensemble.members):
        if (place := place_of(part, member)) not in known[number]:
            x = networks.inputs(plan, part) if x is None else x
            known[number][place] = networks.likelihood(number, part, x)


def _likelihoods(networks: _Networks, plan: Plan, known: Likelihoods | None, part: Part) -> list[Tensor]:
    """Log-probabilities ``[inputs, C]`` of a part under every member, those that are known or new ones."""
    members = networks.job.ensemble.members
    if known is not None:
        return [parts[place_of(part, member)] for member, parts in zip(members, known, strict=True)]
    x = networks.inputs(plan, part)
    return [networks.likelihood(number, part, x) for number in range(len(members))]


def _score(networks: _Networks, plan: Plan, known: Likelihoods | None, part: Part) -> Scored:
    """Scores of the samples of a part, or of the questions put to its inputs."""
    job, asked, chosen = networks.job, plan.asked, slice(part.lo, part.hi)
    weights = [_of(weight, part.client) for weight in job.ensemble.weight]
    mixed = _mix(_likelihoods(networks, plan, known, part), weights)
    if job.target == "value":
        return _value_scores(job, plan, part, mixed)
    likeliest = mixed.argmax(dim=1, keepdim=True)
    if asked is None:
        y, group, count, judged = plan.labels[part.lo, part.hi], job.test.group[chosen], None, mixed
    else:
        chosen = asked.between(part.lo, part.hi)
        place = asked.place[chosen] - part.lo
        y, group, count, judged = asked.y[chosen], asked.group[chosen], asked.count[chosen].cpu(), mixed[place]
        likeliest = likeliest[place]
    y = y.to(mixed.device)[:, None]
    hits = likeliest == y if job.top == 1 else rank(judged, y) < torch.arange(1, job.top + 1).to(y)
    scores = torch.cat([-judged.gather(1, y), hits], dim=1).double().cpu()
    if count is not None:
        scores *= count[:, None]
    group = torch.full_like(group, part.client) if _everybody(job) else group
    return Scored(scores, count, group.cpu(), mixed.cpu() if job.metrics else None, y[:, 0].cpu())


def _value_scores(job: EvalJob, plan: Plan, part: Part, predicted: Tensor) -> Scored:
    """Squared errors ``[n, 1]`` of a part whose targets are values."""
    y = plan.labels[part.lo, part.hi].to(predicted.device)
    group = job.test.group[part.lo : part.hi]
    group = torch.full_like(group, part.client) if _everybody(job) else group
    errors = (predicted[:, :1] - y[:, None]).double().square().cpu()
    return Scored(errors, None, group.cpu(), predicted.cpu() if job.metrics else None, y.cpu())


def _everybody(job: EvalJob) -> bool:
    """Whether one model per client is evaluated on all samples: groups then are clients."""
    return models(job) > 1 and not job.test.per_client


def _judged(job: EvalJob, plan: Plan, results: Sequence[Scored]) -> dict[str, float]:
    """Scores of the job's metrics, which judge samples, however few inputs went through the models."""
    likelihood = torch.cat([scored.likelihood for scored in results if scored.likelihood is not None])
    if plan.asked is None:
        y, group = torch.cat([scored.y for scored in results]), torch.cat([scored.group for scored in results])
        return judge(job.metrics, likelihood, y, group)
    of, copies = plan.asked.of.cpu(), len(likelihood) // len(plan.asked.index)
    each = likelihood.view(copies, len(plan.asked.index), -1)[:, of].flatten(0, 1)
    group = torch.arange(copies).repeat_interleave(len(of)) if _everybody(job) else job.test.group.cpu()
    return judge(job.metrics, each, plan.asked.labels.cpu().repeat(copies), group)


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


def _mean(values: Tensor) -> float:
    """Plain mean over the groups that have samples."""
    return float(values.nanmean())

"""Training under way: its inputs and results, and the optimiser arithmetic that all kernels share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from fedradio.core.contracts import (
    MODEL,
    RECEIVED,
    Batches,
    Fetch,
    LocalRule,
    Loss,
    Model,
    Picks,
    Slots,
    Start,
    Trained,
    TrainJob,
)
from fedradio.core.errors import SpecError
from fedradio.core.params import Field
from fedradio.core.rng import Rng
from fedradio.engine.layers import Layer
from fedradio.losses.cross_entropy import CrossEntropy, is_plain

MEMORY = ("momentum", "adam_m", "adam_v")
"""Optimiser slots with one number per trainable parameter."""


@dataclass(frozen=True)
class LossPart:
    """What a loss needs beside labelled mini-batches of the row ``w``.

    These are ``unlabelled`` mini-batches, values ``known [A, ...]`` of the clients, ``anchors [G or A, d]`` by name,
    and the ``others``: trainings of the further rows, each with a rule, rates and initial rows of its own, in whose
    ``delta`` the rows themselves are the result. Further results: ``hits [A]``, the share of targets that point at the
    label; ``targets [A, M, C]``, those that are kept, of all samples.
    """

    loss: Loss
    unlabelled: Picks
    known: Slots
    anchors: Slots
    others: dict[str, Training]
    hits: Tensor
    targets: Tensor | None = None


@dataclass(frozen=True)
class Coordinates:
    """First layers in coordinates: the orthonormal rows ``basis [r, D]`` that span all inputs, the ``wide`` field
    ``[out, D]`` of the row, the ``layers`` of which the first is ``[out, r]``, and its ``start [G, out*r]``."""

    basis: Tensor
    wide: Field
    layers: tuple[Layer, ...]
    start: Tensor

    @property
    def narrow(self) -> Field:
        return self.layers[0].weight

    def expand(self, change: Tensor, out: Tensor) -> None:
        """Write the change ``[out*r]`` in coordinates as one of the row ``out [d]``."""
        torch.mm(change.view(self.narrow.shape), self.basis, out=out[self.wide.span].view(self.wide.shape))


@dataclass(frozen=True)
class Training:
    """Training of a cohort under way; kernels fill the result rows of every client that has updates to make.

    ``index [A, T, B]``, ``count [A, T]``, ``updates [A]`` as given; ``batch`` the most samples of an update; ``rates
    [T]`` the learning rate of each update; ``adam_n [A]`` updates made in earlier rounds; ``part`` what a loss needs
    besides (None for fused kernels); ``coordinates``, where the first layer is trained in them (and ``fetch`` gives
    them). Results: ``delta [A, d]``, ``local [A, d_local + d_buffers]``, ``loss [A]`` (the sum of mini-batch losses),
    ``memory`` (the optimiser's ``[A, d_trainable]``, where it is kept).
    """

    rule: LocalRule
    rates: list[float]
    start: Start
    index: Tensor
    count: Tensor
    batch: int
    fetch: Fetch
    updates: list[int]
    adam_n: list[float]
    rng: Rng
    delta: Tensor
    local: Tensor | None
    loss: Tensor
    memory: Slots
    part: LossPart | None = None
    coordinates: Coordinates | None = None

    @property
    def memory_names(self) -> list[str]:
        return [name for name in self.rule.state_names if name in MEMORY]

    def remembered(self, name: str) -> Tensor | None:
        """Optimiser memory ``[A, d_trainable]`` at the start of the round; None means zero."""
        return self.start.slots.get(name) if self.rule.keep_state else None


class Kernel(Protocol):
    """Training kernel: trains a group of clients at once, on one thread."""

    def train(self, training: Training, rows: list[int]) -> None:
        """Train these clients (sorted by updates, most first, none without) and write their rows of the results."""
        ...


def prepare(job: TrainJob) -> Training:
    """The training that a job asks for; clients without updates get their results (no change) here."""
    model, rule, start, batches, updates = job.model, job.rule, job.start, job.batches, job.updates
    w, clients, trainable = start.w, len(updates), model.shared.size + model.local.size
    own = model.local.size + model.buffers.size
    if own and start.local is None:
        raise ValueError(f"the model has {own} local numbers per client: Start.local is missing")
    idle = (updates <= 0).nonzero().flatten().cpu()
    delta = _result(None, (clients, model.shared.size), w, idle)
    local = None if start.local is None else _result(start.local, (clients, own), w, idle)
    names = [name for name in rule.state_names if name in MEMORY] if rule.keep_state else []
    memory = {name: _result(start.slots.get(name), (clients, trainable), w, idle) for name in names}
    counts = start.slots.get("adam_n") if rule.keep_state else None
    training = Training(
        rule=rule,
        rates=rule.rates(job.t, max(updates.tolist(), default=0)),
        start=start,
        index=batches.labelled.index,
        count=batches.labelled.count,
        batch=largest_batch(job),
        fetch=batches.fetch,
        updates=updates.tolist(),
        adam_n=[0.0] * clients if counts is None else counts.double().tolist(),
        rng=job.rng,
        delta=delta,
        local=local,
        loss=w.new_zeros(clients),
        memory=memory,
    )
    return training if is_plain(rule) else _with_loss(training, rule.loss or CrossEntropy(), job, idle)


def finish(training: Training) -> Trained:
    """Result of a finished training: mean losses and the optimiser's update counts are completed here."""
    updates = torch.tensor(training.updates, device=training.count.device)
    count = training.count if training.part is None else training.count + training.part.unlabelled.count
    due = torch.arange(count.shape[1], device=count.device) < updates[:, None]
    batches = ((count > 0) & due).sum(1).clamp(min=1)
    slots = dict(training.memory)
    if training.rule.keep_state and "adam_n" in training.rule.state_names:
        before = training.start.slots.get(
            "adam_n", torch.zeros(len(updates), dtype=training.loss.dtype, device=training.loss.device)
        )
        slots["adam_n"] = before + updates.to(before)
    trained = Trained(training.delta, training.local, training.loss / batches.to(training.loss), slots)
    part = training.part
    if part is None:
        return trained
    notes = {part.loss.target_note: part.hits} if part.loss.target_note else {}
    return replace(
        trained, rows={name: each.delta for name, each in part.others.items()}, notes=notes, targets=part.targets
    )


def check_loss(loss: Loss, rule: LocalRule, model: Model, start: Start, batches: Batches) -> None:
    """Refuse rules and models that cannot be trained with a loss, and a start without what it needs."""
    if problems := loss.check(rule, model):
        raise SpecError(problems)
    if loss.unlabelled_batch > 0 and batches.unlabelled is None:
        raise ValueError("the loss needs unlabelled samples: Batches.unlabelled is missing")
    if loss.keeps_targets and start.targets is None:
        raise ValueError("the loss continues from stored targets: Start.targets is missing")
    if missing := set(further_rows(loss)) - start.rows.keys():
        raise ValueError(f"the loss needs further rows: {', '.join(sorted(missing))} is missing in Start.rows")


def further_rows(loss: Loss) -> list[str]:
    """Rows that a loss needs beside the received ones, in ``Start.rows``."""
    return [name for name in (*loss.trains, *loss.anchors) if name not in (MODEL, RECEIVED)]


def largest_batch(job: TrainJob) -> int:
    """Most samples of an update in the cohort, unlabelled ones included where the loss uses them."""
    return sum(int(picks.count.max()) for picks in (job.batches.labelled, unlabelled_of(job)) if picks.count.numel())


def unlabelled_of(job: TrainJob) -> Picks:
    """Unlabelled mini-batches that the loss uses; empty ones where it uses none."""
    unlabelled, labelled = job.batches.unlabelled, job.batches.labelled
    if unlabelled is None or job.rule.unlabelled_batch == 0:
        return Picks(labelled.index[:, :, :0], torch.zeros_like(labelled.count))
    return unlabelled


def select(rows: list[int]) -> slice | Tensor:
    """An index of these rows, good for tensors on any device: a slice (no copy) where they are consecutive."""
    if rows == list(range(rows[0], rows[0] + len(rows))):
        return slice(rows[0], rows[0] + len(rows))
    return torch.tensor(rows)


def add_prox_and_shift(g: Tensor, w: Tensor, w0: Tensor | None, shift: Tensor | None, prox: float) -> None:
    """Proximal term and gradient shift, in place: ``g += mu*(w - w0) + shift``."""
    if w0 is not None and prox > 0:
        g.add_(w, alpha=prox).sub_(w0, alpha=prox)
    if shift is not None:
        g.add_(shift)


def adam_scales(rule: LocalRule, n: float, rate: float) -> tuple[float, float]:
    """Scales ``(size, eps')`` of Adam's update ``n`` (from 1), which replace bias-corrected copies of the moments:

    ``rate * mhat / (sqrt(vhat) + eps) = size * m / (sqrt(v) + eps')`` with
    ``size = rate * sqrt(1 - b2^n) / (1 - b1^n)`` and ``eps' = eps * sqrt(1 - b2^n)``.
    """
    root = math.sqrt(1.0 - rule.beta2**n)
    return rate * root / (1.0 - rule.beta1**n), rule.eps * root


def adam(
    rule: LocalRule, w: Tensor, g: Tensor, m: Tensor, v: Tensor, size: float | Tensor, eps: float | Tensor
) -> None:
    """One Adam update in place, with the scales of :func:`adam_scales` (numbers or broadcastable); ``g`` is spent."""
    m.lerp_(g, 1.0 - rule.beta1)
    v.mul_(rule.beta2).addcmul_(g, g, value=1.0 - rule.beta2)
    root = torch.sqrt(v, out=g).add_(eps)
    if isinstance(size, Tensor):
        w.sub_(torch.div(m, root, out=root).mul_(size))
    else:
        w.addcdiv_(m, root, value=-size)


def _with_loss(training: Training, loss: Loss, job: TrainJob, idle: Tensor) -> Training:
    """The training with what its loss needs besides."""
    start, clients = training.start, len(training.updates)
    check_loss(loss, job.rule, job.model, start, job.batches)
    others = {}
    for name in loss.trains:
        if name == MODEL:
            continue
        rule, rows = loss.row_rule(name, training.rule), start.rows[name]
        others[name] = replace(
            training,
            rule=rule,
            rates=rule.rates(job.t, len(training.rates)),
            start=Start(rows, torch.arange(clients), ids=start.ids),
            delta=_result(rows, tuple(training.delta.shape), training.delta, idle),
        )
    part = LossPart(
        loss,
        unlabelled_of(job),
        {name: values.to(training.delta) for name, values in start.known.items()},
        {name: start.w if name == RECEIVED else start.rows[name] for name in loss.anchors},
        others,
        training.loss.new_full((clients,), math.nan),
        start.targets.value.clone() if loss.keeps_targets and start.targets is not None else None,
    )
    return replace(training, part=part)


def _result(before: Tensor | None, shape: tuple[int, ...], like: Tensor, idle: Tensor) -> Tensor:
    """Uninitialised results whose idle rows are those of ``before`` (zero if None)."""
    out = torch.empty(shape, dtype=like.dtype, device=like.device)
    if len(idle):
        out[idle] = torch.zeros((), dtype=like.dtype, device=like.device) if before is None else before[idle].to(like)
    return out

"""Oracle of the training kernels and of evaluation: one client at a time, plain autograd, textbook updates."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from fedradio.core.contracts import (
    NO_SAMPLE,
    Backend,
    Batches,
    EvalJob,
    LocalRule,
    Model,
    Objective,
    PseudoLabels,
    Scores,
    Slots,
    Start,
    Trained,
    TrainJob,
)
from fedradio.core.params import Layout
from fedradio.core.rng import Rng
from fedradio.engine.evaluate import judge, models
from fedradio.engine.local import check_objective, own_rule
from fedradio.engine.objective import pseudo_labels
from fedradio.models.dropout import set_generator


class Reference(Backend):
    """The reference :class:`~fedradio.core.contracts.Backend`, slow but plain; all kernels must equal it."""

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        """Train one client after the other, whatever the groups."""
        model, rule, start, batches = job.model, job.rule, job.start, job.batches
        if rule.objective is not None:
            check_objective(rule.objective, rule, model, start, batches)
        rows = [(model, rule, job.t, start, batches, int(n), job.rng, row) for row, n in enumerate(job.updates)]
        results = [_client(*row) if rule.objective is None else _pair(rule.objective, *row) for row in rows]
        slots = {n: torch.stack([r.slots[n] for r in results]) for n in rule.state_names} if rule.keep_state else {}
        return Trained(
            torch.stack([r.delta for r in results]),
            None if start.local is None else _stack([r.local for r in results]),
            torch.stack([r.loss for r in results]),
            slots,
            _stack([r.own for r in results]),
            _stack([r.pseudo for r in results]),
            _stack([r.nu for r in results]),
        )

    def evaluate(self, job: EvalJob) -> Scores:
        """One sample after the other through its models; labels are looked up in the sorted classes."""
        test, count = job.test, models(job)
        own = count > 1 and not test.per_client
        seen: list[tuple[int, Tensor, int]] = []  # group, probabilities, label
        for client in range(count if own else 1):
            for number, at in zip(test.index, test.group.tolist(), strict=True):
                group = client if own else at
                seen.append((group, *_probabilities(job, group if count > 1 else 0, number)))
        by_group = [[(p, y) for g, p, y in seen if g == group] for group in range(count if own else test.groups)]
        loss = _double([_plain_mean([-float(p[y].log()) for p, y in rows]) for rows in by_group])
        ranks = [[p.argsort(descending=True, stable=True).tolist().index(y) for p, y in rows] for rows in by_group]
        top = _double([[_plain_mean([rank < m for rank in rows]) for m in range(1, job.top + 1)] for rows in ranks])
        logits, y = torch.stack([p for _, p, _ in seen]).log(), torch.tensor([y for _, _, y in seen])
        metrics = judge(job.metrics, logits, y, torch.tensor([group for group, _, _ in seen]))
        accuracy = top[:, 0]
        return Scores(float(accuracy.nanmean()), float(loss.nanmean()), accuracy, top.nanmean(dim=0), top, metrics)


def _double(values: list[Any]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _plain_mean(values: Sequence[float]) -> float:
    """Mean of a group; NaN without samples."""
    return fmean(values) if values else math.nan


def _probabilities(job: EvalJob, client: int, number: Tensor) -> tuple[Tensor, int]:
    """Mixture ``sum_m a_m softmax(z_m)`` of a client's models for one sample, and its label."""
    x, y = job.test.fetch(number[None])
    mixed = torch.zeros(job.model.classes)
    for member, weight in zip(job.ensemble.members, job.ensemble.weight, strict=True):
        row = member[client if len(member) > 1 else 0]
        if job.local is not None:
            row = torch.cat([row, job.local[client if len(job.local) > 1 else 0]])
        share = weight[client] if isinstance(weight, Tensor) else weight
        mixed = mixed + share * job.model.apply(row, x)[0].softmax(0)
    return mixed, int(y)


def _client(
    model: Model, rule: LocalRule, t: int, start: Start, batches: Batches, updates: int, rng: Rng, row: int
) -> Trained:
    """Supervised training of one client; the result has no client axis."""
    w0, w, buffers = _initial(model, start, row)
    state = _state(rule, start, row, w)
    module = _module(model, rng.child("dropout", start.client(row)), w)
    losses = []
    for j, rate in enumerate(rule.rates(t, updates)):
        count = int(batches.labelled.count[row, j])
        gradient = torch.zeros_like(w)
        if count > 0:
            x, y = batches.fetch(batches.labelled.index[row, j, :count])
            leaf = w.clone().requires_grad_(True)
            loss = cross_entropy(_logits(model, module, leaf, buffers, x), y)
            (gradient,) = torch.autograd.grad(loss, leaf)
            losses.append(loss.detach())
        w = _update(rule, rate, w, _with_prox_and_shift(rule, start, row, w, w0, gradient), state)
    return Trained(w[: len(w0)] - w0, torch.cat([w[len(w0) :], buffers]), _mean(losses, w), state)


def _pair(
    objective: Objective,
    model: Model,
    rule: LocalRule,
    t: int,
    start: Start,
    batches: Batches,
    updates: int,
    rng: Rng,
    row: int,
) -> Trained:
    """Semi-supervised training of one client, or of its pair of models (FedCPSL, Algorithm 1): costs (4) and (6c) of
    plain probabilities, both gradients at the models before the update; the result has no client axis."""
    w0, w, buffers = _initial(model, start, row)
    state = _state(rule, start, row, w)
    module = _module(model, rng.child("dropout", start.client(row)), w)
    received = torch.cat([w, buffers])
    second = own_rule(rule, objective)
    own = w if start.own is None else start.own[row].clone()
    b = 0.0 if start.mixture is None else float(start.mixture[row])
    own_state = _state(second, start, row, own)
    own_module = _module(model, rng.child("dropout_own", start.client(row)), w)
    kept = _kept_labels(objective, model, start, batches, received, row) if updates > 0 else start.labels
    losses, hits = [], [torch.zeros(0)]
    for j, (rate, own_rate) in enumerate(zip(rule.rates(t, updates), second.rates(t, updates), strict=True)):
        index, n = batches.labelled.index[row, j], int(batches.labelled.count[row, j])
        index = index[:n]
        if batches.unlabelled is not None and objective.unlabelled_batch > 0:
            index = torch.cat([index, batches.unlabelled.index[row, j, : int(batches.unlabelled.count[row, j])]])
        gradient, own_gradient = torch.zeros_like(w), torch.zeros_like(own)
        if len(index) > 0:
            x, y = batches.fetch(index)
            nu = w.new_zeros(0, model.classes)
            if len(index) > n:
                nu = pseudo_labels(objective, model.apply(received, x[n:]))
                if objective.keeps_labels and kept is not None:
                    nu = torch.stack([kept.nu[row][kept.number[row] == number].squeeze(0) for number in index[n:]])
                hits.append((nu.argmax(1) == y[n:]).float())
            leaf = w.clone().requires_grad_(True)
            h = _logits(model, module, leaf, buffers, x).softmax(1)
            f = _cost(objective, h, y[:n], nu)
            (gradient,) = torch.autograd.grad(f, leaf, retain_graph=True)
            losses.append(f.detach())
            if objective.pair:
                leaf = own.clone().requires_grad_(True)
                p = b * _logits(model, own_module, leaf, buffers, x).softmax(1) + (1 - b) * h.detach()
                (own_gradient,) = torch.autograd.grad(_cost(objective, p, y[:n], nu), leaf)
        w = _update(rule, rate, w, _with_prox_and_shift(rule, start, row, w, w0, gradient), state)
        own = _update(second, own_rate, own, own_gradient, own_state)
    pseudo = torch.cat(hits).to(w).mean() if objective.alpha_p > 0 else w.new_full((), math.nan)
    result = Trained(w[: len(w0)] - w0, torch.cat([w[len(w0) :], buffers]), _mean(losses, w), state)
    result = replace(result, own=own if objective.pair else None, pseudo=pseudo)
    return replace(result, nu=kept.nu[row]) if objective.keeps_labels and kept is not None else result


def _kept_labels(
    objective: Objective, model: Model, start: Start, batches: Batches, received: Tensor, row: int
) -> PseudoLabels | None:
    """The kept labels after one step (10) of every sample of a client."""
    if start.labels is None:
        return None
    number, nu = start.labels.number, start.labels.nu.clone()
    for place, sample in enumerate(number[row].tolist()):
        if sample != NO_SAMPLE:
            x, _ = batches.fetch(torch.tensor([sample]))
            nu[row, place] = pseudo_labels(objective, model.apply(received, x)[0], nu[row, place])
    return PseudoLabels(number, nu)


def _cost(objective: Objective, p: Tensor, y: Tensor, nu: Tensor) -> Tensor:
    """The cost (4) of probabilities ``p [n_L + n_U, C]``."""
    labelled, unlabelled, uniform = p[: len(y)], p[len(y) :], math.log(p.shape[1])
    total = p.new_zeros(())
    if len(y):
        total = total - labelled.log().gather(1, y[:, None]).mean()
    if len(nu):
        fit = -(nu * unlabelled.log()).sum(1).mean()
        divergence = (torch.xlogy(nu, nu) + unlabelled * unlabelled.log()).sum(1).mean() + 2 * uniform
        total = total + objective.alpha_p * fit + objective.alpha_r * divergence
    return total


def _initial(model: Model, start: Start, row: int) -> tuple[Tensor, Tensor, Tensor]:
    """Initial rows of a client: the received ``[d]``, the trainable ``[shared | local]``, and the buffers."""
    w0 = start.w[start.group[row]]
    local = w0.new_zeros(0) if start.local is None else start.local[row]
    return w0, torch.cat([w0, local[: model.local.size]]), local[model.local.size :].clone()


def _module(model: Model, rng: Rng, like: Tensor) -> nn.Module:
    """Copy of the module in training mode, with dropout masks from ``rng``."""
    module = copy.deepcopy(model.module).to(like.device).train()
    set_generator(module, rng.torch(like.device))
    return module


def _logits(model: Model, module: nn.Module, w: Tensor, buffers: Tensor, x: Tensor) -> Tensor:
    """Logits of a forward pass in training mode, which updates ``buffers``."""
    x = x.to(w.dtype) if x.is_floating_point() else x
    tensors = {**_named(model.shared, model.local, w), **model.buffers.views(buffers)}
    logits: Tensor = functional_call(module, tensors, (x,))
    return logits


def _with_prox_and_shift(rule: LocalRule, start: Start, row: int, w: Tensor, w0: Tensor, gradient: Tensor) -> Tensor:
    """Gradient with proximal term and shift, ``g + mu*(w - w0) + shift``; both act on the shared part."""
    d = len(w0)
    gradient[:d] += rule.prox * (w[:d] - w0)
    if start.shift is not None:
        gradient[:d] += start.shift[row]
    return gradient


def _mean(losses: list[Tensor], like: Tensor) -> Tensor:
    return torch.stack(losses).mean() if losses else like.new_zeros(())


def _stack(rows: list[Tensor | None]) -> Tensor | None:
    present = [row for row in rows if row is not None]
    return torch.stack(present) if present else None


def _named(shared: Layout, local: Layout, row: Tensor) -> dict[str, Tensor]:
    return {**shared.views(row[: shared.size]), **local.views(row[shared.size :])}


def _state(rule: LocalRule, start: Start, row: int, w: Tensor) -> Slots:
    """Optimiser memory of a client: kept from earlier rounds, or zeros."""
    blank = {"adam_n": w.new_zeros(())}
    return {
        name: start.slots[name][row].clone()
        if rule.keep_state and name in start.slots
        else blank.get(name, torch.zeros_like(w))
        for name in rule.state_names
    }


def _update(rule: LocalRule, rate: float, w: Tensor, g: Tensor, state: Slots) -> Tensor:
    """One update: ``v = gam*v + g; w - rate*v``, or Adam with bias correction."""
    if rule.optimiser == "adam":
        state["adam_n"] = state["adam_n"] + 1
        n = float(state["adam_n"])  # powers in double precision: 1 - 0.999 loses four digits in float32
        state["adam_m"] = m = rule.beta1 * state["adam_m"] + (1 - rule.beta1) * g
        state["adam_v"] = v = rule.beta2 * state["adam_v"] + (1 - rule.beta2) * g**2
        m_hat, v_hat = m / (1 - rule.beta1**n), v / (1 - rule.beta2**n)
        step: Tensor = rate * m_hat / (v_hat.sqrt() + rule.eps)
        return w - step
    if rule.momentum > 0:
        state["momentum"] = g = rule.momentum * state["momentum"] + g
    return w - rate * g

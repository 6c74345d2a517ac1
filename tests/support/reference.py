"""Oracle of the training kernels and of evaluation: one client at a time, plain autograd, textbook updates."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from fedradio.core.contracts import (
    MODEL,
    NO_SAMPLE,
    RECEIVED,
    Backend,
    Batch,
    EvalJob,
    KeptTargets,
    LocalRule,
    Loss,
    Model,
    Outputs,
    Scores,
    Slots,
    Start,
    Trained,
    TrainJob,
)
from fedradio.core.params import Layout
from fedradio.core.rng import Rng
from fedradio.engine.evaluate import judge, models
from fedradio.engine.layers import head_of
from fedradio.engine.local import check_loss
from fedradio.losses.cross_entropy import CrossEntropy
from fedradio.models.dropout import set_generator


class Reference(Backend):
    """The reference :class:`~fedradio.core.contracts.Backend`, slow but plain; all kernels must equal it."""

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        """Train one client after the other, whatever the groups."""
        rule, start = job.rule, job.start
        if rule.loss is not None:
            check_loss(rule.loss, rule, job.model, start, job.batches)
        results = [_client(job, row) for row in range(len(job.updates))]
        return Trained(
            torch.stack([r.delta for r in results]),
            None if start.local is None else _stack([r.local for r in results]),
            torch.stack([r.loss for r in results]),
            _by_name([r.slots for r in results]) if rule.keep_state else {},
            _by_name([r.rows for r in results]),
            _by_name([r.notes for r in results]),
            _stack([r.targets for r in results]),
        )

    def evaluate(self, job: EvalJob) -> Scores:
        """One sample after the other through its models; labels are looked up in the sorted classes."""
        test, count = job.test, models(job)
        own = count > 1 and not test.per_client
        seen: list[tuple[int, Tensor, Any]] = []  # group, probabilities, label
        for client in range(count if own else 1):
            for number, at in zip(test.index, test.group.tolist(), strict=True):
                group = client if own else at
                seen.append((group, *_probabilities(job, group if count > 1 else 0, number)))
        if job.target == "value":
            return _value_scores(job, seen, count if own else test.groups)
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


def _value_scores(job: EvalJob, seen: list[tuple[int, Tensor, Any]], groups: int) -> Scores:
    """Errors of predicted values, one sample after the other."""
    errors = [[float((p[0] - y) ** 2) for g, p, y in seen if g == group] for group in range(groups)]
    loss = _double([_plain_mean(each) for each in errors])
    logits, y = torch.stack([p for _, p, _ in seen]), torch.stack([y for _, _, y in seen])
    metrics = judge(job.metrics, logits, y, torch.tensor([group for group, _, _ in seen]))
    none, empty = torch.full_like(loss, math.nan), loss.new_zeros(0)
    return Scores(math.nan, float(loss.nanmean()), none, empty, loss.new_zeros(groups, 0), metrics, loss.sqrt())


def _probabilities(job: EvalJob, client: int, number: Tensor) -> tuple[Tensor, Any]:
    """Mixture ``sum_m a_m softmax(z_m)`` of a client's models for one sample, and its label; of values, the model's
    output."""
    x, y = job.test.fetch(number[None])
    if job.target == "value":
        row = job.ensemble.members[0][client if len(job.ensemble.members[0]) > 1 else 0]
        local = torch.zeros(0) if job.local is None else job.local[client if len(job.local) > 1 else 0]
        return job.model.apply(torch.cat([row, local]), x)[0], y[0]
    mixed = torch.zeros(job.model.classes)
    for member, weight in zip(job.ensemble.members, job.ensemble.weight, strict=True):
        row = member[client if len(member) > 1 else 0]
        if job.local is not None:
            row = torch.cat([row, job.local[client if len(job.local) > 1 else 0]])
        share = weight[client] if isinstance(weight, Tensor) else weight
        mixed = mixed + share * job.model.apply(row, x)[0].softmax(0)
    return mixed, int(y)


def _client(job: TrainJob, row: int) -> Trained:
    """Training of one client and all rows of its loss, every gradient by autograd at the rows before the update; the
    result has no client axis."""
    model, start, batches, updates = job.model, job.start, job.batches, int(job.updates[row])
    loss = job.rule.loss or CrossEntropy()
    w0, w, buffers = _initial(model, start, row)
    received = torch.cat([w, buffers])
    rows = {MODEL: w} | {name: start.rows[name][row].clone() for name in loss.trains if name != MODEL}
    anchors = {
        name: received if name == RECEIVED else torch.cat([start.rows[name][row], received[len(w0) :]])
        for name in loss.anchors
    }
    rules = {name: job.rule if name == MODEL else loss.row_rule(name, job.rule) for name in rows}
    states = {name: _state(rules[name], start, row, rows[name]) for name in rows}
    modules = {
        name: _module(model, job.rng.child(_dropout(name), start.client(row)), received) for name in rows | anchors
    }
    kept = _kept_targets(loss, job, received, row) if updates > 0 else start.targets
    known = {name: values[row : row + 1].to(w) for name, values in start.known.items()}
    rates = {name: rule.rates(job.t, updates) for name, rule in rules.items()}
    costs, hits = [], [torch.zeros(0)]
    for j in range(updates):
        index, n = batches.labelled.index[row, j], int(batches.labelled.count[row, j])
        index = index[:n]
        if batches.unlabelled is not None and loss.unlabelled_batch > 0:
            index = torch.cat([index, batches.unlabelled.index[row, j, : int(batches.unlabelled.count[row, j])]])
        gradients = {name: torch.zeros_like(values) for name, values in rows.items()}
        if len(index) > 0:
            x, y = batches.fetch(index)
            targets = w.new_full((len(index) - n, model.classes), 1.0 / model.classes)
            if len(index) > n and loss.makes_targets:
                targets = loss.targets(model.apply(received, x[n:]))
                if loss.keeps_targets and kept is not None:
                    places = [kept.number[row] == number for number in index[n:]]
                    targets = torch.stack([kept.value[row][place].squeeze(0) for place in places])
                hits.append((targets.argmax(1) == y[n:]).float())
            batch = Batch(y[None, :n], _equal(n, w), targets[None], _equal(len(index) - n, w), known)
            leaves = {name: values.clone().requires_grad_(True) for name, values in rows.items()}
            out = {name: _outputs(model, modules[name], leaf, buffers, x, loss) for name, leaf in leaves.items()}
            for name, values in anchors.items():
                out[name] = _outputs(model, modules[name].eval(), values[: len(w)], values[len(w) :], x, loss)
            cost = loss.costs(out, batch)
            for name, leaf in leaves.items():
                (gradients[name],) = torch.autograd.grad(cost[name].sum(), leaf, retain_graph=True)
            costs.append(cost[MODEL][0].detach())
            if job.rule.sharpness > 0 and float(gradients[MODEL].norm()) > 0:
                higher = rows[MODEL] + job.rule.sharpness * gradients[MODEL] / gradients[MODEL].norm()
                leaf = higher.requires_grad_(True)
                out[MODEL] = _outputs(model, modules[MODEL], leaf, buffers, x, loss)
                (gradients[MODEL],) = torch.autograd.grad(loss.costs(out, batch)[MODEL].sum(), leaf)
        gradients[MODEL] = _with_prox_and_shift(job.rule, start, row, rows[MODEL], w0, gradients[MODEL])
        resting = job.rule.rests(j, len(w0))
        held = (
            {}
            if resting is None
            else {name: each[resting].clone() for name, each in states[MODEL].items() if each.ndim}
        )
        here = rows[MODEL]
        rows = {
            name: _update(rules[name], rates[name][j], values, gradients[name], states[name])
            for name, values in rows.items()
        }
        if resting is not None:
            rows[MODEL][resting] = here[resting]
            for name, values in held.items():
                states[MODEL][name][resting] = values
    w = rows.pop(MODEL)
    share = torch.cat(hits).to(w).mean() if loss.makes_targets else w.new_full((), math.nan)
    return Trained(
        w[: len(w0)] - w0,
        torch.cat([w[len(w0) :], buffers]),
        _mean(costs, w),
        states[MODEL],
        rows,
        {loss.target_note: share} if loss.target_note else {},
        kept.value[row] if loss.keeps_targets and kept is not None else None,
    )


def _dropout(name: str) -> str:
    """Name of the generator of a row's dropout masks."""
    return "dropout" if name == MODEL else f"dropout_{name}"


def _equal(count: int, like: Tensor) -> Tensor:
    """Equal weights ``[1, count]`` of so many samples."""
    return like.new_full((1, count), 1.0 / max(count, 1))


def _kept_targets(loss: Loss, job: TrainJob, received: Tensor, row: int) -> KeptTargets | None:
    """The kept targets of a client after the loss has made new ones of every sample."""
    kept = job.start.targets
    if kept is None:
        return None
    number, value = kept.number, kept.value.clone()
    for place, sample in enumerate(number[row].tolist()):
        if sample != NO_SAMPLE:
            x, _ = job.batches.fetch(torch.tensor([sample]))
            value[row, place] = loss.targets(job.model.apply(received, x)[0], value[row, place])
    return KeptTargets(number, value)


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


def _outputs(model: Model, module: nn.Module, w: Tensor, buffers: Tensor, x: Tensor, loss: Loss) -> Outputs:
    """Outputs of a forward pass in the module's mode, with a client axis of 1."""
    head = head_of(module, model.classes) if loss.reads_features else None
    if head is None:
        return Outputs(_logits(model, module, w, buffers, x)[None])
    noted: list[Tensor] = []
    with module.get_submodule(head).register_forward_pre_hook(lambda _, inputs: noted.append(inputs[0])):
        z = _logits(model, module, w, buffers, x)
    return Outputs(z[None], noted[0].flatten(1)[None])


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


def _by_name(results: list[Slots]) -> Slots:
    return {name: torch.stack([each[name] for each in results]) for name in results[0]}


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

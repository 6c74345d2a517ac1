"""The oracle: one client at a time, plain autograd, textbook updates. Every kernel must equal it."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from fedradio.core.contracts import Batches, LocalRule, Model, Slots, Start, Trained
from fedradio.core.params import Layout
from fedradio.core.rng import Rng
from fedradio.models.dropout import set_generator


class Reference:
    """A :class:`~fedradio.core.contracts.Backend` that is written to be read."""

    def run(
        self, model: Model, rule: LocalRule, t: int, start: Start, batches: Batches, updates: Tensor, rng: Rng
    ) -> Trained:
        results = [_client(model, rule, t, start, batches, int(n), rng, row) for row, n in enumerate(updates)]
        deltas, locals_, losses, slots = zip(*results, strict=True)
        kept = {name: torch.stack([s[name] for s in slots]) for name in rule.state_names} if rule.keep_state else {}
        local = None if start.local is None else torch.stack(locals_)
        return Trained(torch.stack(deltas), local, torch.stack(losses), kept)


def _client(
    model: Model, rule: LocalRule, t: int, start: Start, batches: Batches, updates: int, rng: Rng, row: int
) -> tuple[Tensor, Tensor, Tensor, Slots]:
    """``(delta [d], local part, mean loss, optimiser's memory)`` of one client."""
    w0 = start.w[start.group[row]]
    rest = w0.new_zeros(0) if start.local is None else start.local[row]
    w = torch.cat([w0, rest[: model.local.size]])  # the trainable part [shared | local]
    buffers = rest[model.local.size :].clone()
    state = _state(rule, start, row, w)
    module = copy.deepcopy(model.module).to(w.device).train()
    set_generator(module, rng.child("dropout", start.name(row)).torch(w.device))
    losses = []
    for j, rate in enumerate(rule.rates(t, updates)):
        count = int(batches.labelled.count[row, j])
        gradient = torch.zeros_like(w)
        if count > 0:
            x, y = batches.fetch(batches.labelled.index[row, j, :count])
            x = x.to(w.dtype) if x.is_floating_point() else x
            leaf = w.clone().requires_grad_(True)
            tensors = {**_named(model.shared, model.local, leaf), **model.buffers.views(buffers)}
            loss = cross_entropy(functional_call(module, tensors, (x,)), y)
            (gradient,) = torch.autograd.grad(loss, leaf)
            losses.append(loss.detach())
        d = model.shared.size
        gradient[:d] += rule.prox * (w[:d] - w0)
        if start.shift is not None:
            gradient[:d] += start.shift[row]
        w = _update(rule, rate, w, gradient, state)
    loss = torch.stack(losses).mean() if losses else w.new_zeros(())
    return w[: model.shared.size] - w0, torch.cat([w[model.shared.size :], buffers]), loss, state


def _named(shared: Layout, local: Layout, row: Tensor) -> dict[str, Tensor]:
    return {**shared.views(row[: shared.size]), **local.views(row[shared.size :])}


def _state(rule: LocalRule, start: Start, row: int, w: Tensor) -> Slots:
    """The client's kept memory, or zeros."""
    blank = {"adam_n": w.new_zeros(())}
    return {
        name: start.slots[name][row].clone()
        if rule.keep_state and name in start.slots
        else blank.get(name, torch.zeros_like(w))
        for name in rule.state_names
    }


def _update(rule: LocalRule, rate: float, w: Tensor, g: Tensor, state: Slots) -> Tensor:
    """``v = gam*v + g; w - rate*v``, or Adam with bias correction."""
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

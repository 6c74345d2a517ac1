"""Kernel for any other network: autograd, one client at a time, on parameters that are views of one flat buffer."""

from __future__ import annotations

import copy
import threading

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedradio.core.contracts import Model
from fedradio.engine.local import Job, adam, adam_scales, drive
from fedradio.models.dropout import has_dropout, set_generator
from fedradio.models.model import as_input, prefers_channels_last


class Autograd:
    """Trains any module; convolutions on channels-last images where the module allows it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.channels_last = prefers_channels_last(model.module, model.shape)
        self.dropout = has_dropout(model.module)
        self._thread = threading.local()

    def stack(self, job: Job) -> int:
        return 1

    @torch.enable_grad()
    def train(self, job: Job, rows: list[int]) -> None:
        network = self._network(job)
        for row in rows:
            if self.dropout:
                set_generator(network.module, job.rng.child("dropout", job.start.name(row)).torch(job.delta.device))
            network.load(job, row)
            job.loss[row] = self._steps(network, job, row)
            network.store(job, row)

    def _steps(self, network: Network, job: Job, row: int) -> Tensor:
        """All updates of one client; returns the sum of its mini-batch losses."""
        total = job.delta.new_zeros(())
        counts = job.count[row].tolist()
        for j, rate in enumerate(job.rates[: job.updates[row]]):
            network.grad.zero_()
            if counts[j] > 0:
                x, y = job.fetch(job.index[row, j, : counts[j]])
                x = as_input(x, job.delta.dtype, self.channels_last)
                loss = cross_entropy(network.module(x), y)
                loss.backward()  # type: ignore[no-untyped-call]
                total += loss.detach()
            network.update(job, row, j, rate)
        return total

    def _network(self, job: Job) -> Network:
        """This thread's copy of the module and its buffers."""
        key = (job.rule.state_names, job.delta.dtype, job.delta.device)
        if getattr(self._thread, "key", None) != key:
            self._thread.network = Network(self.model, job.memory_names, job.delta)
            self._thread.key = key
        network: Network = self._thread.network
        return network


class Network:
    """A module whose trainable tensors ``[shared | local]`` are views of ``w``, their gradients views of ``grad``."""

    def __init__(self, model: Model, memory: list[str], like: Tensor) -> None:
        self.shared, self.trainable = model.shared.size, model.shared.size + model.local.size
        self.w = like.new_zeros(self.trainable)
        self.w0 = like.new_zeros(self.shared)
        self.grad = like.new_zeros(self.trainable)
        self.buffers = like.new_zeros(model.buffers.size)
        self.memory = {name: torch.zeros_like(self.w) for name in memory}
        self.module = copy.deepcopy(model.module).to(like.device, like.dtype).train()
        _bind(self.module, model, self.w, self.grad, self.buffers)

    @torch.no_grad()
    def load(self, job: Job, row: int) -> None:
        self.w0.copy_(job.start.w[job.start.group[row]])
        self.w[: self.shared] = self.w0
        if job.start.local is not None:
            own = self.trainable - self.shared
            self.w[self.shared :] = job.start.local[row, :own]
            self.buffers.copy_(job.start.local[row, own:])
        for name, memory in self.memory.items():
            before = job.remembered(name)
            memory.zero_() if before is None else memory.copy_(before[row])

    @torch.no_grad()
    def store(self, job: Job, row: int) -> None:
        torch.sub(self.w[: self.shared], self.w0, out=job.delta[row])
        if job.local is not None:
            torch.cat([self.w[self.shared :], self.buffers], out=job.local[row])
        for name, kept in job.memory.items():
            kept[row] = self.memory[name]

    @torch.no_grad()
    def update(self, job: Job, row: int, j: int, rate: float) -> None:
        """``v = gam*v + g + mu*(w - w0) + shift; w -= rate*v``, or Adam; prox and shift act on the shared part only."""
        rule = job.rule
        shift = None if job.start.shift is None else job.start.shift[row]
        drive(self.grad[: self.shared], self.w[: self.shared], self.w0, shift, rule.prox)
        if rule.optimiser == "adam":
            size, eps = adam_scales(rule, job.adam_n[row] + j + 1, rate)
            adam(rule, self.w, self.grad, self.memory["adam_m"], self.memory["adam_v"], size, eps)
        elif rule.momentum > 0:
            self.w.add_(self.memory["momentum"].mul_(rule.momentum).add_(self.grad), alpha=-rate)
        else:
            self.w.add_(self.grad, alpha=-rate)


def _bind(module: nn.Module, model: Model, w: Tensor, grad: Tensor, buffers: Tensor) -> None:
    """Put the module's tensors where the flat ones are; it keeps its parameter objects, so that ties stay tied."""
    d = model.shared.size
    values = model.shared.views(w[:d]) | model.local.views(w[d:])
    gradients = model.shared.views(grad[:d]) | model.local.views(grad[d:])
    for name, parameter in module.named_parameters():
        parameter.data = values[name]
        parameter.grad = gradients[name]
    statistics = model.buffers.views(buffers)
    for name, buffer in module.named_buffers():
        if name in statistics:
            buffer.data = statistics[name]

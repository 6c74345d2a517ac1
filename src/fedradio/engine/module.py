"""Training kernel of any other network: autograd, one client at a time, on parameters that are views of a flat row."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedradio.core.contracts import Model, Precision
from fedradio.core.errors import Problem, SpecError
from fedradio.engine.distinct import Shared, distinct, repeating
from fedradio.engine.local import Training, adam, adam_scales, add_prox_and_shift
from fedradio.engine.precision import autocast
from fedradio.models.checks import refuses_single, sample_by_sample
from fedradio.models.dropout import has_dropout, set_generator
from fedradio.models.model import as_input, prefers_channels_last
from fedradio.models.own import is_own, named_failure


class Autograd:
    """Kernel for any module; convolutions use channels-last images where the module allows it."""

    def __init__(self, model: Model, precision: Precision = "float32") -> None:
        self.model, self.precision = model, precision
        self.channels_last = prefers_channels_last(model.module, model.shape)
        self.dropout = has_dropout(model.module)
        self.needs_two = refuses_single(model.module, model.shape)
        self.own = is_own(model)
        self._thread = threading.local()

    @torch.enable_grad()
    def train(self, training: Training, rows: list[int]) -> None:
        network = self._network(training)
        for row in rows:
            if self.needs_two:
                _check_counts(training, row)
            if self.dropout:
                set_generator(
                    network.module,
                    training.rng.child("dropout", training.start.client(row)).torch(training.delta.device),
                )
            network.load(training, row)
            training.loss[row] = self._steps(network, training, row)
            network.store(training, row)

    def _steps(self, network: Network, training: Training, row: int) -> Tensor:
        """All updates of one client; returns the sum of its mini-batch losses."""
        total = training.delta.new_zeros(())
        counts = training.count[row].tolist()
        shared = self._shared(network, training, row)
        for j, rate in enumerate(training.rates[: training.updates[row]]):
            gradients: Sequence[Tensor | None] = ()
            if (n := counts[j]) > 0:
                index = training.index[row, j, :n] if shared is None else shared.index[j, 0, : shared.number[j][0]]
                x, y = training.fetch(index)
                x = as_input(x, training.delta.dtype, self.channels_last)
                with named_failure(self.own, self.model.module, x, "training"):
                    with autocast(self.precision, x.device):
                        if shared is None:
                            z = network.module(x)
                        else:
                            z, y = network.spread(x, shared.place[j, 0, :n]), shared.y[j, 0, :n]
                        loss = cross_entropy(z, y)  # which autocast computes in float32
                    gradients = torch.autograd.grad(loss, network.parameters, allow_unused=True)
                total += loss.detach()
            network.update(training, row, j, rate, gradients)
        return total

    def _shared(self, network: Network, training: Training, row: int) -> Shared | None:
        """Distinct inputs of a client's mini-batches, where some layers treat every sample by itself."""
        if repeating(training.fetch) is None or network.alike is None:
            return None
        index, count, steps = training.index[row], training.count[row], training.updates[row]
        return distinct(training.fetch, index[None, :steps], count[None, :steps], [steps], training.delta)

    def _network(self, training: Training) -> Network:
        """This thread's copy of the module and its buffers."""
        key = (training.rule.state_names, training.delta.dtype, training.delta.device)
        if getattr(self._thread, "key", None) != key:
            self._thread.network = Network(self.model, training.memory_names, training.delta)
            self._thread.key = key
        network: Network = self._thread.network
        return network


class Network:
    """A module whose trainable tensors ``[shared | local]`` are views of ``w``; optimisers see the flat vectors."""

    def __init__(self, model: Model, memory: list[str], like: Tensor) -> None:
        self.shared, self.trainable = model.shared.size, model.shared.size + model.local.size
        self.w = like.new_zeros(self.trainable)
        self.w0 = self.w[: self.shared]
        self.buffers = like.new_zeros(model.buffers.size)
        self.memory = {name: torch.zeros_like(self.w) for name in memory}
        self.module = copy.deepcopy(model.module).to(like.device, like.dtype).train()
        _bind(self.module, _views(model, self.w) | model.buffers.views(self.buffers))
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        # what gradients are added to: the parameters themselves, the momentum, or (Adam) a vector of their own
        self.sum = self.memory.get("momentum", torch.zeros_like(self.w) if memory else self.w)
        views = _views(model, self.sum)
        self._parts = [views[name] for name, p in self.module.named_parameters() if p.requires_grad]
        self._model = model

    @cached_property
    def alike(self) -> nn.Module | None:
        """The part of the module, from its start, that treats every sample by itself; None if it has none."""
        name = sample_by_sample(self._model.module, self._model.shape)
        return None if name is None else self.module.get_submodule(name)

    def spread(self, x: Tensor, place: Tensor) -> Tensor:
        """Outputs of samples ``[b, ...]`` whose inputs are ``x[place]``, each distinct input computed once as far as
        samples are treated by themselves."""
        assert self.alike is not None

        def expand(_module: nn.Module, _inputs: object, output: Tensor) -> Tensor:
            spread = output.index_select(0, place)  # loses channels-last memory
            images = output.dim() == 4 and output.is_contiguous(memory_format=torch.channels_last)
            return spread.contiguous(memory_format=torch.channels_last) if images else spread

        with self.alike.register_forward_hook(expand):
            out: Tensor = self.module(x)
        return out

    @torch.no_grad()
    def load(self, training: Training, row: int) -> None:
        """Copy a client's initial model, local parameters, buffers and optimiser memory into the network."""
        self.w0 = training.start.w[int(training.start.group[row])]
        self.w[: self.shared] = self.w0
        if training.start.local is not None:
            own = self.trainable - self.shared
            self.w[self.shared :] = training.start.local[row, :own]
            self.buffers.copy_(training.start.local[row, own:])
        for name, memory in self.memory.items():
            before = training.remembered(name)
            memory.zero_() if before is None else memory.copy_(before[row])

    @torch.no_grad()
    def store(self, training: Training, row: int) -> None:
        """Copy the client's model change, local parameters, buffers and optimiser memory into the results."""
        torch.sub(self.w[: self.shared], self.w0, out=training.delta[row])
        if training.local is not None:
            torch.cat([self.w[self.shared :], self.buffers], out=training.local[row])
        for name, rows in training.memory.items():
            rows[row] = self.memory[name]
        self.w0 = self.w[: self.shared]  # releases the received models

    @torch.no_grad()
    def update(self, training: Training, row: int, j: int, rate: float, gradients: Sequence[Tensor | None]) -> None:
        """``v = gam*v + g + mu*(w - w0) + shift; w -= rate*v``, or Adam; prox and shift act on the shared part only.

        ``gradients`` of the parameters; None where the loss does not depend on one, nothing at all without samples.
        """
        resting = training.rule.rests(j, self.shared)
        before = [] if resting is None else [(rows, rows[resting].clone()) for rows in (self.w, *self.memory.values())]
        self._move(training, row, j, rate, gradients)
        for rows, kept in before:
            rows[resting] = kept

    def _move(self, training: Training, row: int, j: int, rate: float, gradients: Sequence[Tensor | None]) -> None:
        """The update of all parameters."""
        rule, own = training.rule, slice(self.shared)
        shift = None if training.start.shift is None else training.start.shift[row]
        if rule.optimiser == "adam":
            self.sum.zero_()
        elif rule.momentum > 0:
            self.sum.mul_(rule.momentum)
        else:  # straight into the parameters, which spares a pass over a flat gradient
            if rule.prox > 0:
                self.w[own].lerp_(self.w0, rate * rule.prox)
            if shift is not None:
                self.w[own].add_(shift, alpha=-rate)
            self._add(gradients, -rate)
            return
        self._add(gradients, 1.0)
        add_prox_and_shift(self.sum[own], self.w[own], self.w0, shift, rule.prox)
        if rule.optimiser == "adam":
            size, eps = adam_scales(rule, training.adam_n[row] + j + 1, rate)
            adam(rule, self.w, self.sum, self.memory["adam_m"], self.memory["adam_v"], size, eps)
        else:
            self.w.add_(self.sum, alpha=-rate)

    def _add(self, gradients: Sequence[Tensor | None], factor: float) -> None:
        pairs = [(part, g) for part, g in zip(self._parts, gradients, strict=False) if g is not None]
        if pairs:
            parts, present = map(list, zip(*pairs, strict=True))
            torch._foreach_add_(parts, present, alpha=factor)


def _check_counts(training: Training, row: int) -> None:
    if bool((training.count[row, : training.updates[row]] == 1).any()):
        reason = (
            f"client {training.start.client(row)} has a mini-batch of one sample, too small for the model's batch norm"
        )
        remedy = "use a batch size that does not leave a single sample over, or a model with group or layer norm"
        raise SpecError(Problem("rule.batch", reason, remedy, training.rule.batch))


def _views(model: Model, row: Tensor) -> dict[str, Tensor]:
    """The trainable tensors by name, as views of ``row [shared | local]``."""
    d = model.shared.size
    return model.shared.views(row[:d]) | model.local.views(row[d:])


def _bind(module: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Make the module's tensors share memory with ``values``; its parameter objects stay, so that ties stay tied."""
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            parameter.data = values[name]
    for name, buffer in module.named_buffers():
        if name in values:
            buffer.data = values[name]

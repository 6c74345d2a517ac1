"""Training kernels of semi-supervised objectives and pairs of models (FedCPSL, Algorithm 1, the local updates).

Both models of a pair see the same samples ``[L; U]``, both gradients are taken before either moves (11)-(14), and both
enter the backward pass in closed form. The clients' own models are a :class:`Training` of their own, with another
rule, so that everything but the output gradients is done by the other kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import torch
from torch import Tensor

from fedradio.core.contracts import Model, Precision
from fedradio.core.errors import Problem, SpecError
from fedradio.engine.dense import Dense, backward, forward, load, relu_backward, start_rows, store
from fedradio.engine.feed import Feed
from fedradio.engine.layers import Layer
from fedradio.engine.local import Semi, Training, select
from fedradio.engine.module import Network
from fedradio.engine.objective import cost, gradient, mixture_gradient
from fedradio.engine.precision import autocast
from fedradio.engine.update import Update
from fedradio.models.checks import refuses_single
from fedradio.models.dropout import has_dropout, set_generator
from fedradio.models.model import as_input, prefers_channels_last
from fedradio.models.own import is_own, named_failure


class PairDense:
    """Kernel for stacks of linear layers: the dense kernel with other output gradients, for each model of a pair."""

    def __init__(self, model: Model, layers: Sequence[Layer]) -> None:
        self.model = model
        self.inputs = layers[0].inputs
        self.common, self.own = Dense(layers), Dense(layers)

    @torch.no_grad()
    def train(self, training: Training, rows: list[int]) -> None:
        semi, chosen, k = _semi(training), select(rows), len(rows)
        common = _Stack(self.common, training, rows)
        own = None if semi.own is None else _Stack(self.own, semi.own, rows)
        training.loss[chosen] = self._steps(training, semi, rows, common, own)
        store(common.space, training, common.base, chosen, k)
        if own is not None:
            own.keep(chosen, k)

    def _steps(self, training: Training, semi: Semi, rows: list[int], common: _Stack, own: _Stack | None) -> Tensor:
        """All updates of a group; returns the sum of each client's costs ``[k]``."""
        feed, b = Feed(self.model, training, semi, rows), semi.mixture[select(rows)]
        updates, live = [training.updates[row] for row in rows], len(rows)
        losses = training.delta.new_zeros(live)
        for j in range(updates[0]):
            while updates[live - 1] <= j:
                live -= 1
            slope: Tensor | None = None
            own_slope: Tensor | None = None
            if (batch := feed(j, live)) is None:
                x = losses.new_empty((0, self.inputs) if live == 1 else (live, 0, self.inputs))
            else:
                x, to = batch[0].to(losses.dtype).flatten(1 if live == 1 else 2), batch[1]
                log_h = common.forward(live, x)
                losses[:live] += cost(log_h, to)
                slope = gradient(log_h, to)
                if own is not None:
                    weight = b[0] if live == 1 else b[:live, None, None]
                    own_slope = mixture_gradient(own.forward(live, x), log_h, weight, to)
            common.step(j, live, x, slope)
            if own is not None:
                own.step(j, live, x, own_slope)
        return losses


class _Stack:
    """One model of each client of a group, in the dense kernel's buffers."""

    def __init__(self, dense: Dense, training: Training, rows: list[int]) -> None:
        chosen = select(rows)
        self.training, self.space, self.base = (
            training,
            dense.workspace(training, len(rows)),
            start_rows(training, chosen),
        )
        self.update = Update(training.rule, [])
        load(self.space, training, self.base, chosen, len(rows))

    def forward(self, live: int, x: Tensor) -> Tensor:
        """Log-probabilities ``[live, n, C]`` of the first ``live`` clients."""
        view = self.space.view(live, x.shape[-2])
        forward(view, x)
        return view.layers[-1].z.log_softmax(-1)

    def step(self, j: int, live: int, x: Tensor, slope: Tensor | None) -> None:
        """Update ``j`` with the gradient ``slope [live, n, C]`` of the logits; None without samples (``n = 0``)."""
        view = self.space.view(live, x.shape[-2])
        layer = view.layers[-1]
        if slope is not None:
            layer.g.copy_(slope)
            if layer.relu:
                relu_backward(layer.g, layer.z, 0, grad_input=layer.g)
        self.update.advance(j, live, self.training.rates[j], x)
        backward(view, x, self.update, 1.0)

    def keep(self, chosen: slice | Tensor, k: int) -> None:
        """Write the models themselves into the results."""
        for field, buffers in self.space.params.items():
            self.training.delta[chosen, field.span] = buffers["w"][:k]


class PairAutograd:
    """Kernel for any module, one client at a time. Dropout draws separate masks for the two models of a pair.

    Without a pair, norm layers work as in supervised training: the statistics of a batch are those of ``[L; U]``.
    """

    def __init__(self, model: Model, precision: Precision = "float32") -> None:
        self.model, self.precision = model, precision
        self.channels_last = prefers_channels_last(model.module, model.shape)
        self.dropout = has_dropout(model.module)
        self.needs_two = refuses_single(model.module, model.shape)
        self.own = is_own(model)
        self._thread = threading.local()

    @torch.enable_grad()
    def train(self, training: Training, rows: list[int]) -> None:
        semi = _semi(training)
        for row in rows:
            if self.needs_two:
                _check_counts(training, semi, row)
            common = self._network("dropout", training, row)
            own = None if semi.own is None else self._network("dropout_own", semi.own, row)
            training.loss[row] = self._steps(training, semi, row, common, own)
            common.store(training, row)
            if semi.own is not None and own is not None:
                semi.own.delta[row] = own.w

    def _steps(self, training: Training, semi: Semi, row: int, common: Network, own: Network | None) -> Tensor:
        """All updates of one client; returns the sum of its costs."""
        feed, total = Feed(self.model, training, semi, [row]), training.delta.new_zeros(())
        for j in range(training.updates[row]):
            slopes: Sequence[Tensor | None] = ()
            own_slopes: Sequence[Tensor | None] = ()
            if (batch := feed(j, 1)) is not None:
                x, to = as_input(batch[0], training.delta.dtype, self.channels_last), batch[1]
                with named_failure(self.own, self.model.module, x, "training"):
                    z = self._logits(common, x, total.dtype)
                    log_h = z.detach().log_softmax(-1)
                    total += cost(log_h, to)
                    slopes = torch.autograd.grad(z, common.parameters, gradient(log_h, to), allow_unused=True)
                    if own is not None:
                        z = self._logits(own, x, total.dtype)
                        slope = mixture_gradient(z.detach().log_softmax(-1), log_h, semi.mixture[row], to)
                        own_slopes = torch.autograd.grad(z, own.parameters, slope, allow_unused=True)
            common.update(training, row, j, training.rates[j], slopes)
            if own is not None and semi.own is not None:
                own.update(semi.own, row, j, semi.own.rates[j], own_slopes)
        return total

    def _logits(self, network: Network, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Logits ``[n, C]`` of a batch, computed in the kernel's precision and returned in that of the rows."""
        with autocast(self.precision, x.device):
            z: Tensor = network.module(x)
        return z.to(dtype)

    def _network(self, name: str, training: Training, row: int) -> Network:
        """This thread's copy of the module, one for each model of a pair, with the client's parameters and dropout."""
        key = (training.rule.state_names, training.delta.dtype, training.delta.device)
        cached: tuple[object, Network] | None = getattr(self._thread, name, None)
        if cached is None or cached[0] != key:
            cached = (key, Network(self.model, training.memory_names, training.delta))
            setattr(self._thread, name, cached)
        network = cached[1]
        network.load(training, row)
        if self.dropout:
            set_generator(
                network.module, training.rng.child(name, training.start.client(row)).torch(training.delta.device)
            )
        return network


def _semi(training: Training) -> Semi:
    if training.semi is None:
        raise ValueError("these kernels train rules with an objective")
    return training.semi


def _check_counts(training: Training, semi: Semi, row: int) -> None:
    counts = (training.count + semi.unlabelled.count)[row, : training.updates[row]]
    if bool((counts == 1).any()):
        reason = (
            f"client {training.start.client(row)} has a mini-batch of one sample, too small for the model's batch norm"
        )
        remedy = "use a batch size that does not leave a single sample over, or a model with group or layer norm"
        raise SpecError(Problem("rule.batch", reason, remedy, training.rule.batch))

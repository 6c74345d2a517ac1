"""Training kernels of any loss: they run the networks of all rows, and the loss gives the gradients of their outputs.

All trained rows see the same samples, and all gradients are taken before any row moves. The further rows are a
:class:`Training` of their own, with another rule, so that everything but the output gradients is done by the other
kernels. Anchors are evaluated only.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.func import functional_call

from fedradio.core.contracts import MODEL, Batch, Loss, Model, Outputs, Precision
from fedradio.core.errors import Problem, SpecError
from fedradio.engine.dense import Dense, backward, forward, load, relu_backward, start_rows, store
from fedradio.engine.feed import Feed
from fedradio.engine.layers import Layer, head_of
from fedradio.engine.local import LossPart, Training, select
from fedradio.engine.module import Network
from fedradio.engine.precision import autocast
from fedradio.engine.update import Ascent, Update
from fedradio.models.checks import refuses_single
from fedradio.models.dropout import has_dropout, set_generator
from fedradio.models.model import as_input, prefers_channels_last
from fedradio.models.own import is_own, named_failure


class LossDense:
    """Kernel for stacks of linear layers: the dense kernel with other output gradients, for each trained row."""

    def __init__(self, model: Model, layers: Sequence[Layer]) -> None:
        self.model, self.layers = model, layers
        self._dense: dict[str, Dense] = {}

    @torch.no_grad()
    def train(self, training: Training, rows: list[int]) -> None:
        part, chosen, k = _part(training), select(rows), len(rows)
        stacks = {
            name: _Stack(self._dense.setdefault(name, Dense(self.layers)), each, rows)
            for name, each in {MODEL: training, **part.others}.items()
        }
        training.loss[chosen] = self._steps(training, part, rows, stacks)
        for name, stack in stacks.items():
            if name == MODEL:
                store(stack.space, training, stack.base, chosen, k)
            else:
                stack.keep(chosen, k)

    def _steps(self, training: Training, part: LossPart, rows: list[int], stacks: dict[str, _Stack]) -> Tensor:
        """All updates of a group; returns the sum of each client's costs ``[k]``."""
        feed, anchors = Feed(self.model, training, part, rows), _anchors(training, part, rows)
        updates, live = [training.updates[row] for row in rows], len(rows)
        losses = training.delta.new_zeros(live)
        for j in range(updates[0]):
            while updates[live - 1] <= j:
                live -= 1
            slopes: dict[str, Outputs] = {}
            if (batch := feed(j, live)) is None:
                x = losses.new_empty((0, self.layers[0].inputs) if live == 1 else (live, 0, self.layers[0].inputs))
            else:
                x = batch[0].to(losses.dtype).flatten(1 if live == 1 else 2)
                out = {name: stack.forward(live, x) for name, stack in stacks.items()}
                out |= {name: stacked_outputs(self.layers, each[:live], x) for name, each in anchors.items()}
                cost, found = part.loss.slopes(out, batch[1])
                losses[:live] += cost
                slopes = dict(found)
            if training.rule.sharpness > 0:
                stacks[MODEL].climb(live, x, slopes.get(MODEL))
                if batch is not None:
                    _, found = part.loss.slopes(out | {MODEL: stacks[MODEL].forward(live, x)}, batch[1])
                    slopes = dict(found)
            for name, stack in stacks.items():
                stack.step(j, live, x, slopes.get(name))
        return losses


class _Stack:
    """One row of each client of a group, in the dense kernel's buffers."""

    def __init__(self, dense: Dense, training: Training, rows: list[int]) -> None:
        chosen = select(rows)
        self.training, self.space, self.base = (
            training,
            dense.workspace(training, len(rows)),
            start_rows(training, chosen),
        )
        self.update = Update(training.rule, [training.adam_n[row] for row in rows])
        load(self.space, training, self.base, chosen, len(rows))

    def forward(self, live: int, x: Tensor) -> Outputs:
        """Outputs for ``x`` of the first ``live`` clients."""
        view = self.space.view(live, x.shape[-2])
        forward(view, x)
        features = view.layers[-2].z if len(view.layers) > 1 else x
        return Outputs(*(values.reshape(live, -1, values.shape[-1]) for values in (view.layers[-1].z, features)))

    def step(self, j: int, live: int, x: Tensor, slope: Outputs | None) -> None:
        """Update ``j`` with the gradient of the outputs; None without samples (``n = 0``)."""
        self.update.advance(j, live, self.training.rates[j], x)
        self._backward(live, x, slope, self.update)

    def climb(self, live: int, x: Tensor, slope: Outputs | None) -> None:
        """Go to the point of higher cost at which the gradient is taken."""
        ascent, view = Ascent(), self.space.view(live, x.shape[-2])
        self._backward(live, x, slope, ascent)
        parameters = [p for layer in view.layers for p in (layer.weight, layer.bias) if p is not None]
        ascent.climb(parameters, self.training.rule.sharpness)

    def _backward(self, live: int, x: Tensor, slope: Outputs | None, update: Update | Ascent) -> None:
        """Backward pass from the gradient of the outputs."""
        view = self.space.view(live, x.shape[-2])
        layer, features = view.layers[-1], None
        if slope is not None:
            layer.g.copy_(slope.logits.reshape(layer.g.shape))
            if layer.relu:
                relu_backward(layer.g, layer.z, 0, grad_input=layer.g)
            if slope.features is not None and len(view.layers) > 1:
                features = slope.features.reshape(view.layers[-2].g.shape)
        backward(view, x, update, 1.0, features)

    def keep(self, chosen: slice | Tensor, k: int) -> None:
        """Write the rows themselves into the results."""
        for field, buffers in self.space.params.items():
            self.training.delta[chosen, field.span] = buffers["w"][:k]


def _anchors(training: Training, part: LossPart, rows: list[int]) -> dict[str, Tensor]:
    """Anchors ``[k, d]`` of the chosen clients; views where all have the same."""
    chosen, found = select(rows), {}
    for name, values in part.anchors.items():
        if values is not training.start.w:
            found[name] = values[chosen]
        else:
            base = start_rows(training, chosen)
            found[name] = base.expand(len(rows), -1)
    return found


def stacked_outputs(layers: Sequence[Layer], rows: Tensor, x: Tensor) -> Outputs:
    """Outputs of dense networks ``rows [k, d]`` for ``x [k, b, inputs]``, or ``[b, inputs]`` of one client."""
    h = x.view(len(rows), -1, x.shape[-1])
    features = h
    for layer in layers:
        features = h
        h = h @ rows[:, layer.weight.span].view(-1, *layer.weight.shape).mT
        if layer.bias is not None:
            h = h + rows[:, layer.bias.span].unsqueeze(1)
        if layer.relu:
            h = h.relu()
    return Outputs(h, features)


class LossAutograd:
    """Kernel for any module, one client at a time. Dropout draws separate masks for every trained row; anchors are
    evaluated without dropout, with the norm layers that the client starts from.

    Norm layers work as in supervised training: the statistics of a batch are those of all its samples.
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
        part = _part(training)
        for row in rows:
            if self.needs_two:
                _check_counts(training, part, row)
            trainings = {MODEL: training, **part.others}
            networks = {name: self._network(name, each, row, part.loss) for name, each in trainings.items()}
            training.loss[row] = self._steps(training, part, row, networks)
            networks[MODEL].store(training, row)
            for name, each in part.others.items():
                each.delta[row] = networks[name].w

    def _steps(self, training: Training, part: LossPart, row: int, networks: dict[str, _Headed]) -> Tensor:
        """All updates of one client; returns the sum of its costs."""
        feed, total = Feed(self.model, training, part, [row]), training.delta.new_zeros(())
        trainings, anchors = {MODEL: training, **part.others}, self._anchors(training, part, row)
        for j in range(training.updates[row]):
            gradients: dict[str, Sequence[Tensor | None]] = {}
            if (batch := feed(j, 1)) is not None:
                x, seen = as_input(batch[0], training.delta.dtype, self.channels_last), batch[1]
                with named_failure(self.own, self.model.module, x, "training"):
                    with torch.no_grad():
                        fixed = {name: self._outputs(anchor, x, total.dtype) for name, anchor in anchors.items()}
                    cost, gradients = self._gradients(part.loss, networks, fixed, x, seen)
                    total += cost[0]
                    if training.rule.sharpness > 0:
                        with networks[MODEL].climbed(gradients[MODEL], training.rule.sharpness):
                            _, gradients = self._gradients(part.loss, networks, fixed, x, seen)
            for name, each in trainings.items():
                networks[name].update(each, row, j, each.rates[j], gradients.get(name, ()))
        return total

    def _gradients(
        self, loss: Loss, networks: dict[str, _Headed], fixed: dict[str, Outputs], x: Tensor, batch: Batch
    ) -> tuple[Tensor, dict[str, Sequence[Tensor | None]]]:
        """Cost of the row ``w``, and gradients of the parameters of every trained row."""
        graphs = {name: self._outputs(network, x, network.w.dtype) for name, network in networks.items()}
        cost, slopes = loss.slopes({name: _detached(graph) for name, graph in graphs.items()} | fixed, batch)
        return cost, {name: _gradients(networks[name], graphs[name], slopes[name]) for name in networks}

    def _outputs(self, network: _Headed | _Anchor, x: Tensor, dtype: torch.dtype) -> Outputs:
        """Outputs of a batch, computed in the kernel's precision and returned in that of the rows."""
        with autocast(self.precision, x.device):
            z, features = network.outputs(x)
        return Outputs(z.to(dtype)[None], None if features is None else features.to(dtype).flatten(1)[None])

    def _anchors(self, training: Training, part: LossPart, row: int) -> dict[str, _Anchor]:
        """The anchors of a client, ready to be evaluated."""
        start, found = training.start, {}
        for name, values in part.anchors.items():
            w = values[int(start.group[row])] if values is start.w else values[row]
            local = None if start.local is None else start.local[row]
            found[name] = _Anchor(self.model, w if local is None else torch.cat([w, local]), part.loss)
        return found

    def _network(self, name: str, training: Training, row: int, loss: Loss) -> _Headed:
        """This thread's copy of the module, one for each trained row, with the client's parameters and dropout."""
        key = (training.rule.state_names, training.delta.dtype, training.delta.device, loss.reads_features)
        cached: tuple[object, _Headed] | None = getattr(self._thread, name, None)
        if cached is None or cached[0] != key:
            cached = (key, _Headed(self.model, training.memory_names, training.delta, loss))
            setattr(self._thread, name, cached)
        network = cached[1]
        network.load(training, row)
        if self.dropout:
            stream = "dropout" if name == MODEL else f"dropout_{name}"
            rng = training.rng.child(stream, training.start.client(row))
            set_generator(network.module, rng.torch(training.delta.device))
        return network


class _Features:
    """The features of a module: what enters its last layer in a forward pass."""

    def __init__(self, module: nn.Module, classes: int) -> None:
        self.last: Tensor | None = None
        head = head_of(module, classes)
        assert head is not None  # refused before the run
        module.get_submodule(head).register_forward_pre_hook(self._note)

    def _note(self, _module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self.last = inputs[0]


class _Headed(Network):
    """A network whose features can be read."""

    def __init__(self, model: Model, memory: list[str], like: Tensor, loss: Loss) -> None:
        super().__init__(model, memory, like)
        self._features = _Features(self.module, model.classes) if loss.reads_features else None

    @contextmanager
    def climbed(self, gradients: Sequence[Tensor | None], rho: float) -> Iterator[None]:
        """The network at ``w + rho g/|g|`` in the block."""
        known = [g for g in gradients if g is not None]
        square = torch.stack([g.square().sum() for g in known]).sum() if known else self.w.new_zeros(())
        factor = float(rho / square.sqrt()) if float(square) > 0 else 0.0
        before = self.w.clone()
        with torch.no_grad():
            for p, g in zip(self.parameters, gradients, strict=True):
                if g is not None:
                    p.add_(g, alpha=factor)
        yield
        with torch.no_grad():
            self.w.copy_(before)

    def outputs(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """Logits ``[n, C]`` and, where the loss reads them, features ``[n, m]``."""
        z: Tensor = self.module(x)
        return z, None if self._features is None else self._features.last


class _Anchor:
    """A fixed network in evaluation mode; ``row [D]``."""

    def __init__(self, model: Model, row: Tensor, loss: Loss) -> None:
        self._module = copy.deepcopy(model.module).to(row.device).eval()
        d, local = model.shared.size, model.local.size
        self._tensors = model.shared.views(row[:d]) | model.local.views(row[d : d + local])
        self._tensors |= model.buffers.views(row[d + local :])
        self._features = _Features(self._module, model.classes) if loss.reads_features else None

    def outputs(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        z: Tensor = functional_call(self._module, self._tensors, (x,))
        return z, None if self._features is None else self._features.last


def _gradients(network: Network, graph: Outputs, slope: Outputs) -> Sequence[Tensor | None]:
    """Gradients of the parameters from those of the outputs."""
    pairs = [(out, g) for out, g in zip(graph, slope, strict=True) if out is not None and g is not None]
    outputs, grads = zip(*pairs, strict=True)
    return torch.autograd.grad(outputs, network.parameters, grads, allow_unused=True)


def _detached(outputs: Outputs) -> Outputs:
    z, features = outputs
    return Outputs(z.detach(), None if features is None else features.detach())


def _part(training: Training) -> LossPart:
    if training.part is None:
        raise ValueError("these kernels train rules without a fused kernel")
    return training.part


def _check_counts(training: Training, part: LossPart, row: int) -> None:
    counts = (training.count + part.unlabelled.count)[row, : training.updates[row]]
    if bool((counts == 1).any()):
        reason = (
            f"client {training.start.client(row)} has a mini-batch of one sample, too small for the model's batch norm"
        )
        remedy = "use a batch size that does not leave a single sample over, or a model with group or layer norm"
        raise SpecError(Problem("rule.batch", reason, remedy, training.rule.batch))

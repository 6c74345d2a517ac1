"""Training kernel of dense networks: hand-written backward pass, clients stacked, updates fused into products.

For a layer ``h' = relu(h W^T + b)`` with output gradient ``G [b, out]`` the gradients are ``G^T h`` and ``G^T 1``, so
that plain SGD is one product per tensor, ``W += -rate/b * G^T h``, and no gradient is ever stored.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import torch
from torch import Tensor

from fedradio.engine.distinct import Shared, distinct
from fedradio.engine.layers import Layer
from fedradio.engine.local import Training, select
from fedradio.engine.update import Ascent, Update
from fedradio.engine.workspace import LayerBuffers, Workspace

SKINNY = 32
"""Up to this many classes, logits are computed class by class, ``W h^T``: long rows suit the product better."""

relu_backward = torch.ops.aten.threshold_backward.grad_input


class Dense:
    """Kernel for Flatten/Linear/ReLU stacks."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = layers
        self._thread = threading.local()

    @torch.no_grad()
    def train(self, training: Training, rows: list[int]) -> None:
        space = self.workspace(training, len(rows))
        chosen = select(rows)
        base = start_rows(training, chosen)
        load(space, training, base, chosen, len(rows))
        training.loss[chosen] = _steps(space, training, rows, chosen)
        store(space, training, base, chosen, len(rows))

    def workspace(self, training: Training, clients: int) -> Workspace:
        """This thread's buffers for a group of so many clients; allocated anew for a larger one or for other shapes."""
        names = _needed(training)
        layers = self.layers if training.coordinates is None else training.coordinates.layers
        key = (training.batch, names, training.delta.dtype, training.delta.device, layers[0].inputs)
        known: Workspace | None = getattr(self._thread, "space", None)
        if known is None or known.clients < clients or self._thread.key != key:
            class_major = layers[-1].outputs <= SKINNY
            known = Workspace(layers, clients, training.batch, names, class_major, training.delta)
            self._thread.space, self._thread.key = known, key
        return known


def _needed(training: Training) -> tuple[str, ...]:
    """Names of the tensors that updates need beside the parameters."""
    names = training.memory_names
    names += ["w0"] if training.rule.prox > 0 else []
    names += ["shift"] if training.start.shift is not None else []
    names += ["grad"] if training.rule.optimiser == "adam" else []
    names += ["ascent"] if training.rule.sharpness > 0 else []
    return tuple(names)


def start_rows(training: Training, chosen: slice | Tensor) -> Tensor:
    """Initial models of the clients: a view ``[1, d]`` if it is the same for all, else a copy ``[k, d]``."""
    group = training.start.group[chosen]
    first = int(group[0])
    return training.start.w[first : first + 1] if bool((group == first).all()) else training.start.w[group]


def load(space: Workspace, training: Training, base: Tensor, chosen: slice | Tensor, k: int) -> None:
    """Copy the ``chosen`` clients' initial models, shifts and optimiser memory into the buffers."""
    sources: dict[str, Tensor | None] = {"w": base, "w0": base}
    for name in training.memory_names:
        before = training.remembered(name)
        sources[name] = None if before is None else before[chosen]
    if training.start.shift is not None:
        sources["shift"] = training.start.shift[chosen]
    inner = training.coordinates
    for field, buffers in space.params.items():
        for name in buffers.keys() & sources.keys():
            source = sources[name]
            if source is None:
                buffers[name][:k].zero_()
            elif inner is not None and field == inner.narrow:
                buffers[name][:k] = inner.start[training.start.group[chosen]]
            else:
                buffers[name][:k] = source[:, field.span]


def store(space: Workspace, training: Training, base: Tensor, chosen: slice | Tensor, k: int) -> None:
    """Copy the ``chosen`` clients' model changes and optimiser memory from the buffers into the results."""
    inner = training.coordinates
    for field, buffers in space.params.items():
        if inner is not None and field == inner.narrow:
            change = buffers["w"][:k].sub_(inner.start[training.start.group[chosen]])
            for row, own in zip(torch.arange(len(training.delta))[chosen].tolist(), change, strict=True):
                inner.expand(own, training.delta[row])
            continue
        training.delta[chosen, field.span] = buffers["w"][:k].sub_(base[:, field.span])
        for name, memory in training.memory.items():
            memory[chosen, field.span] = buffers[name][:k]


def _steps(space: Workspace, training: Training, rows: list[int], chosen: slice | Tensor) -> Tensor:
    """All updates of a group; returns the sum of each client's mini-batch losses ``[k]``."""
    updates = [training.updates[row] for row in rows]
    index = training.index[chosen, : updates[0]].transpose(0, 1).contiguous().unbind()  # T times [k, B]
    count: list[list[int]] = training.count[chosen, : updates[0]].T.tolist()
    shared = distinct(training.fetch, training.index[chosen], training.count[chosen], updates, training.delta)
    update = Update(training.rule, [training.adam_n[row] for row in rows])
    losses = torch.zeros(len(rows), dtype=training.delta.dtype, device=training.delta.device)
    live = len(rows)
    for j, rate in enumerate(training.rates[: updates[0]]):
        while updates[live - 1] <= j:
            live -= 1
        counts = count[j][:live]
        b = max(counts)
        full = min(counts) == b
        update.advance(j, live, rate, losses)
        if shared is not None and b > 0:
            _shared_update(space, training, shared, update, losses, j, live)
            continue
        view = space.view(live, b)
        if b > 0:
            x, y = training.fetch(index[j][0, :b] if live == 1 else index[j][:live, :b])
            x = x.to(losses.dtype).view(*y.shape, -1)
            forward(view, x)
            likelihood = _output_gradient(view, y, None if full else counts)
            losses[:live].sub_(likelihood, alpha=1.0 / b if full else 1.0)
        else:
            x = losses.new_empty(*view.ones.shape[:-1], space.layers[0].inputs)
        backward(view, x, update, 1.0 / b if full and b > 0 else 1.0)
    return losses


def _shared_update(
    space: Workspace, training: Training, shared: Shared, update: Update, losses: Tensor, j: int, live: int
) -> None:
    """One update in which every distinct input goes through the model once; adds the mini-batch losses."""
    u = shared.width(j, live)
    rows: int | slice = 0 if live == 1 else slice(live)
    view = space.view(live, u)
    x, _ = training.fetch(shared.index[j, rows, ..., :u])
    x = x.to(losses.dtype).view(*view.ones.shape[:-1], -1)
    forward(view, x)
    layer = view.layers[-1]
    z, g, axis = (layer.z_t, layer.g_t, -2) if layer.class_major else (layer.z, layer.g, -1)
    torch.log_softmax(z, axis, out=g)
    place, y, share = shared.place[j, rows], shared.y[j, rows], shared.share[j, rows]
    number = torch.add(place, y, alpha=u) if layer.class_major else torch.add(y, place, alpha=g.shape[-1])
    each = g.flatten(-2)  # a view: every class of every input
    losses[:live].sub_((each.gather(-1, number) * share).sum(-1))
    g.exp_().mul_(shared.weight[j, rows, ..., :u].unsqueeze(axis))
    each.scatter_add_(-1, number, share.neg())
    if layer.relu:
        relu_backward(layer.g, layer.z, 0, grad_input=layer.g)
    backward(view, x, update, 1.0)


def forward(view: LayerBuffers, h: Tensor) -> None:
    """Forward pass ``z = relu(h W^T + b)``, layer by layer; the last one class by class where that is faster."""
    product, affine = (torch.mm, torch.addmm) if h.dim() == 2 else (torch.bmm, torch.baddbmm)
    for layer in view.layers:
        left, right, out = (layer.weight.w, h.mT, layer.z_t) if layer.class_major else (h, layer.w_t, layer.z)
        if layer.bias is None:
            product(left, right, out=out)
        else:
            affine(layer.bias.w, left, right, out=out)
        if layer.relu:
            out.relu_()
        h = layer.z


def _output_gradient(view: LayerBuffers, y: Tensor, counts: list[int] | None) -> Tensor:
    """Output gradient ``g = softmax(z) - onehot(y)`` of the last layer; returns each client's log likelihood ``[k]``.

    Full batches (``counts`` None) give sums, the factor ``1/b`` goes into the update's products. Of ragged ones both
    are means over the real samples, and the padded rows of ``g`` are 0.
    """
    layer = view.layers[-1]
    z, g, axis = (layer.z_t, layer.g_t, -2) if layer.class_major else (layer.z, layer.g, -1)
    label = y.unsqueeze(axis)
    torch.log_softmax(z, axis, out=g)
    likelihood = g.gather(axis, label)
    g.exp_().scatter_add_(axis, label, view.minus_t if layer.class_major else view.minus)
    if counts is not None:
        count = torch.tensor(counts, device=y.device)[:, None]
        real = torch.arange(y.shape[-1], device=y.device) < count
        weight = (real.to(g.dtype) / count.clamp(min=1)).unsqueeze(axis)
        g.mul_(weight)
        likelihood.mul_(weight)
    if layer.relu:
        relu_backward(layer.g, layer.z, 0, grad_input=layer.g)
    return likelihood.sum((-2, -1))


def backward(
    view: LayerBuffers, x: Tensor, update: Update | Ascent, scale: float, features: Tensor | None = None
) -> None:
    """Backward pass with updates, last layer first: propagate the gradient, then update the layer with it.

    ``features`` is a gradient of the last layer's inputs that does not come from its outputs.
    """
    product = torch.mm if x.dim() == 2 else torch.bmm
    for i in range(len(view.layers) - 1, -1, -1):
        layer = view.layers[i]
        below = view.layers[i - 1] if i > 0 else None
        if below is not None:
            product(layer.g, layer.weight.w, out=below.g)
            if features is not None and i == len(view.layers) - 1:
                below.g.add_(features)
            if below.relu:
                relu_backward(below.g, below.z, 0, grad_input=below.g)
        update.apply(layer.weight, layer.g_t, x if below is None else below.z, scale)
        if layer.bias is not None:
            left, right = (layer.g_t, view.ones) if layer.class_major else (view.ones_t, layer.g)
            update.apply(layer.bias, left, right, scale)

"""Recognition of dense networks: the layers of a Flatten/Linear/ReLU stack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn

from fedradio.core.contracts import Model
from fedradio.core.params import Field


@dataclass(frozen=True)
class Layer:
    """A linear layer ``h = x W^T + b``, then ``max(h, 0)`` if ``relu``; its tensors are fields of the shared row."""

    weight: Field
    bias: Field | None
    relu: bool

    @property
    def outputs(self) -> int:
        return self.weight.shape[0]

    @property
    def inputs(self) -> int:
        return self.weight.shape[1]

    @property
    def fields(self) -> tuple[Field, ...]:
        return (self.weight,) if self.bias is None else (self.weight, self.bias)


def dense_layers(model: Model) -> tuple[Layer, ...] | None:
    """The layers of a Flatten/Linear/ReLU stack, or None for any other module."""
    frozen = any(not p.requires_grad for p in model.module.parameters())
    if not isinstance(model.module, nn.Sequential) or model.local.fields or model.buffers.fields or frozen:
        return None
    fields = {field.name: field for field in model.shared.fields}
    layers: list[Layer] = []
    flat = len(model.shape) == 1
    for name, child in _leaves(model.module):
        if child._forward_hooks or child._forward_pre_hooks:
            return None
        if type(child) is nn.Flatten and (child.start_dim, child.end_dim) == (1, -1):
            flat = True
        elif type(child) is nn.Linear and flat and f"{name}.weight" in fields:
            layers.append(Layer(fields.pop(f"{name}.weight"), fields.pop(f"{name}.bias", None), relu=False))
        elif type(child) is nn.ReLU and layers:
            layers[-1] = Layer(layers[-1].weight, layers[-1].bias, relu=True)
        elif type(child) is not nn.Identity:
            return None
    return tuple(layers) if layers and not fields else None


def head_of(module: nn.Module, classes: int) -> str | None:
    """Name of the last linear layer, whose outputs are the logits; None if the module has none."""
    heads = [name for name, child in module.named_modules() if isinstance(child, nn.Linear)]
    return heads[-1] if heads and module.get_submodule(heads[-1]).out_features == classes else None


def _leaves(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """The layers of nested Sequentials, in order of execution."""
    for name, child in module._modules.items():
        if type(child) is nn.Sequential:
            yield from _leaves(child, f"{prefix}{name}.")
        elif child is not None:
            yield f"{prefix}{name}", child

"""Start values of a network of the user's own, drawn again from the run's generators.

torch fills layers from its global generator when they are made, so that the same seed would give other values each
time. Every layer that can be filled anew (``reset_parameters``) is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import nn

from fedradio.core.rng import Rng

Reset = Callable[[], None]


def cannot_be_redrawn(module: nn.Module) -> str | None:
    """Why a layer with trainable parameters of its own cannot be filled anew, not by a module around it either; None
    if all can.

    It is tried: of parameters without values (NaN) none may be left, and the same generator must give the same values.
    """
    layers = dict(module.named_modules())
    for name, reset in _resets(module).items():
        if reset is None:
            return f"{_layer(name, layers[name])} has no reset_parameters"
    blank = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in blank.parameters():
            if parameter.requires_grad:
                parameter.fill_(torch.nan)
    try:
        first, second = (dict(redrawn(blank, Rng(0)).named_parameters()) for _ in range(2))
    except Exception as error:  # whatever a method of the user's raises
        return f"reset_parameters raises {type(error).__name__}"
    for name, parameter in first.items():
        if parameter.requires_grad and bool(parameter.isnan().any()):
            return f"reset_parameters does not fill {name}"
        if parameter.requires_grad and not torch.equal(parameter, second[name]):
            return f"reset_parameters does not draw {name} from torch's generator"
    return None


def _layer(name: str, layer: nn.Module) -> str:
    """A layer for people, by class and name."""
    return f"{type(layer).__name__} ({name})" if name else type(layer).__name__


def redrawn(module: nn.Module, rng: Rng) -> nn.Module:
    """A copy of the module with new start values, which depend on ``rng`` alone; frozen parameters keep theirs.

    Inner layers are filled before those around them, as torch does when it makes them.
    """
    fresh = copy.deepcopy(module)
    frozen = {name: p.detach().clone() for name, p in fresh.named_parameters() if not p.requires_grad}
    resets = {id(getattr(reset, "__self__", reset)): reset for reset in _resets(fresh).values() if reset is not None}
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.set_rng_state(rng.torch().get_state())
        for reset in resets.values():
            reset()
        for name, values in frozen.items():
            fresh.get_parameter(name).copy_(values)
    return fresh


def _resets(module: nn.Module) -> dict[str, Reset | None]:
    """What fills each layer that has trainable parameters of its own, by the layer's name, innermost layers first."""
    layers = dict(module.named_modules())
    names = sorted(layers, key=lambda name: -(name.count(".") + bool(name)))
    trained = [name for name in names if any(p.requires_grad for p in layers[name].parameters(recurse=False))]
    return {name: _reset(layers, name) for name in trained}


def _reset(layers: dict[str, nn.Module], name: str) -> Reset | None:
    """The method that fills a layer: its own, else that of the nearest module around it."""
    while True:
        for method in ("reset_parameters", "_reset_parameters"):
            found = getattr(layers[name], method, None)
            if callable(found):
                return found  # type: ignore[no-any-return]
        if not name:
            return None
        name = name.rpartition(".")[0]

"""Checks of a torch network: not too large or lazy, and random by ``nn.Dropout`` only."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fedradio.core.errors import Problem, SpecError
from fedradio.core.rng import Rng
from fedradio.models.dropout import SeededDropout, set_generator
from fedradio.models.own import type_problem

PARAMETER_LIMIT = 200_000_000
"""Most parameters of a network; larger ones are refused before memory is taken (a cohort has many float32 rows)."""


DTYPES = (torch.float32, torch.int64)
"""Types of the trial inputs: numbers first, ids second."""


def check_size(parameters: int) -> None:
    """Refuse a network above :data:`PARAMETER_LIMIT`."""
    if parameters > PARAMETER_LIMIT:
        reason = f"a model may have at most {PARAMETER_LIMIT:,} parameters"
        raise SpecError(Problem("model", reason, "make its layers narrower or its inputs smaller", parameters))


def check_module(module: nn.Module) -> None:
    """Refuse what a row cannot hold: lazy and non-floating parameters, none that trains, cumulative averages."""
    problems = [problem for name, p in module.named_parameters() if (problem := _parameter_problem(name, p))]
    problems += [
        Problem(
            f"model.{name}",
            "a running average over all batches (momentum=None) is not supported",
            "set momentum to a number",
        )
        for name, layer in module.named_modules()
        if isinstance(layer, nn.modules.batchnorm._NormBase) and layer.track_running_stats and layer.momentum is None
    ]
    problems += [
        Problem(f"model.{name}", "has no values (device meta)", "make the module on the CPU")
        for name, buffer in module.named_buffers()
        if buffer.is_meta
    ]
    if not problems and not any(p.requires_grad for p in module.parameters()):
        problems.append(
            Problem("model", "the module has no trainable parameter", "call requires_grad_() on some of them")
        )
    if problems:
        raise SpecError(problems)


def trial(module: nn.Module, shape: Sequence[int], classes: int) -> None:
    """Trial forward pass of two zero samples, in training mode on a copy: the logits must be ``[2, classes]``, torch's
    global generator untouched and integer buffers unchanged."""
    probe = copy.deepcopy(module).train()
    set_generator(probe, torch.Generator())
    before = _integers(probe)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        random_layers = _watch_randomness(probe)
        logits = _forward(probe, shape)
    expected = (2, classes)
    if not isinstance(logits, Tensor) or tuple(logits.shape) != expected:
        given = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise SpecError(
            Problem("model", f"two samples must give logits of shape {expected}", "change the output layer", given)
        )
    if not logits.is_floating_point():
        raise SpecError(type_problem(logits))
    if random_layers:
        reason, remedy = "the layer draws from torch's global generator", "set its dropout to 0 and use nn.Dropout"
        raise SpecError(Problem(f"model.{random_layers[0]}".rstrip("."), reason, remedy))
    changed = [name for name, buffer in _integers(probe).items() if not torch.equal(buffer, before[name])]
    if changed:
        reason = "training changes an integer buffer, which cannot be stored in the flat parameter vector"
        raise SpecError(Problem(f"model.{changed[0]}", reason, "make it a floating-point buffer"))


def refuses_single(module: nn.Module, shape: Sequence[int]) -> bool:
    """Whether torch refuses to train on a mini-batch of one sample: a batch norm layer would see a single value per
    channel, which has no variance."""
    if not any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in module.modules()):
        return False
    probe = copy.deepcopy(module).train()
    set_generator(probe, torch.Generator())
    for dtype in DTYPES:
        try:
            with torch.no_grad():
                probe(torch.zeros(1, *shape, dtype=dtype))
        except ValueError:  # what torch raises for this, and for nothing else that two samples do not raise
            return True
        except Exception:  # not the type that the module reads
            continue
        return False
    return False


def sample_by_sample(module: nn.Module, shape: Sequence[int]) -> str | None:
    """Name of the submodule up to which training treats every sample by itself: that of ``repeats_until``, if the
    module has this attribute; else the whole module (empty) unless it has dropout, or a trial shows that a sample's
    output depends on the others; else None."""
    until = getattr(module, "repeats_until", None)
    if until is not None:
        return str(until)
    if any(isinstance(layer, SeededDropout) and layer.p > 0.0 for layer in module.modules()):
        return None
    return "" if _one_by_one(copy.deepcopy(module).train(), shape) else None


def evaluated_one_by_one(module: nn.Module, shape: Sequence[int]) -> bool:
    """Whether a trial shows that evaluation treats every sample by itself: batch norm without running statistics does
    not."""
    probe = copy.deepcopy(module).eval()
    for layer in probe.modules():
        if isinstance(layer, nn.modules.batchnorm._NormBase):  # statistics of a model are not initialised
            layer.reset_running_stats()
    return _one_by_one(probe, shape)


def _one_by_one(probe: nn.Module, shape: Sequence[int]) -> bool:
    """Whether three random samples give the same outputs, and leave buffers as they are, when one comes twice."""
    probe, g = probe.double(), Rng(0).torch()
    with torch.no_grad():
        for parameter in probe.parameters():  # those of a model are not initialised
            inputs = parameter[0].numel() if parameter.dim() > 1 else 1
            parameter.uniform_(-1.0, 1.0, generator=g).div_(inputs**0.5)
    before = {name: buffer.clone() for name, buffer in probe.named_buffers()}
    again = torch.tensor([0, 1, 1, 2])
    for x in (torch.randn(3, *shape, generator=g, dtype=torch.float64), torch.randint(2, (3, *shape), generator=g)):
        try:
            with torch.no_grad():
                once, repeated = probe(x), probe(x[again])
        except Exception:  # not the type that the module reads
            continue
        same = torch.allclose(once[again], repeated, rtol=1e-9, atol=1e-9 * float(once.abs().max()))
        return same and all(torch.equal(buffer, before[name]) for name, buffer in probe.named_buffers())
    return False


def _parameter_problem(name: str, parameter: nn.Parameter) -> Problem | None:
    path = f"model.{name}"
    if isinstance(parameter, nn.UninitializedParameter):
        return Problem(path, "a lazy layer has no shape yet", "run one batch through the module before wrapping it")
    if parameter.is_meta:
        return Problem(path, "has no values (device meta)", "call module.to_empty(device='cpu'), then initialise it")
    if not parameter.is_floating_point():
        return Problem(path, "parameters must be real floating-point numbers", value=str(parameter.dtype))
    return None


def _forward(probe: nn.Module, shape: Sequence[int]) -> object:
    """Output for two samples of zeros, tried as numbers first and as ids second."""
    failures = []
    for dtype in DTYPES:
        try:
            return probe(torch.zeros(2, *shape, dtype=dtype))
        except (Exception, SystemExit) as error:  # whatever the user's code raises is reported below
            failures.append(f"{type(error).__name__}: {error}")
    reason = f"the module failed on an all-zero input of shape {[2, *shape]} ({failures[0]})"
    raise SpecError(Problem("model", reason, "check the module against the shape of the samples"))


def _watch_randomness(probe: nn.Module) -> list[str]:
    """Hooks that collect, in the returned list, the layers that draw from torch's global generator, innermost first."""
    culprits: list[str] = []

    def watch(name: str, layer: nn.Module) -> None:
        before: list[Tensor] = []

        def enter(*_: object) -> None:
            before.append(torch.get_rng_state())

        def leave(*_: object) -> None:
            if not torch.equal(before.pop(), torch.get_rng_state()):
                culprits.append(name)

        layer.register_forward_pre_hook(enter)
        layer.register_forward_hook(leave)

    for name, layer in probe.named_modules():
        watch(name, layer)
    return culprits


def _integers(module: nn.Module) -> dict[str, Tensor]:
    return {
        name: buffer.clone()
        for name, buffer in module.named_buffers()
        if not buffer.is_floating_point() and not name.endswith("num_batches_tracked")
    }

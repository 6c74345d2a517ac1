"""Checks of a torch module of the user's own: what was given, a copy of it, and training on real samples.

Whatever the user's code raises becomes a :class:`Problem` that names the cause.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy, mse_loss

from fedradio.core.contracts import Model
from fedradio.core.errors import FedradioError, OwnCodeError, Problem, SpecError
from fedradio.core.rng import Rng
from fedradio.models.dropout import set_generator

PARALLEL = (nn.DataParallel, nn.parallel.DistributedDataParallel)
"""Wrappers of modules that distribute a batch over devices."""

SAME = 1e-4
"""Relative difference of two outputs for the same input that rounding may explain."""


def check_given(
    module: object, shape: object, classes: object, options: Mapping[str, tuple[str, Sequence[str]]]
) -> None:
    """Refuse what is no module, one that no single input reaches, and wrong arguments; ``options`` are given words with
    those that are known."""
    problems = [
        Problem(f"wrap.{name}", "unknown", f"one of: {', '.join(known)}", given)
        for name, (given, known) in options.items()
        if given not in known
    ]
    sizes = shape if isinstance(shape, (tuple, list, torch.Size)) else None
    if sizes is None or not all(_is_count(size) for size in sizes):
        problems.append(
            Problem(
                "wrap.shape", "not the shape of a sample", "use stream.shape, or a tuple such as (1, 28, 28)", shape
            )
        )
    if not _is_count(classes):
        problems.append(
            Problem("wrap.classes", "not a number of classes", "use stream.classes, or a whole number", classes)
        )
    if (problem := _module_problem(module)) is not None:
        problems.append(problem)
    if problems:
        raise SpecError(problems)


def copied(module: nn.Module) -> nn.Module:
    """A deep copy of a module; refused where Python cannot make one: every client and thread needs its own."""
    try:
        return copy.deepcopy(module)
    except Exception as error:  # whatever an attribute of the user's raises
        remedy = "store only tensors, numbers and layers; use torch.nn.utils.parametrizations, not the old weight_norm"
        raise SpecError(Problem("model", f"the module cannot be copied ({_words(error)})", remedy)) from None


def sample_problems(
    module: nn.Module, values: Mapping[str, Tensor], x: Tensor, y: Tensor, classes: int
) -> list[Problem]:
    """Problems of a trial on real samples ``x [n, *shape]``, ``y [n]`` at ``values``: forward and backward, in
    evaluation and in training, twice on the same samples, and on a batch of another size."""
    probe = copy.deepcopy(module).to(x.device)
    try:
        for training in (False, True):
            probe.train(training)
            first, second = (_pass(probe, values, x, y) for _ in range(2))
            problems = _output_problems(first, x, classes, training) or _repeat_problems(first, second)
            if problems:
                return problems
            three = _pass(probe, values, torch.cat([x, x[:1]]), None)
            if tuple(three.logits.shape) != (len(x) + 1, classes):
                return [_shape_problem(three.logits, (len(x) + 1, classes), training)]
        return _gradient_problems(second)
    except (Exception, SystemExit) as error:
        mode = "training" if probe.training else "evaluation"
        reason = f"the module fails on {_kind(x)} of shape {tuple(x.shape[1:])} in {mode} ({_words(error)})"
        return [Problem("model", reason, "check the module against the samples")]


def is_own(model: Model) -> bool:
    """Whether the module of a model is the user's."""
    return bool(getattr(model, "own", False))


@contextmanager
def named_failure(own: bool, module: nn.Module, x: Tensor, mode: str) -> Iterator[None]:
    """Name the module, and the shape of the batch, where the user's ``own`` fails in the block."""
    try:
        yield
    except FedradioError:
        raise
    except Exception as error:  # whatever the user's code raises
        if not own:
            raise
        place = f"the model {type(module).__name__} fails on a batch of shape {tuple(x.shape)} in {mode}"
        raise OwnCodeError(f"{place} ({_words(error)})") from error


@dataclass(frozen=True)
class _Pass:
    """One forward and backward pass: logits, gradients by name (None: not reached), and names of what it changed."""

    logits: Any
    gradients: Mapping[str, Tensor | None]
    changed: Sequence[str]


def _pass(probe: nn.Module, values: Mapping[str, Tensor], x: Tensor, y: Tensor | None) -> _Pass:
    """Forward and, with labels, backward pass of the cross entropy, on copies of all values."""
    set_generator(probe, Rng(0).torch(x.device))
    trained = [name for name, parameter in probe.named_parameters() if parameter.requires_grad]
    held = {name: value.detach().clone() for name, value in values.items()}
    leaves = {name: held[name].requires_grad_() for name in trained}
    given = x.clone()
    logits = functional_call(probe, held, (given,))
    changed = ["its inputs"] if not torch.equal(given, x) else []
    changed += [name for name, leaf in leaves.items() if not torch.equal(leaf.detach(), values[name])]
    if y is None or not _is_logits(logits) or int(y.max()) >= logits.shape[-1] > 1:  # refused elsewhere
        return _Pass(logits, {}, changed)
    loss = mse_loss(logits[:, 0], y) if y.is_floating_point() else cross_entropy(logits.float(), y)
    found: Sequence[Tensor | None] = [None] * len(leaves)
    if loss.requires_grad:
        found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    return _Pass(logits, dict(zip(leaves, found, strict=True)), changed)


def _output_problems(done: _Pass, x: Tensor, classes: int, training: bool) -> list[Problem]:
    """What is wrong with the logits of a pass, or with what it left behind."""
    logits, expected = done.logits, (len(x), classes)
    if not isinstance(logits, Tensor) or tuple(logits.shape) != expected:
        return [_shape_problem(logits, expected, training)]
    if not logits.is_floating_point():
        return [type_problem(logits)]
    if not bool(torch.isfinite(logits).all()):
        reason = "its outputs on real samples are NaN or infinite before any training"
        return [Problem("model", reason, "check its initial values, and any divisions, roots and logarithms")]
    if done.changed:
        reason = f"forward changes {done.changed[0]} in place"
        return [Problem("model", reason, "compute a new tensor: x = x * 0.5 instead of x.mul_(0.5)")]
    return []


def _repeat_problems(first: _Pass, second: _Pass) -> list[Problem]:
    """A module that gives another output for the same input."""
    most = SAME * float(first.logits.detach().abs().max())
    if torch.allclose(first.logits.float(), second.logits.float(), rtol=SAME, atol=most):
        return []
    reason = "gives different outputs for the same input: it is random, or keeps state between batches"
    return [Problem("model", reason, "use nn.Dropout for randomness, and keep state in floating-point buffers only")]


def _gradient_problems(done: _Pass) -> list[Problem]:
    """Trainable parameters that the backward pass does not reach, or whose gradients are no numbers."""
    idle = [
        Problem(
            f"model.{name}", "is trainable, but gets no gradient", "use it, or freeze it with requires_grad_(False)"
        )
        for name, gradient in done.gradients.items()
        if gradient is None
    ]
    broken = [
        Problem(
            f"model.{name}", "its gradient on real samples is NaN or infinite", "check for roots and logarithms of 0"
        )
        for name, gradient in done.gradients.items()
        if gradient is not None and not bool(torch.isfinite(gradient).all())
    ]
    return idle + broken


def type_problem(logits: Tensor) -> Problem:
    """Refusal of outputs that are no real numbers."""
    given = str(logits.dtype).removeprefix("torch.")
    return Problem("model", "its outputs must be real floating-point numbers (logits)", "return logits", given)


def _shape_problem(logits: object, expected: tuple[int, int], training: bool) -> Problem:
    given = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
    mode = "training" if training else "evaluation"
    reason = f"{expected[0]} samples must give logits of shape {expected}, also in {mode}"
    return Problem("model", reason, "return one row per sample and one column per class", given)


def _module_problem(module: object) -> Problem | None:
    """Why an object is no module that a single input reaches; None if it is."""
    if not isinstance(module, nn.Module):
        given = module.__name__ if isinstance(module, type) else type(module).__name__
        remedy = "pass an instance: wrap(Net(), ...)" if isinstance(module, type) else "a torch.nn.Module"
        return Problem("model", "not a torch module", remedy, given)
    if isinstance(module, torch.jit.ScriptModule):
        return Problem("model", "TorchScript modules cannot be inspected", "pass the original module instead")
    if "_modules" not in vars(module):
        return Problem(
            "model", f"{type(module).__name__}.__init__ does not call super().__init__()", "call it first in __init__"
        )
    if isinstance(module, PARALLEL):
        return Problem(
            "model", "distributes its batches itself", "pass the wrapped module: .module", type(module).__name__
        )
    return _input_problem(module.forward)


def _input_problem(forward: Callable[..., Any]) -> Problem | None:
    """Refusal of a ``forward`` that cannot be called with one input."""
    try:
        signature = inspect.signature(forward)
    except (TypeError, ValueError):  # not written in Python
        return None
    try:
        signature.bind(None)
    except TypeError:
        reason = f"forward{signature} cannot be called with a single input, but samples have one"
        return Problem("model", reason, "define forward(self, x), with defaults for all other arguments")
    return None


def _is_logits(logits: object) -> bool:
    return isinstance(logits, Tensor) and logits.is_floating_point() and logits.dim() == 2


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _kind(x: Tensor) -> str:
    return "numbers" if x.is_floating_point() else "whole numbers (ids)"


def _words(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"

"""Parameter updates of the dense kernel: the gradient, a product ``left @ right``, is added in one fused call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import LocalRule
from fedradio.engine.local import adam, adam_scales, add_prox_and_shift


@dataclass(frozen=True)
class Parameter:
    """A parameter of ``k`` clients with the tensors that its update needs, all ``[k, rows, columns]``."""

    w: Tensor
    w0: Tensor | None = None
    shift: Tensor | None = None
    momentum: Tensor | None = None
    adam_m: Tensor | None = None
    adam_v: Tensor | None = None
    grad: Tensor | None = None
    ascent: Tensor | None = None


class Ascent:
    """The step ``rho g/|g|`` to a point of higher cost, of a group of clients; it writes gradients ``g`` first."""

    def apply(self, p: Parameter, left: Tensor, right: Tensor, scale: float) -> None:
        """Keep the gradient ``scale * left @ right`` of a parameter."""
        assert p.ascent is not None
        _accumulate(p.ascent, left, right, 0.0, scale)

    def climb(self, parameters: Sequence[Parameter], rho: float) -> None:
        """Move all parameters by ``rho g/|g|``, with the norm of each client's whole gradient; not where that is 0."""
        gradients = [p.ascent for p in parameters if p.ascent is not None]
        squares = torch.stack([g.square().sum((-2, -1)) for g in gradients]).sum(0)
        factor = torch.where(squares > 0, rho / squares.sqrt(), 0.0)[..., None, None]
        for p, g in zip(parameters, gradients, strict=True):
            p.w.add_(g.mul_(factor))


class Update:
    """Successive local updates of a group of clients; ``adam_n [k]`` were made in earlier rounds."""

    def __init__(self, rule: LocalRule, adam_n: list[float]) -> None:
        self.rule = rule
        self._adam_n = adam_n
        self._rate = 0.0
        self._size: float | Tensor = 0.0
        self._eps: float | Tensor = 0.0

    def advance(self, j: int, live: int, rate: float, like: Tensor) -> None:
        """Set rate and Adam's scales of update ``j``, for the first ``live`` clients."""
        self._rate = rate
        if self.rule.optimiser == "adam":
            scales = [adam_scales(self.rule, n + j + 1, rate) for n in self._adam_n[:live]]
            if len(set(scales)) == 1:
                self._size, self._eps = scales[0]
            else:
                self._size, self._eps = torch.tensor(scales, dtype=like.dtype, device=like.device).T[..., None, None]

    def apply(self, p: Parameter, left: Tensor, right: Tensor, scale: float) -> None:
        """Update ``p`` with the gradient ``scale * left @ right`` (``[k, rows, b] @ [k, b, columns]``; ``b`` may be 0).

        Plain SGD adds ``-rate*scale*left @ right`` to the parameters; momentum adds the product to ``gam*v``; Adam
        needs the gradient itself.
        """
        rule, rate = self.rule, self._rate
        if p.ascent is not None:
            p.w.sub_(p.ascent)  # back from where the gradient was taken
        if p.adam_m is not None and p.adam_v is not None and p.grad is not None:
            _accumulate(p.grad, left, right, 0.0, scale)
            add_prox_and_shift(p.grad, p.w, p.w0, p.shift, rule.prox)
            adam(rule, p.w, p.grad, p.adam_m, p.adam_v, self._size, self._eps)
        elif p.momentum is not None:
            _accumulate(p.momentum, left, right, rule.momentum, scale)
            add_prox_and_shift(p.momentum, p.w, p.w0, p.shift, rule.prox)
            p.w.add_(p.momentum, alpha=-rate)
        else:
            if p.w0 is not None:
                p.w.lerp_(p.w0, rate * rule.prox)
            if p.shift is not None:
                p.w.add_(p.shift, alpha=-rate)
            _accumulate(p.w, left, right, 1.0, -rate * scale)


def _accumulate(target: Tensor, left: Tensor, right: Tensor, beta: float, alpha: float) -> None:
    """``target = beta*target + alpha*left @ right``; a product over nothing is zero."""
    (target.addmm_ if target.dim() == 2 else target.baddbmm_)(left, right, beta=beta, alpha=alpha)

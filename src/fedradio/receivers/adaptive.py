"""Adaptive server optimisers: FedAdagrad, FedAdam and FedYogi (Reddi et al., Algorithm 2).

``m = b1 m + (1 - b1) D``; ``v`` is ``v + D^2`` (adagrad), ``b2 v + (1 - b2) D^2`` (adam) or ``v - (1 - b2) D^2
sign(v - D^2)`` (yogi), from ``tau^2``; the step is ``lr m / (sqrt v + tau)``. By hand, adam with lr .1, b1 .9, b2 .99,
tau .1, D = 1: m = .1, v = .0099 + .01 = .0199, step .01/(.14107 + .1) = .041483.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.core.contracts import Clock, ReceiverRule, Slots
from fedradio.core.registry import Arg, register
from fedradio.receivers.momentum import LR, only_heard

Second = Literal["adagrad", "adam", "yogi"]

BETA1 = Arg("decay of the mean of the changes, beta_1", ge=0, lt=1)
BETA2 = Arg("decay of the mean square, beta_2", ge=0, lt=1)
TAU = Arg("adaptivity tau, added to the root mean square", gt=0, le=1e3)


@dataclass(frozen=True)
class Adaptive(ReceiverRule):
    """Step in units of the root mean square of past changes, see :func:`adam`."""

    second: Second
    lr: float
    beta1: float
    beta2: float
    tau: float
    correct: bool = False

    def start(self, receivers: int, w: Tensor) -> Slots:
        first = torch.zeros_like(w).expand(receivers, -1)
        slots = {"m": first, "v": torch.full_like(w, self.tau**2).expand(receivers, -1)}
        return slots | ({"n": torch.zeros(receivers, dtype=torch.float64)} if self.correct else {})

    def step(self, change: Tensor, heard: Tensor, state: Slots, clock: Clock) -> tuple[Tensor, Slots]:
        m = self.beta1 * state["m"] + (1 - self.beta1) * change
        v = self._second(state["v"], change.square())
        new = {"m": m, "v": v}
        if self.correct:
            n = state["n"] + 1
            new["n"] = n
            m = m / (1 - self.beta1**n).to(m)[:, None]
            v = v / (1 - self.beta2**n).to(v)[:, None]
        step = self.lr * m / (v.sqrt() + self.tau)
        return only_heard(heard, step), {name: only_heard(heard, rows, state[name]) for name, rows in new.items()}

    def _second(self, v: Tensor, square: Tensor) -> Tensor:
        """The mean square after one more change."""
        if self.second == "adagrad":
            return v + square
        if self.second == "adam":
            return self.beta2 * v + (1 - self.beta2) * square
        return v - (1 - self.beta2) * square * torch.sign(v - square)


@register("receiver", "adam", paper="Reddi et al., arXiv:2003.00295, Algorithm 2 (FedAdam)")
def adam(
    *,
    lr: Annotated[float, LR] = 0.1,
    beta1: Annotated[float, BETA1] = 0.9,
    beta2: Annotated[float, BETA2] = 0.99,
    tau: Annotated[float, TAU] = 1e-3,
    correct: Annotated[bool, Arg("correct the bias of the means in the first steps, as in Adam")] = False,
) -> Adaptive:
    """Adam at the receiver: steps scaled by a decaying root mean square of past changes."""
    return Adaptive("adam", lr, beta1, beta2, tau, correct)


@register("receiver", "yogi", paper="Reddi et al., arXiv:2003.00295, Algorithm 2 (FedYogi)")
def yogi(
    *,
    lr: Annotated[float, LR] = 0.1,
    beta1: Annotated[float, BETA1] = 0.9,
    beta2: Annotated[float, BETA2] = 0.99,
    tau: Annotated[float, TAU] = 1e-3,
) -> Adaptive:
    """Yogi at the receiver: like Adam, but the mean square changes additively, by equal amounts up and down."""
    return Adaptive("yogi", lr, beta1, beta2, tau)


@register("receiver", "adagrad", paper="Reddi et al., arXiv:2003.00295, Algorithm 2 (FedAdagrad)")
def adagrad(
    *,
    lr: Annotated[float, LR] = 0.1,
    beta1: Annotated[float, BETA1] = 0.0,
    tau: Annotated[float, TAU] = 1e-3,
) -> Adaptive:
    """Adagrad at the receiver: steps scaled by the root of the sum of all past squares, so they only shrink."""
    return Adaptive("adagrad", lr, beta1, 0.0, tau)

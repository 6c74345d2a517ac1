"""One update with the gradient ``scale * left @ right``, by hand: left (1, 2)^T, right (3, 4), scale 1/2."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fedradio.core.contracts import LocalRule
from fedradio.engine.update import Parameter, Update

LEFT, RIGHT = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0, 4.0]])
GRADIENT = torch.tensor([[1.5, 2.0], [3.0, 4.0]])


def ones() -> Tensor:
    return torch.ones(2, 2)


def applied(rule: LocalRule, rate: float, p: Parameter, adam_n: float = 0.0) -> Tensor:
    update = Update(rule, [adam_n])
    update.advance(0, 1, rate, torch.zeros(1))
    update.apply(p, LEFT, RIGHT, 0.5)
    return p.w


def test_plain_sgd() -> None:
    found = applied(LocalRule(lr=1.0), 0.1, Parameter(ones()))
    torch.testing.assert_close(found, 1 - 0.1 * GRADIENT)


def test_momentum_prox_and_shift() -> None:
    """``v = .5*2 + g + .3*(1 - 0) + 4;  w -= .1 v``."""
    rule = LocalRule(lr=1.0, momentum=0.5, prox=0.3)
    p = Parameter(ones(), w0=torch.zeros(2, 2), shift=4 * ones(), momentum=2 * ones())
    velocity = 1 + GRADIENT + 0.3 + 4
    torch.testing.assert_close(applied(rule, 0.1, p), 1 - 0.1 * velocity)
    assert p.momentum is not None
    torch.testing.assert_close(p.momentum, velocity)


def test_prox_and_shift_without_memory_are_the_same_step() -> None:
    rule = LocalRule(lr=1.0, prox=0.3)
    found = applied(rule, 0.1, Parameter(ones(), w0=torch.zeros(2, 2), shift=4 * ones()))
    torch.testing.assert_close(found, 1 - 0.1 * (GRADIENT + 0.3 + 4))


@pytest.mark.parametrize("adam_n", [0.0, 3.0])
def test_adam_from_rest_steps_by_the_rate(adam_n: float) -> None:
    """With empty moments ``m = (1 - b1) g``, ``v = (1 - b2) g^2``: the first step is the rate times the sign."""
    rule = LocalRule(lr=1.0, optimiser="adam", eps=1e-12)
    zeros = [torch.zeros(2, 2) for _ in range(3)]
    p = Parameter(ones(), adam_m=zeros[0], adam_v=zeros[1], grad=zeros[2])
    found = applied(rule, 0.1, p, adam_n)
    n = adam_n + 1
    size = 0.1 * (1 - 0.999**n) ** 0.5 / (1 - 0.9**n) * 0.1 / 0.001**0.5
    torch.testing.assert_close(found, 1 - size * ones())
    if adam_n == 0:
        assert size == pytest.approx(0.1)


def test_no_samples_are_a_gradient_of_zero() -> None:
    p = Parameter(ones(), momentum=ones())
    update = Update(LocalRule(lr=1.0, momentum=0.5), [0.0])
    update.advance(0, 1, 0.1, torch.zeros(1))
    update.apply(p, LEFT[:, :0], RIGHT[:0], 1.0)
    torch.testing.assert_close(p.w, 1 - 0.1 * 0.5 * ones())

"""Softmax regression in plain float64 arithmetic: losses and gradients by their formulas, without autograd."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.rounds.simulation import Simulation


def matrices(sim: Simulation, w: Tensor) -> tuple[Tensor, Tensor]:
    """Weights ``[C, F]`` and biases ``[C]`` of a row, in float64."""
    weight, bias = sim.model.shared.views(w.double()).values()
    return weight, bias


def probabilities(sim: Simulation, w: Tensor, x: Tensor) -> Tensor:
    """Outputs ``[n, C]``."""
    weight, bias = matrices(sim, w)
    z = x.double().flatten(1) @ weight.T + bias
    powers = (z - z.max(dim=1, keepdim=True).values).exp()
    return powers / powers.sum(dim=1, keepdim=True)


def back(sim: Simulation, x: Tensor, slope: Tensor) -> Tensor:
    """Gradient in the row ``[d]`` of a cost whose slope in the logits is ``[n, C]``."""
    row = torch.zeros(sim.model.shared.size, dtype=torch.float64)
    weight, bias = sim.model.shared.views(row).values()
    weight.copy_(slope.T @ x.double().flatten(1))
    bias.copy_(slope.sum(dim=0))
    return row


def hot(y: Tensor, classes: int = 10) -> Tensor:
    """Labels as rows of 0 and 1."""
    return torch.eye(classes, dtype=torch.float64)[y]


def plain(sim: Simulation, w: Tensor, x: Tensor, y: Tensor) -> tuple[float, Tensor]:
    """Mean cross entropy and its gradient ``[d]``."""
    p = probabilities(sim, w, x)
    loss = -(hot(y) * p.log()).sum() / len(y)
    return float(loss), back(sim, x, (p - hot(y)) / len(y))


def square(vector: Tensor) -> float:
    """Squared length."""
    return float((vector.double() ** 2).sum())

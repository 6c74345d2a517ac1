"""Amount of local training: steps, or epochs over the data, equal or drawn per client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import View
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg
from fedradio.core.rng import Rng

Amount = int | tuple[int, int]
"""One number for all clients, or drawn uniformly from ``lowest..highest`` for each client and exchange."""

Steps = Annotated[Amount | None, Arg("local steps, or [lowest, highest] to draw them per client", ge=1, le=100_000)]
Epochs = Annotated[
    Amount | None,
    Arg("epochs instead of steps, over the labelled data or whatever rule.epochs_over selects", ge=1, le=1000),
]
"""The two keywords of policies for the amount of local training; without either it is one epoch."""


@dataclass(frozen=True)
class Effort:
    """Amount of local training: exactly one of ``steps`` and ``epochs``, as ``(lowest, highest)``."""

    steps: tuple[int, int] | None
    epochs: tuple[int, int] | None

    def draw(self, view: View, rng: Rng) -> Tensor:
        """Local steps ``[S]``, at least 1; drawn for every client, so that no draw depends on who is active."""
        low, high = self.steps or self.epochs or (1, 1)
        amount = torch.from_numpy(rng.numpy().integers(low, high + 1, size=view.senders))
        if self.steps is None:
            amount = amount * view.signals["epoch_steps"].to(amount.device)
        return amount.clamp(min=1)


def effort(steps: Amount | None, epochs: Amount | None) -> Effort:
    """The :class:`Effort` of a policy's two keywords; one epoch without either."""
    if steps is not None and epochs is not None:
        raise SpecError(Problem("policy.epochs", "steps and epochs are both given", "keep one of them", epochs))
    if steps is None and epochs is None:
        epochs = 1
    return Effort(_span("steps", steps), _span("epochs", epochs))


def _span(name: str, amount: Amount | None) -> tuple[int, int] | None:
    if amount is None:
        return None
    low, high = (amount, amount) if isinstance(amount, int) else amount
    if low > high:
        raise SpecError(Problem(f"policy.{name}", "the lowest value comes first", "swap the two values", amount))
    return low, high


def too_many_clients(clients: int, parent: Tensor, receivers: int) -> str:
    """Why ``clients`` of each receiver cannot be chosen; empty if they can."""
    smallest = int(torch.bincount(parent, minlength=receivers).min())
    if clients <= smallest:
        return ""
    return f"cannot draw clients = {clients} for a receiver that has only {smallest}; use at most {smallest}"

"""Uniform client sampling without replacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Allocation, Reason, Slots, View
from fedradio.core.params import group_rank
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.policies.effort import Effort, Epochs, Steps, effort, too_many_clients
from fedradio.policies.fixed import at_full_power


@dataclass(frozen=True)
class Sampling:
    """Uniform sampling of clients, see :func:`sampling`."""

    clients: int
    effort: Effort
    needs = frozenset[str]()
    reads = frozenset[str]()
    everyone = False

    def check(self, parent: Tensor, receivers: int) -> str:
        return too_many_clients(self.clients, parent, receivers)

    def start(self, senders: int) -> Slots:
        return {}

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        """Uniform sample without replacement: the ``m`` smallest of independent uniform keys of each receiver."""
        keys = torch.from_numpy(rng.child("sample").numpy().random(view.senders))
        active = group_rank(keys, view.parent) < self.clients
        reason = torch.where(active, int(Reason.NONE), int(Reason.NOT_SELECTED))
        return at_full_power(view, active, self.effort.draw(view, rng.child("effort")), reason), state


@register("policy", "sampling")
def sampling(
    *,
    clients: Annotated[int, Arg("clients drawn of each receiver", ge=1)] = 2,
    steps: Steps = None,
    epochs: Epochs = None,
) -> Sampling:
    """Uniform sampling of clients of each receiver without replacement, at full CPU and power (default: one epoch)."""
    return Sampling(clients, effort(steps, epochs))

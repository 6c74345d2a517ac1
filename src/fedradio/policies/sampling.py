"""Uniform client sampling without replacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Allocation, Policy, Reason, Slots, View
from fedradio.core.params import group_rank
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.policies.effort import Effort, Epochs, Steps, effort, too_many_clients
from fedradio.policies.fixed import at_full_power


@dataclass(frozen=True)
class Sampling(Policy):
    """Uniform sampling of clients, see :func:`sampling`."""

    clients: int
    effort: Effort

    def check(self, parent: Tensor, receivers: int) -> str:
        return too_many_clients(self.clients, parent, receivers)

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        """Uniform sample without replacement: the ``m`` smallest of independent uniform keys of each receiver."""
        keys = torch.from_numpy(rng.child("sample").numpy().random(view.senders))
        active = smallest(keys, view.parent, view.receivers, self.clients)
        reason = torch.where(active, int(Reason.NONE), int(Reason.NOT_SELECTED))
        return at_full_power(view, active, self.effort.draw(view, rng.child("effort")), reason), state


def smallest(keys: Tensor, group: Tensor, groups: int, m: int) -> Tensor:
    """Mask ``[S]`` of the ``m`` smallest keys of each group, ties by position: ``group_rank(keys, group) < m``.

    Only keys below a limit are ranked, which is raised until every group has ``m`` below it (or all of its own). Such
    keys rank among themselves as they do among all. Keys uniform in [0, 1) rarely need more than one limit.
    """
    size = torch.bincount(group, minlength=groups)
    limit = (4 * m + 16) / int(size[size > 0].min())
    below = torch.ones_like(keys, dtype=torch.bool)
    while limit < 0.5:
        near = keys < limit
        if bool((torch.bincount(group[near], minlength=groups) >= size.clamp(max=m)).all()):
            below = near
            break
        limit *= 4
    chosen = torch.zeros_like(below)
    chosen[below] = group_rank(keys[below], group[below]) < m
    return chosen


@register("policy", "sampling")
def sampling(
    *,
    clients: Annotated[int, Arg("clients drawn per receiver", ge=1)] = 2,
    steps: Steps = None,
    epochs: Epochs = None,
) -> Sampling:
    """Uniform client sampling without replacement, per receiver, at full CPU and power (default: one epoch)."""
    return Sampling(clients, effort(steps, epochs))

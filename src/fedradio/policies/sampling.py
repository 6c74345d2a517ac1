"""Uniform client sampling without replacement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.core.contracts import Allocation, Exchange, Policy, Reason, Slots, View
from fedradio.core.params import group_rank
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.fleet.costs import ready_s
from fedradio.policies.effort import Effort, Epochs, Steps, effort, too_many_clients
from fedradio.policies.fixed import at_full_power


@dataclass(frozen=True)
class Sampling(Policy):
    """Uniform sampling of clients, see :func:`sampling`."""

    clients: int
    effort: Effort
    deadline: Literal["skip", "ignore"] = "skip"

    @property
    def meets_deadline(self) -> bool:
        return self.deadline == "skip"

    def check(self, parent: Tensor, receivers: int) -> str:
        return too_many_clients(self.clients, parent, receivers)

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        """Uniform sample without replacement: the ``m`` smallest of independent uniform keys of each receiver.

        Clients that would be late at full power have no key; a receiver with fewer than ``m`` others takes all these.
        """
        keys = torch.from_numpy(rng.child("sample").numpy().random(view.senders))
        steps = self.effort.draw(view, rng.child("effort"))
        late = torch.zeros(view.senders, dtype=torch.bool)
        if view.deadline_s is not None and self.deadline == "skip":
            late = late_at_full_power(view, steps, rng.child("forecast"))
            keys = torch.where(late, torch.inf, keys)
        active = smallest(keys, view.parent, view.receivers, self.clients) & ~late
        reason = torch.where(active, int(Reason.NONE), int(Reason.NOT_SELECTED))
        return at_full_power(view, active, steps, torch.where(late, int(Reason.DEADLINE), reason)), state


def late_at_full_power(view: View, steps: Tensor, rng: Rng) -> Tensor:
    """Senders ``[S]`` that miss the deadline even at full CPU and power, by the link's forecast without fading."""
    everyone = torch.ones(view.senders, dtype=torch.bool)
    alloc = at_full_power(view, everyone, steps, torch.full((view.senders,), int(Reason.NONE)))
    channel = None if view.channel is None else replace(view.channel, coefficient=None, rayleigh=False)
    x = Exchange.of(replace(view, channel=channel), alloc, ready_s(view, alloc))
    forecast = view.link.plan(x, view.link.start(view.senders, view.receivers), rng)
    return forecast.reason == int(Reason.DEADLINE)


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
    deadline: Annotated[
        Literal["skip", "ignore"],
        Arg("whether clients that miss the hop's deadline even at full power are left out of the draw"),
    ] = "skip",
) -> Sampling:
    """Uniform client sampling without replacement, per receiver, at full CPU and power (default: one epoch).

    Clients that cannot meet the hop's deadline are not drawn, unless ``deadline`` is ``ignore``. If fewer than
    ``clients`` of a receiver can meet it, all of these take part.
    """
    return Sampling(clients, effort(steps, epochs), deadline)

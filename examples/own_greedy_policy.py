"""A policy of one's own in one file: of every receiver, the clients that end first, if they meet the deadline.

A client computes ``n`` cycles at full CPU and sends ``s`` bits at full power: ``t = n / f + s / R(P)``. By hand, with a
deadline of 2 s and clients that need 3, 1.5 and 1 s: of two that are wanted the last two take part, the first is late.
Use it with ``--parts examples/own_greedy_policy.py`` and ``policy: deadline_greedy`` on a hop with a deadline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio import Allocation, Arg, Policy, Reason, Rng, Slots, View, at_full_power, group_rank, register


@dataclass(frozen=True)
class DeadlineGreedy(Policy):
    """See :func:`deadline_greedy`."""

    clients: int
    steps: int
    needs = frozenset({"rate", "fleet", "deadline", "steps"})

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        assert view.deadline_s is not None  # as the fleet and the rates, the policy needs it
        seconds = self.seconds(view)
        late = seconds > view.deadline_s
        able = torch.ones_like(late) if view.able is None else view.able
        keys = torch.where(able & ~late, seconds, torch.inf)
        active = (group_rank(keys, view.parent) < self.clients) & keys.isfinite()
        idle = torch.where(late, int(Reason.DEADLINE), int(Reason.NOT_SELECTED))
        reason = torch.where(active, int(Reason.NONE), idle)
        return at_full_power(view, active, torch.full((view.senders,), self.steps), reason), state

    def seconds(self, view: View) -> Tensor:
        """Seconds ``[S]`` until the update of each client arrives, at full CPU and power."""
        assert view.fleet is not None
        assert view.rates is not None
        assert view.cycles_per_step is not None
        return view.cycles_per_step * self.steps / view.fleet.f_max_hz + view.rates.seconds(view.fleet.p_max_w)


@register("policy", "deadline_greedy")
def deadline_greedy(
    *,
    clients: Annotated[int, Arg("most clients of each receiver", ge=1)] = 5,
    steps: Annotated[int, Arg("local steps of each", ge=1, le=100_000)] = 10,
) -> DeadlineGreedy:
    """The clients that end first, at full CPU and power, as long as they meet the deadline."""
    return DeadlineGreedy(clients, steps)

"""A policy of one's own in one file: the clients with the highest training loss take part.

A receiver asks a few random candidates and keeps those with the highest loss they last reported (power of choice). A
client that has never trained has no loss yet and counts as the highest, so that everybody is heard once. With as many
candidates as clients it equals ``sampling`` bit for bit.
Run it with ``python examples/own_policy.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio import (
    Allocation,
    Arg,
    Effort,
    Epochs,
    Policy,
    Reason,
    Rng,
    Slots,
    Steps,
    View,
    at_full_power,
    effort,
    group_rank,
    load_spec,
    register,
    run,
)


@dataclass(frozen=True)
class HighestLoss(Policy):
    """See :func:`highest_loss`."""

    clients: int
    candidates: int
    effort: Effort
    reads = frozenset({"loss"})

    def check(self, parent: Tensor, receivers: int) -> str:
        smallest = int(torch.bincount(parent, minlength=receivers).min())
        if self.clients <= self.candidates <= smallest:
            return ""
        return f"needs clients <= candidates <= {smallest}, the clients of the smallest receiver"

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        """Random numbers are drawn for every client, so that nobody's draw depends on who takes part."""
        keys = torch.from_numpy(rng.child("sample").numpy().random(view.senders))
        asked = group_rank(keys, view.parent) < self.candidates
        unknown = torch.full((view.senders,), torch.inf, dtype=torch.float64)
        loss = view.signals.get("loss", unknown).nan_to_num(nan=torch.inf)  # nobody has a loss before the first round
        active = group_rank(-torch.where(asked, loss, -torch.inf), view.parent) < self.clients
        reason = torch.where(active, int(Reason.NONE), int(Reason.NOT_SELECTED))
        return at_full_power(view, active, self.effort.draw(view, rng.child("effort")), reason), state


@register("policy", "highest_loss", paper="Cho, Wang, Joshi, AISTATS 2022 (with remembered losses)")
def highest_loss(
    *,
    clients: Annotated[int, Arg("clients chosen of each receiver", ge=1)] = 2,
    candidates: Annotated[int, Arg("random clients that they are chosen from", ge=1)] = 3,
    steps: Steps = None,
    epochs: Epochs = None,
) -> HighestLoss:
    """Of random candidates those with the highest last training loss, at full CPU and power (default: one epoch)."""
    return HighestLoss(clients, candidates, effort(steps, epochs))


def main() -> None:
    for policy in ("{kind: sampling, clients: 5}", "{kind: highest_loss, clients: 5, candidates: 10}"):
        summary = run(load_spec("digits_flat", [f"hops.0.policy={policy}", "rounds=20"]))
        print(f"{policy:<50} accuracy {summary.accuracy:.3f} after {summary.rounds} rounds")


if __name__ == "__main__":
    main()

"""SCAFFOLD: control variates against client drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.algorithms.averaging import SERVER_LR, shares_of_arrived
from fedradio.algorithms.requires import require_sgd
from fedradio.core.contracts import (
    MODEL,
    VARIATE,
    Algorithm,
    Cohort,
    Delivery,
    Held,
    Info,
    LocalRule,
    Memory,
    Merged,
    Slots,
    Start,
    Trained,
    Work,
)
from fedradio.core.params import group_sum
from fedradio.core.registry import register


@dataclass(frozen=True)
class Scaffold(Algorithm):
    """Averaging with control variates, see :func:`scaffold`.

    ``shared``: ``w``, ``c``; ``client``: ``c_i``; the invariant ``c = mean_i c_i`` holds.
    """

    server_lr: float = 1.0
    sends = ("change", "memory")
    relay = "fixed"

    def rule(self, rule: LocalRule) -> LocalRule:
        require_sgd("scaffold", rule)
        return rule

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        variates = torch.zeros_like(w).expand(clients, -1)
        return Memory(shared={MODEL: w, VARIATE: torch.zeros_like(w)}, client={VARIATE: variates})

    def start(self, cohort: Cohort) -> Start:
        """Every gradient is shifted by ``c - c_i``."""
        shift = cohort.got[VARIATE][cohort.row] - cohort.mine[VARIATE]
        return Start(cohort.got[MODEL], cohort.row, shift=shift)

    def upload(self, cohort: Cohort, trained: Trained, work: Work) -> Tensor:
        """Two blocks ``[D_i, c_i_new - c_i]``."""
        return torch.stack((trained.delta, _variate_change(cohort, trained, work)), dim=1)

    def keep(self, cohort: Cohort, trained: Trained, work: Work, heard: Tensor, acked: Tensor) -> Slots:
        """``c_i`` moves as the receiver hears it, and only when the upload was acknowledged, or the invariant would
        break."""
        moves = cohort.damping * acked.to(heard).unsqueeze(1)
        return {VARIATE: cohort.mine[VARIATE] + heard[:, 1] * moves}

    def weights(self, held: Held, info: Info) -> Tensor:
        return shares_of_arrived(self.importance(info.known, len(info.ids)), info)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        """Updates ``w += eta_g mean(D_i)`` and ``c += |arrived|/N mean(c_i_new - c_i)``."""
        w, c = held.shared[MODEL], held.shared[VARIATE]
        share = group_sum(info.arrived.double(), info.group, info.receivers) / info.members.clamp(min=1)
        moved = c + (info.damping * share).to(c).unsqueeze(1) * delivery.total[:, 1]
        shared = {MODEL: w + self.server_lr * delivery.total[:, 0], VARIATE: moved}
        return Merged(Held(shared, held.ledger, held.receiver))


def _variate_change(cohort: Cohort, trained: Trained, work: Work) -> Tensor:
    """Change ``c_i_new - c_i = -(c + D_i / (eta Qt_i))`` of a variate (option II; ``Qt = K`` without momentum).

    ``eta`` is the mean rate of the updates; exact for a rate that is constant within the round. 0 for a client that
    trained at rate 0.
    """
    eta = work.rate / work.updates
    moved = (eta > 0).to(trained.delta).unsqueeze(1)
    scale = torch.where(eta > 0, -1.0 / (eta * work.effective), 0.0).to(trained.delta).unsqueeze(1)
    return trained.delta * scale - moved * cohort.got[VARIATE][cohort.row]


@register("algorithm", "scaffold", paper="Karimireddy et al., ICML 2020, Algorithm 1, option II")
def scaffold(
    *,
    server_lr: Annotated[float, SERVER_LR] = 1.0,
) -> Scaffold:
    """SCAFFOLD, control variates against client drift: gradients corrected by ``c - c_i``, two vectors sent."""
    return Scaffold(server_lr=server_lr)

"""FedDyn: dynamic regularisation, with the server's correction in its own memory.

Client i minimises ``f_i(w) - <g_i, w> + alpha/2 |w - w_server|^2`` from the received model and moves
``g_i -= alpha D_i`` with its change ``D_i``. The server keeps ``h``: ``h -= alpha (arrived/N) mean(D_i)`` and
``w += mean(D_i) - h/alpha``. By hand: costs ``(w - a_i)^2/2`` with a = 0 and 4, alpha = 1, w = 1, solved exactly:
models .5 and 2.5, so D = -.5 and 1.5, g = .5 and -1.5, h = -.5, and w = 1 + .5 + .5 = 2, the minimum of the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor

from fedradio.algorithms.averaging import shares_of_arrived
from fedradio.algorithms.requires import require_sgd
from fedradio.core.contracts import (
    MODEL,
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
from fedradio.core.registry import Arg, register

PULL = "g"
"""Client slot ``[C, d]``: the gradient of each client's cost at its last model, as the regulariser knows it."""

CORRECTION = "h"
"""Receiver slot ``[R, d]``: the mean of all ``g_i``."""


@dataclass(frozen=True)
class FedDyn(Algorithm):
    """Averaging with dynamic regularisation, see :func:`feddyn`; one hop only."""

    alpha: float
    single_hop = True
    sends = ("memory",)

    def rule(self, rule: LocalRule) -> LocalRule:
        require_sgd("feddyn", rule)
        return replace(rule, prox=self.alpha)

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        zeros = torch.zeros_like(w)
        pulls, corrections = zeros.expand(clients, -1), zeros.clone().expand(receivers, -1)
        return Memory({MODEL: w}, client={PULL: pulls}, receiver={CORRECTION: corrections})

    def start(self, cohort: Cohort) -> Start:
        """Every gradient is shifted by ``-g_i``."""
        return Start(cohort.got[MODEL], cohort.row, shift=-cohort.mine[PULL])

    def keep(self, cohort: Cohort, trained: Trained, work: Work, heard: Tensor, acked: Tensor) -> Slots:
        """``g_i -= alpha D_i`` with the change as the receiver hears it, only when the upload was acknowledged."""
        rate = self.alpha * cohort.damping * acked.to(heard).unsqueeze(1)
        return {PULL: cohort.mine[PULL] - rate * heard[:, 0]}

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        return torch.ones(clients, dtype=torch.float64)

    def weights(self, held: Held, info: Info) -> Tensor:
        return shares_of_arrived(self.importance(info.known, len(info.ids)), info)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        """``h -= alpha (arrived/N) mean(D_i)``, ``w += mean(D_i) - h/alpha``; nothing moves where nobody arrived."""
        mean, w = delivery.total[:, 0], held.shared[MODEL]
        arrived = group_sum(info.arrived.double(), info.group, info.receivers)
        share = (arrived / info.members.clamp(min=1)).to(w).unsqueeze(1)
        h = held.receiver[CORRECTION] - self.alpha * info.damping * share * mean
        step = torch.where((arrived > 0).to(w.device).unsqueeze(1), mean - h / self.alpha, 0.0)
        return Merged(Held({MODEL: w + step}, held.ledger, {CORRECTION: h}))


@register("algorithm", "feddyn", paper="Acar et al., arXiv:2111.04263, Algorithm 1")
def feddyn(*, alpha: Annotated[float, Arg("strength of the regulariser", gt=0, le=1e4)] = 0.1) -> FedDyn:
    """FedDyn, dynamic regularisation: local minima are pulled together until they agree with the global minimum."""
    return FedDyn(alpha)

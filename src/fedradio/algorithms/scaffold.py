"""SCAFFOLD: control variates against client drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.algorithms.fedavg import FedAvg
from fedradio.algorithms.fednova import require_sgd
from fedradio.core.contracts import Delivery, Info, LocalRule, Memory, Slots, Start, Trained, Work
from fedradio.core.params import group_sum
from fedradio.core.registry import Arg, register


@dataclass(frozen=True)
class Scaffold(FedAvg):
    """Averaging with control variates, see :func:`scaffold`.

    ``shared``: ``w``, ``c``; ``client``: ``c_i``; the invariant ``c = mean_i c_i`` holds.
    """

    weighting: Literal["samples", "equal"] = "equal"

    blocks = 2

    @property
    def relay(self) -> Literal["arrived", "fixed"]:
        return "fixed"

    def rule(self, rule: LocalRule) -> LocalRule:
        require_sgd("scaffold", rule)
        return super().rule(rule)

    def init(self, w: Tensor, clients: int) -> Memory:
        variates = torch.zeros(clients, len(w), dtype=w.dtype, device=w.device)
        return Memory(shared={"w": w, "c": torch.zeros_like(w)}, client={"c": variates})

    def start(self, got: Slots, group: Tensor, mine: Slots) -> Start:
        """Every gradient is shifted by ``c - c_i``."""
        return Start(got["w"], group, shift=got["c"][group] - mine["c"])

    def upload(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work) -> Tensor:
        """Two blocks ``[D_i, c_i_new - c_i]``."""
        return torch.stack((trained.delta, _variate_change(got, group, trained, work)), dim=1)

    def keep(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work, acked: Tensor) -> Slots:
        """``c_i`` moves only when the upload was acknowledged, or the invariant would break."""
        change = _variate_change(got, group, trained, work)
        return {"c": mine["c"] + change * acked.to(change).unsqueeze(1)}

    def merge(self, shared: Slots, ledger: Slots, delivery: Delivery, info: Info) -> tuple[Slots, Slots, Slots]:
        """Updates ``w += eta_g mean(D_i)`` and ``c += |arrived|/N mean(c_i_new - c_i)``."""
        share = group_sum(info.arrived.double(), info.group, info.receivers) / info.members.clamp(min=1)
        moved = shared["c"] + share.to(shared["c"]).unsqueeze(1) * delivery.total[:, 1]
        return {"w": shared["w"] + self.server_lr * delivery.total[:, 0], "c": moved}, ledger, {}


def _variate_change(got: Slots, group: Tensor, trained: Trained, work: Work) -> Tensor:
    """Change ``c_i_new - c_i = -(c + D_i / (eta Qt_i))`` of a variate (option II; ``Qt = K`` without momentum).

    ``eta`` is the mean rate of the updates; exact for a rate that is constant within the round. 0 for a client that
    trained at rate 0.
    """
    eta = work.rate / work.updates
    moved = (eta > 0).to(trained.delta).unsqueeze(1)
    scale = torch.where(eta > 0, -1.0 / (eta * work.effective), 0.0).to(trained.delta).unsqueeze(1)
    return trained.delta * scale - moved * got["c"][group]


@register("algorithm", "scaffold", paper="Karimireddy et al., ICML 2020, Algorithm 1, option II")
def scaffold(
    *,
    server_lr: Annotated[float, Arg("global learning rate eta_g", gt=0, le=1e4)] = 1.0,
) -> Scaffold:
    """Averaging with control variates against client drift: gradients corrected by ``c - c_i``, two vectors sent."""
    return Scaffold(server_lr=server_lr)

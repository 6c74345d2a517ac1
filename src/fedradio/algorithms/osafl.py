"""OSAFL: averaging of mean updates weighed by online scores; and AFA-CD, the same without scores.

A client sends its mean update ``-eta d_u = (w_kappa - w_0)/kappa`` (16), in units of a change, so that receivers need
to know neither its rate nor its number of steps. By hand, ``chi = 1``, two clients with updates (1, 0) and (0, 1): the
mean is (.5, .5), both cosines are 1/sqrt(2), both scores (1 + .7071)/2 = .8536, the step eta_g (.4268, .4268).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.algorithms.buffers import AGE, SENT, Buffer, NeverSeen, mix
from fedradio.algorithms.fedavg import FedAvg
from fedradio.algorithms.fednova import NEVER_SEEN, refuse_literal, require_sgd
from fedradio.core.contracts import Delivery, Info, LocalRule, Memory, Slots, Trained, Work
from fedradio.core.params import group_share
from fedradio.core.registry import Arg, register


@dataclass(frozen=True)
class AfaCd(FedAvg):
    """Anarchic averaging of mean updates, see :func:`afa_cd`."""

    def rule(self, rule: LocalRule) -> LocalRule:
        require_sgd("a mean update", rule)
        return super().rule(rule)

    def upload(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work) -> Tensor:
        """Mean updates ``D_u / kappa_u``, computed in place of the changes."""
        return trained.delta.div_(work.effective.to(trained.delta).unsqueeze(1)).unsqueeze(1)


@dataclass(frozen=True)
class Osafl(AfaCd):
    """Averaging of mean updates weighed by online scores, see :func:`osafl`."""

    chi: float = 1.0
    buffer: Buffer = "gradients"
    weighting: Literal["samples", "equal"] = "equal"

    @property
    def publishes(self) -> frozenset[str]:
        return super().publishes | {"score"}

    def init(self, w: Tensor, clients: int) -> Memory:
        memory = super().init(w, clients)
        return replace(memory, ledger=memory.ledger | {"score": torch.zeros(clients, dtype=torch.float64)})

    def merge(self, shared: Slots, ledger: Slots, delivery: Delivery, info: Info) -> tuple[Slots, Slots, Slots]:
        shared, ledger, published = super().merge(shared, ledger, delivery, info)
        return shared, ledger, published | {"score": ledger["score"]}

    def remembered_weights(self, ledger: Slots, info: Info) -> tuple[Slots, Tensor]:
        """Weights ``alpha_u lambda_u`` (17) with ``alpha_u = 1/U`` and the scores (21)."""
        score = scores(ledger[SENT], info.parent, info.receivers, self.chi)
        ledger, share = super().remembered_weights(ledger, info)
        seen = ledger[AGE] >= 0
        return ledger | {"score": torch.where(seen, score, 0.0)}, share * score


def scores(sent: Tensor, parent: Tensor, receivers: int, chi: float) -> Tensor:
    """Scores ``lambda_u = (chi + cos(d, d_u)) / (chi + 1)`` (19)-(21), ``[C]`` in [0, 1]; ``d`` is a receiver's mean.

    A row of zeros, of a client that was never seen, has cosine 0.
    """
    share = group_share(torch.ones(len(parent), dtype=torch.float64), parent, receivers)
    mean = mix(sent, share, parent, receivers)  # [R, d]
    dots = (sent @ mean.T).double().cpu().gather(1, parent.unsqueeze(1)).squeeze(1)
    lengths = [torch.linalg.vector_norm(rows, dim=1).double().cpu() for rows in (sent, mean)]
    norms = lengths[0] * lengths[1][parent]
    cosine = torch.where(norms > 0, dots / norms.clamp(min=torch.finfo(torch.float64).tiny), 0.0).clamp(-1.0, 1.0)
    return (chi + cosine) / (chi + 1.0)


@register("algorithm", "osafl", paper="OSAFL, eqs. (14)-(21) and Algorithm 2")
def osafl(
    *,
    server_lr: Annotated[float, Arg("global learning rate, times the local one: eta~", gt=0, le=1e4)] = 10.0,
    chi: Annotated[float, Arg("chi of the scores: at 1 a client opposite to the mean counts 0", ge=1, le=1e6)] = 1.0,
    never_seen: Annotated[NeverSeen, NEVER_SEEN] = "nothing",
) -> Osafl:
    """Online-score-aided averaging: every client's last mean update, weighed by its similarity to their mean.

    ``w -= eta~ eta sum_u lambda_u d_u / U`` over all clients, whether they could take part in this round or not. The
    receiver knows no client's data size or number of steps.
    """
    return Osafl(server_lr=server_lr, chi=chi, never_seen=never_seen)


@register("algorithm", "afa_cd", paper="Yang et al., ICML 2022, Algorithm 2; OSAFL, Algorithm 9 (buffer: gradients)")
def afa_cd(
    *,
    server_lr: Annotated[float, Arg("global rate over local rate, eta / eta_L", gt=0, le=1e4)] = 10.0,
    buffer: Annotated[
        Literal["none", "gradients"], Arg("whether receivers remember each client's last mean update")
    ] = "gradients",
    never_seen: Annotated[NeverSeen, NEVER_SEEN] = "nothing",
) -> AfaCd:
    """Anarchic federated averaging, cross-device: the plain mean of the mean updates, ``w -= eta mean_u d_u``."""
    refuse_literal(never_seen, buffer)
    return AfaCd("equal", server_lr=server_lr, buffer=buffer, never_seen=never_seen)

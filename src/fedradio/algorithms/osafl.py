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

from fedradio.algorithms.averaging import add_total, shares_of_all, shares_of_arrived
from fedradio.algorithms.buffers import (
    AGE,
    NEVER_SEEN,
    SENT,
    SIGNALS,
    Buffer,
    NeverSeen,
    merge_remembered,
    mix,
    open_buffer,
    refuse_literal,
)
from fedradio.algorithms.requires import require_sgd
from fedradio.core.contracts import (
    MODEL,
    Algorithm,
    Cohort,
    Delivery,
    Held,
    Info,
    LinkTrait,
    LocalRule,
    Memory,
    Merged,
    Slots,
    Trained,
    Work,
)
from fedradio.core.params import group_share
from fedradio.core.registry import Arg, register


@dataclass(frozen=True)
class AfaCd(Algorithm):
    """Anarchic averaging of mean updates, see :func:`afa_cd`."""

    server_lr: float = 10.0
    buffer: Buffer = "gradients"
    never_seen: NeverSeen = "nothing"

    @property
    def remembers(self) -> bool:
        return self.buffer != "none"

    @property
    def needs(self) -> frozenset[LinkTrait]:
        return frozenset({"individual"}) if self.remembers else frozenset()

    @property
    def publishes(self) -> frozenset[str]:
        return SIGNALS if self.remembers else frozenset()

    @property
    def relay(self) -> Literal["arrived", "fixed"]:
        return "fixed" if self.remembers else "arrived"

    def rule(self, rule: LocalRule) -> LocalRule:
        require_sgd("a mean update", rule)
        return rule

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        return Memory(shared={MODEL: w}, ledger=open_buffer(w, clients) if self.remembers else {})

    def upload(self, cohort: Cohort, trained: Trained, work: Work) -> Tensor:
        """Mean updates ``D_u / kappa_u``, computed in place of the changes, which clients do not keep."""
        return trained.delta.div_(work.effective.to(trained.delta).unsqueeze(1)).unsqueeze(1)

    def weights(self, held: Held, info: Info) -> Tensor:
        return shares_of_arrived(self.importance(info.known, len(info.ids)), info)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        if not self.remembers:
            return add_total(held, delivery, self.server_lr)
        return merge_remembered(
            held,
            delivery,
            info,
            self.remembered_weights,
            buffer=self.buffer,
            never_seen=self.never_seen,
            server_lr=self.server_lr,
        )

    def remembered_weights(self, ledger: Slots, info: Info) -> tuple[Slots, Tensor]:
        """Equal coefficients ``[C]`` of all clients, and the ledger."""
        return ledger, shares_of_all(self.importance(info.announced, len(info.parent)), info)


@dataclass(frozen=True)
class Osafl(AfaCd):
    """Averaging of mean updates weighed by online scores, see :func:`osafl`."""

    chi: float = 1.0

    @property
    def publishes(self) -> frozenset[str]:
        return SIGNALS | {"score"}

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        memory = super().init(w, clients, receivers)
        return replace(memory, ledger=memory.ledger | {"score": torch.zeros(clients, dtype=torch.float64)})

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        merged = super().merge(held, delivery, info)
        return replace(merged, published=merged.published | {"score": merged.held.ledger["score"]})

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
    return AfaCd(server_lr, buffer, never_seen)

"""FedCPSL: personalised semi-supervised learning with control variates for momentum and unequal local steps.

Every client sends its change ``D_i`` alone, in one block. With ``eta_i`` the mean rate of its updates, ``Qt_i`` its
effective steps and ``w_i`` its share, the aggregation weights are ``a_i = w_i eta / (eta_i Qt_i)``, ``eta`` being
the mean of the ``eta_i``, so that one total ``S = sum_A a_i D_i = -eta sum_A w_i (mean gradient of i)`` gives both

    ``theta += eta_g (N/m) S`` (17)   and   ``c -= c sum_A w_i + S/eta`` (18).

Links that superpose let the senders scale by ``a_i`` over their mean, which is ``Qt_ref / Qt_i``. By hand: two of four
equal clients come with changes -2 (2 steps) and -4 (4 steps) at rate .5, no momentum. Then ``S = (-1 - 1)/4``,
``eta_g = 3``, ``theta`` moves by ``3 * 2 * (-.5) = -3`` and ``c`` from 0 to 1, half of the mean gradient 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.algorithms.apfl import (
    ALPHA_P,
    ALPHA_R,
    FINETUNE,
    LEARN,
    LR_FACTOR,
    MIXTURE,
    MOMENTUM,
    PHASES,
    PSEUDO,
    PSEUDO_ON,
    PSEUDO_RATE,
    UNLABELLED_BATCH,
    Mixture,
    Personal,
    Phases,
    Pseudo,
    PseudoOn,
    check_mixture,
    check_phases,
    costs,
)
from fedradio.algorithms.averaging import Weighting, shares_of_all
from fedradio.core.contracts import (
    MODEL,
    VARIATE,
    Cohort,
    Delivery,
    Held,
    Info,
    Memory,
    Merged,
    Slots,
    Start,
    Trained,
    Work,
)
from fedradio.core.params import group_sum
from fedradio.core.registry import Arg, register

GlobalRate = Literal["steps", "effective"]

AT_START = "start_seen"
"""Signal ``[C]``: samples of every client before the first round. Shares are fixed by them, since the invariant
``c = sum_i w_i c_i`` would break when data grow."""


@dataclass(frozen=True)
class FedCpsl(Personal):
    """Personalised semi-supervised learning with control variates, see :func:`fedcpsl`.

    ``shared``: ``w``, ``c``; ``client``: ``c``, and ``own`` of pairs; the invariant ``c = sum_i w_i c_i`` holds.
    """

    global_rate: GlobalRate = "steps"
    sends = ("memory",)
    relay = "fixed"

    @property
    def reveals(self) -> frozenset[str]:
        """``Qt_i``, as in the paper, and rate and updates, which give ``eta_i`` under a schedule."""
        revealed = frozenset({"effective", "rate", "updates"})
        return revealed | {AT_START} if self.weighting == "samples" else revealed

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        memory = super().init(w, clients, receivers)
        client = memory.client | {VARIATE: torch.zeros_like(w).expand(clients, -1)}
        return replace(memory, shared={MODEL: w, VARIATE: torch.zeros_like(w)}, client=client)

    def start(self, cohort: Cohort) -> Start:
        """Every gradient of the shared model is shifted by ``c - c_i`` (11)."""
        return replace(super().start(cohort), shift=cohort.got[VARIATE][cohort.row] - cohort.mine[VARIATE])

    def upload(self, cohort: Cohort, trained: Trained, work: Work) -> Tensor:
        """``D_i``; through a lossy coder the change of the variate ``q_i = D_i/(eta_i Qt_i) + c``, of which the
        receiver takes c off again: a number that a coder leaves out must read as no change."""
        payload = super().upload(cohort, trained, work)
        return self._variate_change(cohort, work, payload[:, 0]).unsqueeze(1) if cohort.lossy else payload

    def keep(self, cohort: Cohort, trained: Trained, work: Work, heard: Tensor, acked: Tensor) -> Slots:
        """``c_i -= q_i`` (16) as the receiver hears it, only when the upload was acknowledged."""
        arrived = acked.to(heard).unsqueeze(1)
        if cohort.lossy:
            moved = cohort.damping * arrived * heard[:, 0]
        else:
            moved = self._variate_change(cohort, work, heard[:, 0], acked)
        return super().keep(cohort, trained, work, heard, acked) | {VARIATE: cohort.mine[VARIATE] - moved}

    def _variate_change(self, cohort: Cohort, work: Work, change: Tensor, acked: Tensor | float = 1.0) -> Tensor:
        """``q_i = D_i/(eta_i Qt_i) + c`` of the acknowledged, 0 of others and of clients that trained at rate 0."""
        scale = _per_gradient(work.rate, work.updates, work.effective) * acked
        moved = change * scale.to(change).unsqueeze(1)
        moved += cohort.got[VARIATE][cohort.row] * (scale > 0).to(change).unsqueeze(1)
        return moved

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        if self.weighting == "samples":
            return known[AT_START].double()
        return torch.ones(clients, dtype=torch.float64)

    def weights(self, held: Held, info: Info) -> Tensor:
        """``a_i = w_i eta / (eta_i Qt_i)`` of the arrived; ``w_i`` is a share of all clients of the receiver. The
        changes ``q_i`` of variates, which lossy coders get, have the weights ``w_i``."""
        if info.lossy:
            return self._share(info) * (_scale(info) > 0)
        return self._share(info) * self._eta(info)[info.group] * _scale(info)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        """Updates (17) and (18) from one total; a client that trained at rate 0 contributes nothing."""
        total, eta, w, c = delivery.total[:, 0], self._eta(info), held.shared[MODEL], held.shared[VARIATE]
        arrived = group_sum(info.arrived.double(), info.group, info.receivers).clamp(min=1)
        steps = info.known["updates" if self.global_rate == "steps" else "effective"].double() * info.arrived
        eta_g = group_sum(steps, info.group, info.receivers) / arrived
        heard_share = group_sum(self._share(info) * (_scale(info) > 0), info.group, info.receivers)
        inverse_eta = torch.where(eta > 0, 1.0 / eta, 0.0)

        def times(factor: Tensor, rows: Tensor) -> Tensor:
            return factor.to(rows).unsqueeze(1) * rows

        if info.lossy:  # the total is sum_A w_i q_i
            moved = c - info.damping * total
            total = times(eta, total - times(heard_share, c))
        else:
            moved = c - times(heard_share, c) - times(inverse_eta, total)
        shared = {MODEL: w + times(eta_g * info.members / arrived, total), VARIATE: moved}
        return Merged(Held(shared, held.ledger, held.receiver))

    def _share(self, info: Info) -> Tensor:
        """Shares ``w_i [A]`` among all clients of the receiver, active or not."""
        mass = self.importance(info.announced, len(info.parent))
        return shares_of_all(mass, info)[info.ids]

    def _eta(self, info: Info) -> Tensor:
        """Mean learning rate ``eta [R]`` of the arrived; 0 if none arrived."""
        rate = info.known["rate"].double() / info.known["updates"] * info.arrived
        arrived = group_sum(info.arrived.double(), info.group, info.receivers)
        return group_sum(rate, info.group, info.receivers) / arrived.clamp(min=1)


def _scale(info: Info) -> Tensor:
    """Factors ``1/(eta_i Qt_i) [A]`` of the arrived, 0 for the others."""
    known = info.known
    return _per_gradient(known["rate"], known["updates"], known["effective"]) * info.arrived


def _per_gradient(rate: Tensor, updates: Tensor, effective: Tensor) -> Tensor:
    """Factors ``1/(eta_i Qt_i) [A]`` from changes to mean gradients; ``eta_i = rate/updates`` is the mean rate.

    Exact for a rate that is constant within the round; 0 for a client that trained at rate 0.
    """
    eta = rate.double() / updates
    return torch.where(eta > 0, 1.0 / (eta * effective), 0.0)


GLOBAL_RATE = Arg("global rate eta_g: mean number of updates, or of effective steps Qt, of the clients that arrived")
SHARES = Arg("client weights: by the number of samples they start with, labelled or not, or equal")


@register("algorithm", "fedcpsl", paper="FedCPSL, Algorithm 1")
def fedcpsl(
    *,
    mixture: Annotated[Mixture, MIXTURE] = 0.75,
    learn_mixture: Annotated[bool, LEARN] = False,
    momentum: Annotated[float, MOMENTUM] = 0.8,
    lr_factor: Annotated[float, LR_FACTOR] = 2.0,
    alpha_p: Annotated[float, ALPHA_P] = 0.1,
    alpha_r: Annotated[float, ALPHA_R] = 0.1,
    pseudo: Annotated[Pseudo, PSEUDO] = "closed",
    pseudo_rate: Annotated[float | None, PSEUDO_RATE] = None,
    pseudo_on: Annotated[PseudoOn, PSEUDO_ON] = "unlabelled",
    unlabelled_batch: Annotated[int | None, UNLABELLED_BATCH] = None,
    global_rate: Annotated[GlobalRate, GLOBAL_RATE] = "steps",
    weighting: Annotated[Weighting, SHARES] = "samples",
    finetune_after: Annotated[int | None, FINETUNE] = None,
    phases: Annotated[Phases | None, PHASES] = None,
) -> FedCpsl:
    """FedCPSL, personalised semi-supervised learning: clients' own models, pseudo-labels and control variates.

    Momentum and the doubled rate of own models are not unique to it: ``apfl_tuned`` has them too, without control
    variates and unlabelled data.
    """
    check_mixture(mixture, learn_mixture)
    loss = costs(
        alpha_p,
        alpha_r,
        pseudo,
        pseudo_rate=pseudo_rate,
        pseudo_on=pseudo_on,
        lr_factor=lr_factor,
        momentum=momentum,
    )
    return FedCpsl(
        weighting,
        loss=loss,
        momentum=momentum,
        mixture=mixture,
        learn_mixture=learn_mixture,
        unlabelled_batch=unlabelled_batch,
        finetune_after=finetune_after,
        phases=check_phases(phases, finetune_after),
        global_rate=global_rate,
    )


@register("algorithm", "fedshvr", paper="FedCPSL, section V (FedSHVR; with sampled clients FedSHVRP)")
def fedshvr(
    *,
    alpha_p: Annotated[float, ALPHA_P] = 0.1,
    alpha_r: Annotated[float, ALPHA_R] = 0.1,
    pseudo: Annotated[Pseudo, PSEUDO] = "closed",
    pseudo_rate: Annotated[float | None, PSEUDO_RATE] = None,
    pseudo_on: Annotated[PseudoOn, PSEUDO_ON] = "unlabelled",
    unlabelled_batch: Annotated[int | None, UNLABELLED_BATCH] = None,
    global_rate: Annotated[GlobalRate, GLOBAL_RATE] = "steps",
    weighting: Annotated[Weighting, SHARES] = "samples",
) -> FedCpsl:
    """Semi-supervised learning with control variates: FedCPSL without momentum and without own models.

    With both alphas 0, equal weights and equal steps it is SCAFFOLD with a single vector sent.
    """
    loss = costs(alpha_p, alpha_r, pseudo, pseudo_rate=pseudo_rate, pseudo_on=pseudo_on, lr_factor=None)
    return FedCpsl(weighting, loss=loss, unlabelled_batch=unlabelled_batch, global_rate=global_rate)

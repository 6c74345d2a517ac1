"""FedNova: averaging of updates normalised by each client's number of local steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.algorithms.averaging import (
    SERVER_LR,
    SIZES,
    Weighting,
    add_total,
    shares_of_all,
    shares_of_arrived,
    sizes,
    sizes_revealed,
)
from fedradio.algorithms.ledger import BUFFER, NEVER_SEEN, Buffer, NeverSeen, ledger_of
from fedradio.algorithms.requires import require_sgd
from fedradio.core.contracts import (
    MODEL,
    Algorithm,
    Delivery,
    Held,
    Info,
    Ledger,
    LocalRule,
    Memory,
    Merged,
    Slots,
)
from fedradio.core.contracts.algorithm import AGE
from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import group_share, group_sum
from fedradio.core.registry import Arg, register

Form = Literal["normalised", "printed", "summed"]

TAU = "tau"
"""Ledger slot ``[C]`` of a buffer: the effective steps of every client's last contribution."""


@dataclass(frozen=True)
class FedNova(Algorithm):
    """Averaging of changes per effective step, see :func:`fednova`."""

    weighting: Weighting = "samples"
    server_lr: float = 1.0
    ledger: Ledger | None = None
    form: Form = "normalised"

    @property
    def reveals(self) -> frozenset[str]:
        return sizes_revealed(self.weighting) | {"effective"}

    @property
    def relay(self) -> Literal["arrived", "fixed"]:
        return "fixed" if self.form == "printed" else super().relay

    def rule(self, rule: LocalRule) -> LocalRule:
        require_sgd("fednova", rule)
        return rule

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        """With a ledger the effective steps of every client's last contribution stand in it."""
        tau = {} if self.ledger is None else {TAU: torch.ones(clients, dtype=torch.float64)}
        return Memory(shared={MODEL: w}, ledger=tau)

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        return sizes(self.weighting, known, clients)

    def weights(self, held: Held, info: Info) -> Tensor:
        """Weights ``a_i = p_i tau_eff / tau_i``, ``tau_eff = sum p_j tau_j``: changes per effective step are averaged.

        ``printed``: ``a_i = p_i`` with shares of all clients, so that absent ones slow the step down.
        """
        if self.form == "printed":
            mass = self.importance(info.announced, len(info.parent))
            return shares_of_all(mass, info)[info.ids] * info.arrived
        share = shares_of_arrived(self.importance(info.known, len(info.ids)), info)
        return _per_step(share, info.known["effective"].double(), info.group, info.receivers)

    def coefficients(self, held: Held, info: Info) -> tuple[Slots, Tensor]:
        """Weights of all clients that were ever seen, each with its last number of effective steps; ``summed``: 1."""
        ledger = held.ledger
        if self.form == "summed":
            return ledger, torch.ones(len(info.parent), dtype=torch.float64)
        rows = info.arrived.nonzero().flatten()
        tau = ledger[TAU].index_copy(0, info.ids[rows], info.known["effective"].double()[rows])
        share = shares_of_all(self.importance(info.announced, len(info.parent)), info)
        counted = share if self.ledger is not None and self.ledger.literal else share * (ledger[AGE] >= 0)
        return ledger | {TAU: tau}, _per_step(counted, tau, info.parent, info.receivers)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return add_total(held, delivery, self.server_lr)


def _per_step(share: Tensor, tau: Tensor, group: Tensor, receivers: int) -> Tensor:
    """Normalised weights ``p tau_eff / tau``, ``tau_eff`` the mean effective steps of the clients that count."""
    tau_eff = group_sum(group_share(share, group, receivers) * tau, group, receivers)[group]
    return share * tau_eff / tau


@register("algorithm", "fednova", paper="Wang et al., NeurIPS 2020, eq. (6); OSAFL, Algorithm 8 (buffer: gradients)")
def fednova(
    *,
    weighting: Annotated[Weighting, SIZES] = "samples",
    server_lr: Annotated[float, SERVER_LR] = 1.0,
    buffer: Annotated[Buffer, BUFFER] = "none",
    never_seen: Annotated[NeverSeen, NEVER_SEEN] = "nothing",
    form: Annotated[
        Form,
        Arg(
            "normalised: as in FedNova; printed: OSAFL's Algorithm 8, slowed averaging without memory; summed: "
            "the plain sum of every client's last change, a fit"
        ),
    ] = "normalised",
) -> FedNova:
    """FedNova, normalised averaging: clients with more local steps do not pull harder (momentum is accounted for).

    Algorithm 8 of OSAFL multiplies every contribution by the client's steps in the current round, so it reduces to
    ``server_lr`` times the weighted sum of the changes that arrived; absent clients have weight 0. That is
    ``form: printed``, without a buffer.

    ``form: summed`` reads it with ``p_i = 1`` and remembers each client's last steps: ``server_lr`` times the plain sum
    of the last changes of all clients (``buffer: gradients``). It is a fit to the rates published for the FCN, which
    hardly learns with them otherwise; the rates of the CNN and the LSTM are too large for it.
    """
    if form == "printed" and buffer != "none":
        reason = "the printed form gives absent clients weight 0, so there is nothing to remember"
        raise SpecError(Problem("algorithm.buffer", reason, "use none, or form: normalised", buffer))
    if form == "summed" and buffer != "gradients":
        reason = "the summed form adds up the last changes of all clients"
        raise SpecError(Problem("algorithm.buffer", reason, "use gradients, or another form", buffer))
    if form == "summed" and never_seen == "literal":
        reason = "a client that was never heard has made no step, so its initial value is multiplied by 0"
        raise SpecError(Problem("algorithm.never_seen", reason, "use nothing, or form: normalised", never_seen))
    return FedNova(weighting, server_lr, ledger_of(buffer, never_seen), form)

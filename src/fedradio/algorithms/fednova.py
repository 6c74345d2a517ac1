"""FedNova: averaging of updates normalised by each client's number of local steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.algorithms.buffers import AGE, Buffer, NeverSeen
from fedradio.algorithms.fedavg import BUFFER, SERVER_LR, SIZES, FedAvg, Weighting
from fedradio.core.contracts import Info, LocalRule, Memory, Slots
from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import group_share, group_sum
from fedradio.core.registry import Arg, register

Form = Literal["normalised", "printed"]


@dataclass(frozen=True)
class FedNova(FedAvg):
    """Averaging of changes per effective step, see :func:`fednova`; a buffer's ledger also has the last ``tau [C]``."""

    form: Form = "normalised"

    @property
    def reveals(self) -> frozenset[str]:
        return super().reveals | {"effective"}

    @property
    def relay(self) -> Literal["arrived", "fixed"]:
        return "fixed" if self.form == "printed" else super().relay

    def rule(self, rule: LocalRule) -> LocalRule:
        require_sgd("fednova", rule)
        return super().rule(rule)

    def init(self, w: Tensor, clients: int) -> Memory:
        memory = super().init(w, clients)
        if not self.remembers:
            return memory
        return replace(memory, ledger=memory.ledger | {"tau": torch.ones(clients, dtype=torch.float64)})

    def weights(self, ledger: Slots, info: Info) -> Tensor:
        """Weights ``a_i = p_i tau_eff / tau_i``, ``tau_eff = sum p_j tau_j``: changes per effective step are averaged.

        ``printed``: ``a_i = p_i`` with shares of all clients, so that absent ones slow the step down.
        """
        if self.form == "printed":
            mass = self.importance(info.announced, len(info.parent))
            return group_share(mass, info.parent, info.receivers)[info.ids] * info.arrived
        share = group_share(self.importance(info.known, len(info.ids)) * info.arrived, info.group, info.receivers)
        return _per_step(share, info.known["effective"].double(), info.group, info.receivers)

    def remembered_weights(self, ledger: Slots, info: Info) -> tuple[Slots, Tensor]:
        """Weights of all clients that were ever seen, each with its last number of effective steps."""
        rows = info.arrived.nonzero().flatten()
        tau = ledger["tau"].index_copy(0, info.ids[rows], info.known["effective"].double()[rows])
        ledger, share = super().remembered_weights(ledger | {"tau": tau}, info)
        counted = share if self.never_seen == "literal" else share * (ledger[AGE] >= 0)
        return ledger, _per_step(counted, tau, info.parent, info.receivers)


def _per_step(share: Tensor, tau: Tensor, group: Tensor, receivers: int) -> Tensor:
    """Normalised weights ``p tau_eff / tau``, ``tau_eff`` the mean effective steps of the clients that count."""
    tau_eff = group_sum(group_share(share, group, receivers) * tau, group, receivers)[group]
    return share * tau_eff / tau


def require_sgd(kind: str, rule: LocalRule) -> None:
    """Refuse a local rule whose change is not a number of steps times a mean gradient of this round (not plain SGD)."""
    if rule.optimiser != "sgd":
        reason = f"{kind} divides changes by their number of gradient steps, which only plain or momentum SGD defines"
        raise SpecError(Problem("rule.kind", reason, "use sgd", rule.optimiser))
    if rule.keep_state:
        reason = f"{kind} needs changes of this round's gradients alone, kept momentum carries older ones"
        raise SpecError(Problem("rule.keep_state", reason, "set it to false", True))


NEVER_SEEN = Arg("contribution of a client that has never arrived: nothing, or the published w/eta (literal)")


@register("algorithm", "fednova", paper="Wang et al., NeurIPS 2020, eq. (6); OSAFL, Algorithm 8 (buffer: gradients)")
def fednova(
    *,
    weighting: Annotated[Weighting, SIZES] = "samples",
    server_lr: Annotated[float, SERVER_LR] = 1.0,
    buffer: Annotated[Buffer, BUFFER] = "none",
    never_seen: Annotated[NeverSeen, NEVER_SEEN] = "nothing",
    form: Annotated[
        Form, Arg("normalised as in FedNova, or as OSAFL's Algorithm 8 prints it: slowed averaging without memory")
    ] = "normalised",
) -> FedNova:
    """Normalised averaging: clients with more local steps do not pull harder (momentum is accounted for).

    Algorithm 8 multiplies every contribution by its steps of this very round, so that it reduces to ``server_lr`` times
    the weighted sum of the changes that arrived; absent clients weigh 0. That is ``form: printed``, without a buffer.
    """
    if form == "printed" and buffer != "none":
        reason = "the printed form gives absent clients weight 0, so there is nothing to remember"
        raise SpecError(Problem("algorithm.buffer", reason, "none, or form: normalised", buffer))
    refuse_literal(never_seen, buffer)
    return FedNova(weighting, server_lr=server_lr, buffer=buffer, never_seen=never_seen, form=form)


def refuse_literal(never_seen: NeverSeen, buffer: Buffer) -> None:
    """Refuse ``never_seen: literal`` without a buffer of gradients: the published ``w/eta`` is a gradient."""
    if never_seen == "literal" and buffer != "gradients":
        reason = "the published contribution w/eta is a gradient, this buffer holds none"
        raise SpecError(Problem("algorithm.never_seen", reason, "nothing, or buffer: gradients", never_seen))

"""FedNova: averaging that forgets how many local steps each client made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from fedradio.algorithms.fedavg import FedAvg, Weighting
from fedradio.core.contracts import Info, LocalRule, Slots
from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import group_share, group_sum
from fedradio.core.registry import Arg, register


@dataclass(frozen=True)
class FedNova(FedAvg):
    """See :func:`fednova`."""

    @property
    def reveals(self) -> frozenset[str]:
        return super().reveals | {"effective"}

    def rule(self, rule: LocalRule) -> LocalRule:
        require_sgd("fednova", rule)
        return super().rule(rule)

    def weights(self, ledger: Slots, info: Info) -> Tensor:
        """``a_i = p_i tau_eff / tau_i`` with ``tau_eff = sum p_j tau_j``: changes per effective step are averaged."""
        share = group_share(self.importance(info.known, len(info.ids)) * info.arrived, info.group, info.receivers)
        tau = info.known["effective"].double()
        tau_eff = group_sum(share * tau, info.group, info.receivers)[info.group]
        return share * tau_eff / tau


def require_sgd(kind: str, rule: LocalRule) -> None:
    """Refuse a local rule whose change is not a number of steps times a mean gradient of this round."""
    if rule.optimiser != "sgd":
        reason = f"{kind} divides changes by their number of gradient steps, which only plain or momentum SGD defines"
        raise SpecError(Problem("rule.kind", reason, "use sgd", rule.optimiser))
    if rule.keep_state:
        reason = f"{kind} needs changes of this round's gradients alone, kept momentum carries older ones"
        raise SpecError(Problem("rule.keep_state", reason, "set it to false", True))


@register("algorithm", "fednova", paper="Wang et al., NeurIPS 2020, eq. (6)")
def fednova(
    *,
    weighting: Annotated[Weighting, Arg("weigh clients by their number of samples, or equally")] = "samples",
    server_lr: Annotated[float, Arg("global learning rate eta_g", gt=0, le=1e4)] = 1.0,
) -> FedNova:
    """Normalised averaging: clients with more local steps do not pull harder (momentum is accounted for)."""
    return FedNova(weighting, server_lr=server_lr)

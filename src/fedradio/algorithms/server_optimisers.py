"""Federated averaging with an optimiser at the server: FedAvgM, FedAdam, FedYogi, FedAdagrad.

Names that people know for averaging with a receiver rule on the last hop: ``algorithm=fedadam`` is ``algorithm=fedavg``
with ``receiver: adam`` there. The optimiser's memory stays with the server; nothing of it is sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from fedradio.algorithms.averaging import SIZES, Weighting
from fedradio.algorithms.fedavg import FedAvg
from fedradio.core.contracts import ReceiverRule
from fedradio.core.registry import Arg, register
from fedradio.receivers.adaptive import BETA1, BETA2, TAU, adagrad, adam, yogi
from fedradio.receivers.momentum import LR, momentum


@dataclass(frozen=True)
class ServerOptimised(FedAvg):
    """Averaging whose merged change goes through an optimiser at the server."""

    optimiser: ReceiverRule = field(kw_only=True)

    @property
    def server_rule(self) -> ReceiverRule:
        return self.optimiser


@register("algorithm", "fedavgm", paper="Hsu, Qi, Brown, arXiv:1909.06335")
def fedavgm(
    *,
    beta: Annotated[float, Arg("momentum; 0 is fedavg", ge=0, lt=1)] = 0.9,
    lr: Annotated[float, LR] = 1.0,
    weighting: Annotated[Weighting, SIZES] = "samples",
) -> ServerOptimised:
    """Federated averaging with server momentum: ``v = beta v + D, w += lr v``."""
    return ServerOptimised(weighting, optimiser=momentum(beta=beta, lr=lr))


@register("algorithm", "fedadam", paper="Reddi et al., arXiv:2003.00295, Algorithm 2")
def fedadam(
    *,
    lr: Annotated[float, LR] = 0.02,
    beta1: Annotated[float, BETA1] = 0.9,
    beta2: Annotated[float, BETA2] = 0.99,
    tau: Annotated[float, TAU] = 1e-3,
    weighting: Annotated[Weighting, SIZES] = "samples",
) -> ServerOptimised:
    """Federated averaging with Adam at the server, without bias correction."""
    return ServerOptimised(weighting, optimiser=adam(lr=lr, beta1=beta1, beta2=beta2, tau=tau))


@register("algorithm", "fedyogi", paper="Reddi et al., arXiv:2003.00295, Algorithm 2")
def fedyogi(
    *,
    lr: Annotated[float, LR] = 0.02,
    beta1: Annotated[float, BETA1] = 0.9,
    beta2: Annotated[float, BETA2] = 0.99,
    tau: Annotated[float, TAU] = 1e-3,
    weighting: Annotated[Weighting, SIZES] = "samples",
) -> ServerOptimised:
    """Federated averaging with Yogi at the server."""
    return ServerOptimised(weighting, optimiser=yogi(lr=lr, beta1=beta1, beta2=beta2, tau=tau))


@register("algorithm", "fedadagrad", paper="Reddi et al., arXiv:2003.00295, Algorithm 2")
def fedadagrad(
    *,
    lr: Annotated[float, LR] = 0.1,
    beta1: Annotated[float, BETA1] = 0.0,
    tau: Annotated[float, TAU] = 1e-3,
    weighting: Annotated[Weighting, SIZES] = "samples",
) -> ServerOptimised:
    """Federated averaging with Adagrad at the server."""
    return ServerOptimised(weighting, optimiser=adagrad(lr=lr, beta1=beta1, tau=tau))

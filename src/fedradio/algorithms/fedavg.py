"""Federated averaging (FedAvg, FedProx) and central training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, TypeGuard

import torch
from torch import Tensor

from fedradio.algorithms.averaging import (
    SERVER_LR,
    SIZES,
    Weighting,
    add_total,
    shares_of_arrived,
    sizes,
    sizes_revealed,
)
from fedradio.algorithms.ledger import BUFFER, Buffer, ledger_of
from fedradio.core.contracts import (
    Algorithm,
    Delivery,
    Held,
    Info,
    Ledger,
    LinkTrait,
    LocalRule,
    Merged,
    Normalise,
    Pooling,
)
from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import group_share
from fedradio.core.registry import Arg, register


@dataclass(frozen=True)
class FedAvg(Algorithm):
    """Weighted mean of the clients' changes, ``w += eta_g * sum_i a_i (w_i - w)``; see :func:`fedavg`."""

    weighting: Weighting = "samples"
    normalise: Normalise = "arrived"
    server_lr: float = 1.0
    prox: float = 0.0
    ledger: Ledger | None = None

    @property
    def needs(self) -> frozenset[LinkTrait]:
        """Division by arrival probabilities needs independent arrivals: over the air it would amplify the weakest."""
        return super().needs | (frozenset({"individual"}) if self.normalise == "inverse" else frozenset())

    @property
    def reveals(self) -> frozenset[str]:
        return sizes_revealed(self.weighting)

    @property
    def relay(self) -> Literal["arrived", "fixed"]:
        return super().relay if self.normalise == "arrived" else "fixed"

    def rule(self, rule: LocalRule) -> LocalRule:
        return replace(rule, prox=self.prox)

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        return sizes(self.weighting, known, clients)

    def weights(self, held: Held, info: Info) -> Tensor:
        """Weights ``a_i``: shares of the arrived; of the selected; or the latter divided by the arrival probability,
        which keeps the mean update unbiased under losses (RawHFL, eq. (15))."""
        mass = self.importance(info.known, len(info.ids))
        if self.normalise == "arrived":
            return shares_of_arrived(mass, info)
        share = group_share(mass, info.group, info.receivers) * info.arrived
        # who cannot arrive at all has the probability 0, and no weight
        return share if self.normalise == "selected" else share / torch.where(info.arrived, info.expect, 1.0)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return add_total(held, delivery, self.server_lr)


def is_plain_averaging(algorithm: Algorithm) -> TypeGuard[FedAvg]:
    """Whether an algorithm averages and does nothing else; no subclass and no ledger."""
    return type(algorithm) is FedAvg and algorithm.ledger is None


@dataclass(frozen=True)
class Central(FedAvg):
    """Centralised training, see :func:`central`: averaging over one client that has all data."""

    pooling: Pooling = field(kw_only=True)


@register("algorithm", "fedavg", paper="McMahan et al., AISTATS 2017, Algorithm 1; OSAFL, Algorithm 6 (buffer: models)")
def fedavg(
    *,
    weighting: Annotated[Weighting, SIZES] = "samples",
    normalise: Annotated[
        Normalise,
        Arg(
            "weights sum to 1 over the clients that arrived, over those selected, or (inverse) are divided by the "
            "arrival probability"
        ),
    ] = "arrived",
    server_lr: Annotated[float, SERVER_LR] = 1.0,
    buffer: Annotated[Buffer, BUFFER] = "none",
) -> FedAvg:
    """Federated averaging: the weighted mean of the clients' model changes is added to the model."""
    if buffer != "none" and normalise != "arrived":
        reason = "with a buffer, weights sum to 1 over all clients, present or not"
        raise SpecError(Problem("algorithm.normalise", reason, "use arrived, or buffer: none", normalise))
    return FedAvg(weighting, normalise, server_lr, ledger=ledger_of(buffer))


@register("algorithm", "fedprox", paper="Li et al., MLSys 2020, eq. (2); OSAFL, Algorithm 7 (buffer: models)")
def fedprox(
    *,
    mu: Annotated[float, Arg("strength of the pull towards the received model; 0 is fedavg", ge=0, le=1e4)] = 0.01,
    weighting: Annotated[Weighting, SIZES] = "samples",
    server_lr: Annotated[float, SERVER_LR] = 1.0,
    buffer: Annotated[Buffer, BUFFER] = "none",
) -> FedAvg:
    """Federated averaging with the proximal term ``mu/2 |w - w0|^2`` in every client's cost."""
    return FedAvg(weighting, server_lr=server_lr, prox=mu, ledger=ledger_of(buffer))


@register("algorithm", "central")
def central(
    *,
    steps: Annotated[int | None, Arg("local steps per round; null: use epochs", ge=1, le=100_000)] = None,
    epochs: Annotated[int, Arg("epochs per round over the union of all data", ge=1, le=1000)] = 1,
) -> Central:
    """Centralised training on the union of all clients' data: an upper reference, without radio or energy.

    The network is replaced by one node that has every sample; rule, model, data and evaluation are unchanged.
    """
    return Central(pooling=Pooling(steps, None if steps is not None else epochs))

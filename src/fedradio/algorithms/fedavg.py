"""Federated averaging, and what every averaging algorithm shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.core.contracts import (
    Delivery,
    Ensemble,
    Info,
    LocalRule,
    Memory,
    Pooling,
    Slots,
    Start,
    Trained,
    Work,
)
from fedradio.core.params import group_share
from fedradio.core.registry import Arg, register

Weighting = Literal["samples", "equal"]
Normalise = Literal["arrived", "selected", "inverse"]


@dataclass(frozen=True)
class FedAvg:
    """Weighted mean of the clients' changes, ``w += eta_g * sum_i a_i (w_i - w)``; see :func:`fedavg`."""

    weighting: Weighting = "samples"
    normalise: Normalise = "arrived"
    server_lr: float = 1.0
    prox: float = 0.0
    pooling: Pooling | None = None

    blocks = 1
    needs = frozenset[str]()
    publishes = frozenset[str]()

    @property
    def reveals(self) -> frozenset[str]:
        return frozenset({"samples"}) if self.weighting == "samples" else frozenset()

    @property
    def relay(self) -> Literal["arrived", "standing"]:
        return "arrived" if self.normalise == "arrived" else "standing"

    def rule(self, rule: LocalRule) -> LocalRule:
        return replace(rule, prox=self.prox)

    def init(self, w: Tensor, clients: int) -> Memory:
        return Memory(shared={"w": w})

    def start(self, got: Slots, group: Tensor, mine: Slots) -> Start:
        return Start(got["w"], group)

    def upload(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work) -> Tensor:
        return trained.delta.unsqueeze(1)

    def keep(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work, acked: Tensor) -> Slots:
        return {}

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        if self.weighting == "samples":
            return known["samples"].double()
        return torch.ones(clients, dtype=torch.float64)

    def weights(self, ledger: Slots, info: Info) -> Tensor:
        """``a_i``: shares of the arrived; shares of the selected; or those divided by the probability to arrive, which
        keeps the mean update unbiased under losses (RawHFL, eq. (15))."""
        mass = self.importance(info.known, len(info.ids))
        if self.normalise == "arrived":
            return group_share(mass * info.arrived, info.group, info.receivers)
        share = group_share(mass, info.group, info.receivers) * info.arrived
        return share if self.normalise == "selected" else share / info.expect

    def merge(self, shared: Slots, ledger: Slots, delivery: Delivery, info: Info) -> tuple[Slots, Slots, Slots]:
        return {"w": shared["w"] + self.server_lr * delivery.total[:, 0]}, ledger, {}

    def predict(self, shared: Slots, client: Slots) -> dict[str, Ensemble]:
        return {"global": Ensemble((shared["w"],))}


@register("algorithm", "fedavg", paper="McMahan et al., AISTATS 2017, Algorithm 1")
def fedavg(
    *,
    weighting: Annotated[Weighting, Arg("weigh clients by their number of samples, or equally")] = "samples",
    normalise: Annotated[
        Normalise,
        Arg(
            "weights sum to 1 over the arrived, over the selected, or (inverse) are divided by the arrival probability"
        ),
    ] = "arrived",
    server_lr: Annotated[float, Arg("global learning rate eta_g", gt=0, le=1e4)] = 1.0,
) -> FedAvg:
    """Federated averaging: the weighted mean of the clients' changes is added to the model."""
    return FedAvg(weighting, normalise, server_lr)


@register("algorithm", "fedprox", paper="Li et al., MLSys 2020, eq. (2)")
def fedprox(
    *,
    mu: Annotated[float, Arg("strength of the pull to the received model; 0 is fedavg", ge=0, le=1e4)] = 0.01,
    weighting: Annotated[Weighting, Arg("weigh clients by their number of samples, or equally")] = "samples",
    server_lr: Annotated[float, Arg("global learning rate eta_g", gt=0, le=1e4)] = 1.0,
) -> FedAvg:
    """Federated averaging with the proximal term ``mu/2 |w - w0|^2`` in every client's cost."""
    return FedAvg(weighting, server_lr=server_lr, prox=mu)


@register("algorithm", "central")
def central(
    *,
    steps: Annotated[int | None, Arg("local steps a round; None: go by epochs", ge=1, le=100_000)] = None,
    epochs: Annotated[int, Arg("epochs over the union of all data a round", ge=1, le=1000)] = 1,
) -> FedAvg:
    """Centralised training on the union of all clients' data: the ceiling without federation, radio or energy.

    The network is replaced by one node that holds every sample; rule, model, data and evaluation stay as they are.
    """
    return FedAvg(pooling=Pooling(steps, None if steps is not None else epochs))

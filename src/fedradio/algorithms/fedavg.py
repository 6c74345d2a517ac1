"""Federated averaging (FedAvg, FedProx), central training, and the base of all averaging algorithms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from fedradio.algorithms.buffers import (
    AGE,
    Buffer,
    NeverSeen,
    file_arrivals,
    open_buffer,
    remembered_step,
    take_literally,
)
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
from fedradio.core.errors import Problem, SpecError
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
    buffer: Buffer = "none"
    never_seen: NeverSeen = "nothing"

    blocks = 1

    @property
    def remembers(self) -> bool:
        return self.buffer != "none"

    @property
    def needs(self) -> frozenset[str]:
        """Single clients' rows for a buffer; division by arrival probabilities needs independent arrivals: over the air
        it would amplify the weakest clients."""
        return frozenset({"individual"}) if self.remembers or self.normalise == "inverse" else frozenset()

    @property
    def publishes(self) -> frozenset[str]:
        return frozenset({"staleness", "weight"}) if self.remembers else frozenset()

    @property
    def reveals(self) -> frozenset[str]:
        return frozenset({"samples"}) if self.weighting == "samples" else frozenset()

    @property
    def relay(self) -> Literal["arrived", "fixed"]:
        return "arrived" if self.normalise == "arrived" and not self.remembers else "fixed"

    def rule(self, rule: LocalRule) -> LocalRule:
        return replace(rule, prox=self.prox)

    def init(self, w: Tensor, clients: int) -> Memory:
        return Memory(shared={"w": w}, ledger=open_buffer(w, clients) if self.remembers else {})

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
        """Weights ``a_i``: shares of the arrived; of the selected; or the latter divided by the arrival probability,
        which keeps the mean update unbiased under losses (RawHFL, eq. (15))."""
        mass = self.importance(info.known, len(info.ids))
        if self.normalise == "arrived":
            return group_share(mass * info.arrived, info.group, info.receivers)
        share = group_share(mass, info.group, info.receivers) * info.arrived
        return share if self.normalise == "selected" else share / info.expect

    def merge(self, shared: Slots, ledger: Slots, delivery: Delivery, info: Info) -> tuple[Slots, Slots, Slots]:
        """Adds the total; with a buffer the contributions of all clients, arrived or not, weighed by their shares."""
        w = shared["w"]
        if not self.remembers:
            return {"w": w + self.server_lr * delivery.total[:, 0]}, ledger, {}
        models = w if self.buffer == "models" else None
        ledger = file_arrivals(ledger, delivery, info, models)
        if self.never_seen == "literal":
            take_literally(ledger, info, w)
        ledger, coefficient = self.remembered_weights(ledger, info)
        step = remembered_step(ledger, coefficient, info, models)
        signals = {"staleness": ledger[AGE], "weight": torch.where(ledger[AGE] >= 0, coefficient, 0.0)}
        return {"w": w + self.server_lr * step}, ledger, signals

    def remembered_weights(self, ledger: Slots, info: Info) -> tuple[Slots, Tensor]:
        """Coefficients ``[C]`` of the remembered contributions, and the ledger with the values they depend on."""
        mass = self.importance(info.announced, len(info.parent))
        return ledger, group_share(mass, info.parent, info.receivers)

    def predict(self, shared: Slots, client: Slots) -> dict[str, Ensemble]:
        return {"global": Ensemble((shared["w"],))}


SIZES = Arg("weigh clients by their number of samples, or equally")
SERVER_LR = Arg("global learning rate eta_g", gt=0, le=1e4)
BUFFER = Arg(
    "what receivers remember of each client: nothing, its last change, or its last model; absent clients then count"
)


@register("algorithm", "fedavg", paper="McMahan et al., AISTATS 2017, Algorithm 1; OSAFL, Algorithm 6 (buffer: models)")
def fedavg(
    *,
    weighting: Annotated[Weighting, SIZES] = "samples",
    normalise: Annotated[
        Normalise,
        Arg(
            "weights sum to 1 over the arrived, over the selected, or (inverse) are divided by the arrival probability"
        ),
    ] = "arrived",
    server_lr: Annotated[float, SERVER_LR] = 1.0,
    buffer: Annotated[Buffer, BUFFER] = "none",
) -> FedAvg:
    """Federated averaging: the weighted mean of the clients' model changes is added to the model."""
    if buffer != "none" and normalise != "arrived":
        reason = "with a buffer the weights sum to 1 over all clients, present or not"
        raise SpecError(Problem("algorithm.normalise", reason, "arrived, or buffer: none", normalise))
    return FedAvg(weighting, normalise, server_lr, buffer=buffer)


@register("algorithm", "fedprox", paper="Li et al., MLSys 2020, eq. (2); OSAFL, Algorithm 7 (buffer: models)")
def fedprox(
    *,
    mu: Annotated[float, Arg("strength of the pull to the received model; 0 is fedavg", ge=0, le=1e4)] = 0.01,
    weighting: Annotated[Weighting, SIZES] = "samples",
    server_lr: Annotated[float, SERVER_LR] = 1.0,
    buffer: Annotated[Buffer, BUFFER] = "none",
) -> FedAvg:
    """Federated averaging with the proximal term ``mu/2 |w - w0|^2`` in every client's cost."""
    return FedAvg(weighting, server_lr=server_lr, prox=mu, buffer=buffer)


@register("algorithm", "central")
def central(
    *,
    steps: Annotated[int | None, Arg("local steps a round; None: go by epochs", ge=1, le=100_000)] = None,
    epochs: Annotated[int, Arg("epochs over the union of all data a round", ge=1, le=1000)] = 1,
) -> FedAvg:
    """Centralised training on the union of all clients' data: the upper reference, without radio and energy.

    The network is replaced by one node that has every sample; rule, model, data and evaluation stay as they are.
    """
    return FedAvg(pooling=Pooling(steps, None if steps is not None else epochs))

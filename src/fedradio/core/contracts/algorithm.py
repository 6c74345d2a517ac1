"""Contract of a federated learning algorithm: what clients compute and send, what receivers know and merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from fedradio.core.contracts.learning import LocalRule, Start, Trained
from fedradio.core.contracts.radio import Delivery, Slots


@dataclass(frozen=True)
class Work:
    """Local work done by the active clients: ``steps [A]``, ``updates [A]``, ``effective [A]`` plain steps (Qt), and
    ``rate [A]``, the sum of the learning rates over a client's updates."""

    steps: Tensor
    updates: Tensor
    effective: Tensor
    rate: Tensor


@dataclass(frozen=True)
class Info:
    """Knowledge of the receivers of hop 0 when they weigh and merge the payloads of one exchange.

    ``ids [A]`` are the active clients, ``group [A]`` their receivers, ``parent [C]`` the receiver of every client;
    ``arrived [A]`` and ``expect [A]`` are those of :class:`~fedradio.core.contracts.Airtime`. ``known`` holds the
    per-client vectors ``[A]`` that the algorithm ``reveals``, and nothing else: a subset of ``samples, start_seen,
    labelled, label_counts, steps, updates, effective, rate``; ``announced [C]`` those of them that every client can
    report before it trains, whether it takes part or not.
    """

    ids: Tensor
    group: Tensor
    receivers: int
    parent: Tensor
    arrived: Tensor
    expect: Tensor
    known: Slots
    announced: Slots = field(default_factory=dict)

    @property
    def members(self) -> Tensor:
        """Clients of each receiver, active or not, ``[R]``."""
        return torch.bincount(self.parent, minlength=self.receivers)


@dataclass(frozen=True)
class Memory:
    """State of an algorithm: ``shared`` vectors ``[d]`` are broadcast and relayed up; ``client`` rows ``[C, ...]``
    never leave the client; ``ledger`` rows ``[C, ...]`` are what the receivers remember of each client."""

    shared: Slots
    client: Slots = field(default_factory=dict)
    ledger: Slots = field(default_factory=dict)


@dataclass(frozen=True)
class Ensemble:
    """A mixture of models that predicts ``sum_m weight_m softmax(z_m)``. A member is ``[1, d]`` (one model for all) or
    ``[C, d]`` (one per client), a weight a number for all or ``[C]``. ``learned``: the weights of two members are only
    a starting point, and are fitted to validation labels at every prediction."""

    members: tuple[Tensor, ...]
    weight: tuple[float | Tensor, ...] = (1.0,)
    learned: bool = False


@dataclass(frozen=True)
class Pooling:
    """Central training: the network is replaced by a single client that has all data, no radio, and trains for so many
    ``steps`` or ``epochs`` a round."""

    steps: int | None
    epochs: int | None


@runtime_checkable
class Algorithm(Protocol):
    """A federated learning algorithm: what clients send and how receivers merge it.

    It never sums: it gives weights, and the link returns a weighted total. A payload has ``blocks`` vectors, each in
    units of a model change. ``needs``: traits of the link; ``reveals``: see :class:`Info`; ``publishes``: signals
    ``[C]`` for policies and records. ``relay``: outer hops weigh their senders by the mass that ``arrived`` (averaging)
    or by ``fixed`` shares (control variates).
    """

    @property
    def blocks(self) -> int: ...

    @property
    def needs(self) -> frozenset[str]: ...

    @property
    def reveals(self) -> frozenset[str]: ...

    @property
    def publishes(self) -> frozenset[str]: ...

    @property
    def relay(self) -> Literal["arrived", "fixed"]: ...

    @property
    def remembers(self) -> bool:
        """Whether receivers move on remembered contributions, even when no payload has arrived."""
        ...

    @property
    def pooling(self) -> Pooling | None: ...

    def rule(self, rule: LocalRule) -> LocalRule:
        """The local update rule as this algorithm changes it; refuses one that it cannot use."""
        ...

    def init(self, w: Tensor, clients: int) -> Memory: ...

    # client side: never sees what the receiver knows
    def start(self, got: Slots, group: Tensor, mine: Slots) -> Start:
        """Starting point of local training; ``got`` are the received shared vectors ``[G, d]``, of which client ``i``
        has row ``group[i]``, ``mine`` the active clients' own slots ``[A, ...]``."""
        ...

    def upload(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work) -> Tensor:
        """The payload ``[A, k, d]``; called after ``keep``, it may overwrite ``trained.delta``."""
        ...

    def keep(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work, acked: Tensor) -> Slots:
        """New slots of the active clients; ``acked [A]`` marks the uploads that arrived."""
        ...

    # receiver side
    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        """Relative aggregation mass of each client, ``[n]`` for ``known`` vectors of length ``n``."""
        ...

    def weights(self, ledger: Slots, info: Info) -> Tensor:
        """Aggregation weight ``[A]`` of each active client's payload in its receiver's total."""
        ...

    def merge(self, shared: Slots, ledger: Slots, delivery: Delivery, info: Info) -> tuple[Slots, Slots, Slots]:
        """The receivers' update: new shared vectors ``[R, d]``, ledger and published signals ``[C]``."""
        ...

    # both sides
    def predict(self, shared: Slots, client: Slots) -> dict[str, Ensemble]:
        """Predictors by name; the first one's accuracy is the run's ``accuracy``."""
        ...

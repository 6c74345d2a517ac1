"""Algorithms: client side, receiver side, and what each may know."""

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
    """What each active client did: local ``steps [A]``, ``updates [A]``, ``effective [A]`` plain steps (Qt), and
    ``rate [A]``, the sum of learning rates over its updates."""

    steps: Tensor
    updates: Tensor
    effective: Tensor
    rate: Tensor


@dataclass(frozen=True)
class Info:
    """What the receivers of hop 0 know when they merge.

    ``known`` holds the per-client vectors ``[A]`` that the algorithm ``reveals``, and nothing else: a subset of
    ``samples, start_seen, labelled, label_counts, steps, updates, effective, rate``; ``announced`` those of them that
    every client can tell before it trains, ``[C]``, whether it takes part or not. ``parent [C]`` is the receiver of
    every client.
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
        """How many clients each receiver has, present or not, ``[R]``."""
        return torch.bincount(self.parent, minlength=self.receivers)


@dataclass(frozen=True)
class Memory:
    """``shared`` vectors ``[d]`` go down and are relayed up; ``client`` rows ``[C, ...]`` never leave the client;
    ``ledger`` rows ``[C, ...]`` are the receiver's notes on each client."""

    shared: Slots
    client: Slots = field(default_factory=dict)
    ledger: Slots = field(default_factory=dict)


@dataclass(frozen=True)
class Ensemble:
    """A prediction: probabilities of the members, mixed with ``weight``. A member is ``[1, d]`` (everybody's) or
    ``[C, d]`` (one per client), a weight a number for all or ``[C]``. ``learned``: of two members, whoever predicts
    finds the weights on held-out labels, starting at these."""

    members: tuple[Tensor, ...]
    weight: tuple[float | Tensor, ...] = (1.0,)
    learned: bool = False


@dataclass(frozen=True)
class Pooling:
    """All data in one place: the network is replaced by a single client without radio that trains this much a round."""

    steps: int | None
    epochs: int | None


@runtime_checkable
class Algorithm(Protocol):
    """What clients send and what receivers do with it. An algorithm never sums: it gives weights and gets a total.

    ``blocks`` vectors are sent, in units of a change. ``relay``: outer hops weigh receivers by the mass that
    ``arrived`` (averaging) or by fixed ``standing`` (control variates). ``reveals``: see :class:`Info`.
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
        """Whether receivers step on remembered contributions, also when nobody has arrived."""
        ...

    @property
    def pooling(self) -> Pooling | None: ...

    def rule(self, rule: LocalRule) -> LocalRule:
        """The local rule as this algorithm wants it."""
        ...

    def init(self, w: Tensor, clients: int) -> Memory: ...

    # client side: never sees what the receiver knows
    def start(self, got: Slots, group: Tensor, mine: Slots) -> Start:
        """``got`` are the received shared vectors ``[G, d]``, ``mine`` the client slots of the active ``[A, ...]``."""
        ...

    def upload(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work) -> Tensor:
        """The payload ``[A, k, d]``; comes after ``keep`` and may be made in place of ``trained.delta``."""
        ...

    def keep(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work, acked: Tensor) -> Slots:
        """New client slots of the active; ``acked [A]`` tells whose upload arrived."""
        ...

    # receiver side
    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        """Relative mass of each client, ``[n]`` for ``known`` vectors of length ``n``."""
        ...

    def weights(self, ledger: Slots, info: Info) -> Tensor:
        """Coefficient ``[A]`` of each active client's payload in its receiver's total."""
        ...

    def merge(self, shared: Slots, ledger: Slots, delivery: Delivery, info: Info) -> tuple[Slots, Slots, Slots]:
        """New shared vectors ``[R, d]``, ledger and published signals ``[C]``."""
        ...

    # both sides
    def predict(self, shared: Slots, client: Slots) -> dict[str, Ensemble]:
        """Named predictions; the first is the run's ``accuracy``."""
        ...

"""Contract of a federated learning algorithm: what clients compute and send, what receivers know and merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from fedradio.core.contracts.learning import LocalRule, Start, Trained
from fedradio.core.contracts.payload import ReceiverRule
from fedradio.core.contracts.radio import Delivery, LinkTrait
from fedradio.core.contracts.state import Memory, Slots
from fedradio.core.contracts.time import Clock
from fedradio.core.rng import Rng

MODEL = "w"
"""Name of the model among the shared vectors of every algorithm."""

VARIATE = "c"
"""Name of control variates, among the shared vectors and the client slots of algorithms that have them."""


SENT, AGE = "sent", "age"
"""Slots of a ledger: the last upload of each client ``[C, d]``, and the exchanges since it arrived ``[C]``, -1 before
the first time."""


@dataclass(frozen=True)
class Ledger:
    """Receivers remember the last upload of every client, as a change or (``models``) as a model, and move on all of
    them. ``literal``: of a client that was never heard they remember the change ``-w``. ``publishes``: slots of the
    ledger that are signals, beside ``staleness`` and ``weight``."""

    models: bool = False
    literal: bool = False
    publishes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """Local work done by the active clients: ``steps [A]``, ``updates [A]``, ``effective [A]`` plain steps (Qt), and
    ``rate [A]``, the sum of the learning rates over a client's updates."""

    steps: Tensor
    updates: Tensor
    effective: Tensor
    rate: Tensor


@dataclass(frozen=True)
class Cohort:
    """The active clients ``ids [A]`` of an exchange, as they know themselves: the received shared vectors ``got [G,
    d]``, of which client ``i`` has row ``row[i]``, and their own slots ``mine [A, ...]``.

    ``damping`` is the factor by which clients and receivers move what both accumulate, below 1 where a coder of the hop
    adds noise to it; ``lossy``: receivers decode something else than is sent.
    """

    ids: Tensor
    row: Tensor
    got: Slots
    mine: Slots
    clock: Clock
    rng: Rng
    damping: float = 1.0
    lossy: bool = False


@dataclass(frozen=True)
class Info:
    """Knowledge of the receivers of hop 0 when they weigh and merge the payloads of one exchange.

    ``ids [A]`` are the active clients, ``group [A]`` their receivers, ``parent [C]`` the receiver of every client;
    ``arrived [A]`` and ``expect [A]`` are those of :class:`~fedradio.core.contracts.Airtime`. ``known`` holds the
    per-client vectors ``[A]`` that the algorithm ``reveals``, and nothing else: a subset of ``samples, start_seen,
    labelled, label_counts, steps, updates, effective, rate``; ``announced [C]`` those of them that every client can
    report before it trains, whether it takes part or not. ``damping`` and ``lossy`` as of :class:`Cohort`.
    """

    ids: Tensor
    group: Tensor
    receivers: int
    parent: Tensor
    arrived: Tensor
    expect: Tensor
    known: Slots
    clock: Clock
    rng: Rng
    announced: Slots = field(default_factory=dict)
    damping: float = 1.0
    lossy: bool = False

    @property
    def members(self) -> Tensor:
        """Clients of each receiver, active or not, ``[R]``."""
        return torch.bincount(self.parent, minlength=self.receivers)


@dataclass(frozen=True)
class Held:
    """What the receivers of hop 0 have: ``shared [R, d]`` vectors, ``ledger [C, ...]`` and ``receiver [R, ...]`` rows;
    see :class:`~fedradio.core.contracts.Memory`."""

    shared: Slots
    ledger: Slots = field(default_factory=dict)
    receiver: Slots = field(default_factory=dict)


@dataclass(frozen=True)
class Merged:
    """What the receivers have after merging, and the signals ``published [C]``."""

    held: Held
    published: Slots = field(default_factory=dict)


@dataclass(frozen=True)
class Ensemble:
    """A mixture of models that predicts ``sum_m weight_m softmax(z_m)``. A member is ``[1, d]`` (one model for all) or
    ``[C, d]`` (one per client), a weight a number for all or ``[C]``. ``learned``: the weights of two members are only
    a starting point, and are fitted to validation labels at every prediction. ``kept`` marks members that are client
    slots which :meth:`Algorithm.keep` alone changes: those of clients that have not trained since are not evaluated
    again. Empty: no member is."""

    members: tuple[Tensor, ...]
    weight: tuple[float | Tensor, ...] = (1.0,)
    learned: bool = False
    kept: tuple[bool, ...] = ()


Normalise = Literal["arrived", "selected", "inverse"]
"""Whose weights sum to 1: of the arrived, of the selected, or of the latter divided by their chance to arrive."""


Sends = Literal["change", "memory"]
"""Vector of a payload: a change of the model, or of something that clients and receivers accumulate."""


class ClientSide(Protocol):
    """What a client computes. It never sees what receivers know, and a device of a federation has nothing else.

    Example:

        >>> import torch
        >>> from fedradio import ClientSide
        >>> class Plain(ClientSide):
        ...     pass
        >>> Plain().init(torch.zeros(3), clients=2, receivers=1).shared
        {'w': tensor([0., 0., 0.])}
    """

    def rule(self, rule: LocalRule) -> LocalRule:
        """The local update rule as this algorithm changes it; refuses one that it cannot use."""
        return rule

    def init(self, w: Tensor, clients: int, receivers: int) -> Memory:
        """Memory before the first round, from the initial model ``w [d]``."""
        return Memory(shared={MODEL: w})

    def start(self, cohort: Cohort) -> Start:
        """Starting point of local training."""
        return Start(cohort.got[MODEL], cohort.row)

    def upload(self, cohort: Cohort, trained: Trained, work: Work) -> Tensor:
        """The payload ``[A, k, d]``; ``trained.delta`` may be overwritten only where ``keep`` does not read it."""
        return trained.delta.unsqueeze(1)

    def keep(self, cohort: Cohort, trained: Trained, work: Work, heard: Tensor, acked: Tensor) -> Slots:
        """New slots of the active clients, after the upload: ``heard [A, k, d]`` is what receivers decode of each
        payload, ``acked [A]`` marks those that arrived."""
        return {}

    def predict(self, shared: Slots, client: Slots) -> dict[str, Ensemble]:
        """Predictors by name; the first one's accuracy is the run's ``accuracy``."""
        return {"global": Ensemble((shared[MODEL],))}


class ReceiverSide(Protocol):
    """What receivers do with updates: on hop 0 as the algorithm says, on outer hops a mean of changes.

    Example:

        >>> from fedradio import FedAvg
        >>> FedAvg().importance({"samples": torch.tensor([30, 10])}, 2)
        tensor([30., 10.], dtype=torch.float64)
    """

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        """Relative aggregation mass of each client, ``[n]`` for ``known`` vectors of length ``n``."""
        return torch.ones(clients, dtype=torch.float64)

    def weights(self, held: Held, info: Info) -> Tensor:
        """Aggregation weight ``[A]`` of each active client's payload in its receiver's total."""
        ...

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        """The receivers' update: what they have after the exchange, and what they publish."""
        ...


class Algorithm(ClientSide, ReceiverSide, Protocol):
    """A federated learning algorithm: what clients send and how receivers merge it; parts subclass it.

    It never sums: it gives weights, and the link returns a weighted total. The defaults are those of plain averaging
    with equal weights; ``weights`` and ``merge`` have none. ``sends``: the vectors of a payload, each in units of a
    model change; a ``memory`` is one that clients and receivers accumulate, and its own error feedback. ``ledger``:
    what receivers remember of clients that are away (None: nothing).

    What only some algorithms have is a protocol of its own: :class:`Pools`, :class:`Phased`, :class:`Publishes`,
    :class:`SingleHop`.

    Example:

        >>> from fedradio import Algorithm, Ledger, add_total, build, load_spec, run, shares_of_arrived
        >>> class Mean(Algorithm):
        ...     def weights(self, held, info):
        ...         return shares_of_arrived(self.importance(info.known, len(info.ids)), info)
        ...     def merge(self, held, delivery, info):
        ...         return add_total(held, delivery)
        >>> class MeanOfAll(Mean):  # absent clients count with their last change
        ...     ledger = Ledger()
        >>> from dataclasses import replace
        >>> sim = build(load_spec("digits_flat"))
        >>> for algorithm in (Mean(), MeanOfAll()):
        ...     print(f"{run(replace(sim, algorithm=algorithm), rounds=10, eval_every=10).accuracy:.1f}")
        0.6
        0.7
    """

    sends: tuple[Sends, ...] = ("change",)
    ledger: Ledger | None = None

    @property
    def server_rule(self) -> ReceiverRule | None:
        """Optimiser of the last hop's receiver that belongs to the algorithm; None for most."""
        return None

    @property
    def needs(self) -> frozenset[LinkTrait]:
        """Traits of the link that it cannot do without; a ledger needs the clients' single rows."""
        return frozenset() if self.ledger is None else frozenset({"individual"})

    @property
    def reveals(self) -> frozenset[str]:
        """What receivers may know of a client, see :class:`Info`."""
        return frozenset()

    @property
    def relay(self) -> Literal["arrived", "fixed"]:
        """Weights of outer hops: the mass that ``arrived`` (averaging), or ``fixed`` shares (ledgers, variates)."""
        return "arrived" if self.ledger is None else "fixed"

    def coefficients(self, held: Held, info: Info) -> tuple[Slots, Tensor]:
        """With a ledger: its slots as they are read now, and the weights ``[C]`` of all clients, arrived or not. By
        default the ``weights`` of an exchange in which all clients arrive for sure."""
        clients = len(info.parent)
        everybody = replace(
            info,
            ids=torch.arange(clients),
            group=info.parent,
            arrived=torch.ones(clients, dtype=torch.bool),
            expect=torch.ones(clients, dtype=torch.float64),
            known=info.announced,
        )
        return held.ledger, self.weights(held, everybody)


@dataclass(frozen=True)
class Pooling:
    """Central training: the network is replaced by a single client that has all data, no radio, and trains for so many
    ``steps`` or ``epochs`` a round."""

    steps: int | None
    epochs: int | None


@runtime_checkable
class Phased(Protocol):
    """An algorithm that ends by itself after some rounds.

    Example:

        >>> from fedradio import parts
        >>> parts.apfl(phases={"global": 3, "own": 4}).lasts(8)
        'its two phases have 7 rounds in total, but the run has 8'
    """

    def lasts(self, rounds: int) -> str:
        """Why a run of so many rounds is too long for it; empty if it is not."""
        ...


@runtime_checkable
class Publishes(Protocol):
    """An algorithm whose merge publishes signals ``[C]`` to policies and records, beside those of a ledger.

    Example:

        >>> from fedradio import FedAvg, Publishes
        >>> class Trusting(FedAvg):  # its merge returns Merged(..., published={"trust": ...})
        ...     publishes = frozenset({"trust"})
        >>> isinstance(Trusting(), Publishes), isinstance(FedAvg(), Publishes)
        (True, False)
    """

    @property
    def publishes(self) -> frozenset[str]: ...


@runtime_checkable
class SingleHop(Protocol):
    """An algorithm that is defined for clients and a single receiver (``single_hop`` is true).

    Example:

        >>> from fedradio import SingleHop, parts
        >>> isinstance(parts.feddyn(), SingleHop), isinstance(parts.fedavg(), SingleHop)
        (True, False)
    """

    @property
    def single_hop(self) -> bool: ...


@runtime_checkable
class Pools(Protocol):
    """An algorithm that trains on the union of all data instead of a network's.

    Example:

        >>> from fedradio import parts
        >>> parts.central(epochs=2).pooling
        Pooling(steps=None, epochs=2)
    """

    @property
    def pooling(self) -> Pooling: ...

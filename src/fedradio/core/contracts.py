"""READ FIRST: every value type and Protocol of the house.

One experiment is a product of independent parts; one round is a function ``(parts, state) -> (state, records)``.
Every per-client quantity is a tensor whose first axis is the client. A model is a flat vector ``w [d]``.

Letters: ``C`` clients, ``S`` senders and ``R`` receivers of a hop, ``A`` active senders (compact rows, their numbers
in ``ids [A]``), ``k`` payload blocks, ``d`` shared parameters, ``T`` updates, ``B`` samples of a mini-batch.
Everything is linear SI; a name carries its unit (``_s _j _w _hz _m _bits``). ``None`` means *not defined by this part*
(seconds without a clock, joules without a fleet) and is never replaced by 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from fedradio.core.params import Layout
from fedradio.core.rng import Rng

Slots = dict[str, Tensor]
"""The only kind of state: named tensors."""


# ------------------------------------------------------------------------------------------------ time and network
@dataclass(frozen=True)
class Clock:
    """Round ``t`` and number ``e`` of the hop-0 exchange inside the round (the edge round), both from 0."""

    t: int
    e: int = 0


@dataclass(frozen=True)
class Topology:
    """Tiers of nodes, clients first, server last: who reports to whom, and where they stand.

    ``parents[h] [S_h]`` holds the receiver of every sender of hop ``h``; ``positions[tier] [n, 2]`` in metres.
    Drawn from the seed, never checkpointed.
    """

    parents: tuple[Tensor, ...]
    positions: tuple[Tensor, ...]

    @property
    def hops(self) -> int:
        return len(self.parents)

    @property
    def clients(self) -> int:
        return len(self.parents[0])

    def senders(self, hop: int) -> int:
        return len(self.positions[hop])

    def receivers(self, hop: int) -> int:
        return len(self.positions[hop + 1])

    def flat(self) -> Topology:
        """The same clients radiating straight to the server."""
        parent = torch.zeros(self.clients, dtype=torch.long)
        return Topology((parent,), (self.positions[0], self.positions[-1]))


@dataclass(frozen=True)
class ChannelState:
    """One realisation: linear power gain of ALL pairs ``gain [R, S]`` (foreign ones interfere), noise in W/Hz."""

    gain: Tensor
    noise_w_hz: float


class Channel(Protocol):
    """What the air does; drawn anew for every exchange from ``rng``."""

    def realise(self, receivers_m: Tensor, senders_m: Tensor, parent: Tensor, rng: Rng) -> ChannelState:
        """``receivers_m [R, 2]``, ``senders_m [S, 2]``, ``parent [S]``."""
        ...


@dataclass(frozen=True)
class Fleet:
    """What the senders of a hop can do. Vectors are ``[S]``; floors and circuit powers are 0 unless wanted."""

    cycles_per_bit: Tensor
    f_max_hz: Tensor
    p_max_w: Tensor
    energy_j: Tensor
    capacitance: float
    cpu_min_hz: float = 0.0
    tx_min_w: float = 0.0
    circuit_w: float = 0.0
    cpu_static_w: float = 0.0


# ------------------------------------------------------------------------------------------------ policies
class Reason(IntEnum):
    """Why a sender's payload did not count, as data in the records."""

    NONE = 0
    NOT_SELECTED = 1
    ENERGY = 2
    DEADLINE = 3
    OUTAGE = 4
    NO_DATA = 5
    NO_NEWS = 6


@dataclass(frozen=True)
class Allocation:
    """A policy's answer for every sender ``[S]``: who sends, after how many local steps, with which CPU and power."""

    active: Tensor
    steps: Tensor
    cpu_hz: Tensor | None
    power_w: Tensor | None
    reason: Tensor


@dataclass(frozen=True)
class View:
    """All that a policy may see. ``signals`` are plain per-sender vectors ``[S]`` (sizes, losses, scores...)."""

    clock: Clock
    parent: Tensor
    receivers: int
    channel: ChannelState | None
    link: Link
    fleet: Fleet | None
    cycles_per_step: Tensor | None
    payload_bits: float | None
    deadline_s: float | None
    signals: Slots

    @property
    def senders(self) -> int:
        return len(self.parent)


class Policy(Protocol):
    """Decides who takes part. ``needs``: traits of the link, and ``fleet``; ``reads``: names of signals."""

    needs: frozenset[str]
    reads: frozenset[str]

    def check(self, parent: Tensor, receivers: int) -> str:
        """Why this policy cannot serve these senders, or an empty string."""
        ...

    def start(self, senders: int) -> Slots:
        """Its memory before the first round."""
        ...

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]: ...


# ------------------------------------------------------------------------------------------------ links
@dataclass(frozen=True)
class Airtime:
    """What a link foresees, per sender ``[S]``, before any payload exists.

    ``expect`` is the mean coefficient of a sender: its probability to arrive, or its share of the air.
    ``uses`` counts channel uses where there are symbols instead of bits.
    """

    tx_s: Tensor | None
    done_s: Tensor | None
    arrived: Tensor
    expect: Tensor
    reason: Tensor
    uses: float | None = None


@dataclass(frozen=True)
class Delivery:
    """What a hop's receivers got: ``total [R, k, d]`` estimates the sum over arrived of weight times payload.

    ``rows [A, k, d]`` are the single payloads, for links that offer them; ``tx_j [S]`` the senders' transmit energy.
    """

    total: Tensor
    rows: Tensor | None
    tx_j: Tensor | None


class Link(Protocol):
    """How payloads become sums. ``offers`` is a subset of ``{"individual", "rate", "superposition"}``."""

    offers: frozenset[str]

    def bits(self, values: int) -> float | None:
        """Bits of a payload of that many numbers; None where there are no bits."""
        ...

    def plan(
        self,
        channel: ChannelState | None,
        alloc: Allocation,
        parent: Tensor,
        values: int,
        ready_s: Tensor | None,
        deadline_s: float | None,
        rng: Rng,
    ) -> Airtime:
        """Who will have arrived when, given when each sender has its payload ready (``ready_s [S]``)."""
        ...

    def combine(
        self,
        payload: Tensor,
        weight: Tensor,
        ids: Tensor,
        parent: Tensor,
        receivers: int,
        channel: ChannelState | None,
        alloc: Allocation,
        airtime: Airtime,
        rng: Rng,
    ) -> Delivery:
        """``payload [A, k, d]``, ``weight [A]`` (0 where nothing arrived), ``ids [A]``, ``parent [A]``."""
        ...


@dataclass(frozen=True)
class Hop:
    """Everything radio belongs to the hop. It is run ``period`` times for one run of the hop above."""

    link: Link
    policy: Policy
    channel: Channel | None = None
    fleet: Fleet | None = None
    period: int = 1
    deadline_s: float | None = None


# ------------------------------------------------------------------------------------------------ data
Fetch = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Sample numbers of any shape to ``(x [*index, *shape], y [*index])``."""


@dataclass(frozen=True)
class Samples:
    """A labelled data set, standardised: ``x [n, *shape]`` float, ``y [n]`` int64, and its own test part."""

    x: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor
    classes: int
    sample_bits: float

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.x.shape[1:])

    def to(self, device: torch.device | str) -> Samples:
        return replace(
            self,
            x=self.x.to(device),
            y=self.y.to(device),
            test_x=self.test_x.to(device),
            test_y=self.test_y.to(device),
        )


@dataclass(frozen=True)
class TestSet:
    """Held-out samples: ``index [n]`` sorted by ``group [n]``; with ``per_client`` group ``g`` is client ``g``."""

    __test__ = False  # the name begins like a test class; pytest must not collect it

    index: Tensor
    group: Tensor
    groups: int
    per_client: bool
    fetch: Fetch


@dataclass(frozen=True)
class Tapes:
    """One tape of samples per client: what it will ever see, in order. A stream is a window on the tapes.

    ``index [n]`` are sample numbers for ``fetch``, client ``c`` owning ``offset[c]:offset[c+1]``; ``labelled [n]``.
    """

    index: Tensor
    offset: Tensor
    labelled: Tensor
    fetch: Fetch
    test: TestSet
    shape: tuple[int, ...]
    classes: int
    sample_bits: float

    @property
    def clients(self) -> int:
        return len(self.offset) - 1


@dataclass(frozen=True)
class Picks:
    """Mini-batches: sample numbers ``index [A, T, B]``, of which the first ``count [A, T]`` of each batch are real."""

    index: Tensor
    count: Tensor


@dataclass(frozen=True)
class Batches:
    """The labelled mini-batches of a cohort, unlabelled ones beside them where asked for, and how to fetch them."""

    labelled: Picks
    unlabelled: Picks | None
    fetch: Fetch


class Stream(Protocol):
    """How samples arrive. Static, growing and first-in-first-out streams differ by the rule that moves the window."""

    clients: int
    shape: tuple[int, ...]
    classes: int
    sample_bits: float

    def start(self) -> Slots: ...

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        """The state after the arrivals before this edge round."""
        ...

    def stats(self, state: Slots) -> Slots:
        """``samples [C]``, ``labelled [C]``, ``label_counts [C, classes]``."""
        ...

    def draw(
        self, state: Slots, clients: Tensor, updates: Tensor, batch: int, rng: Rng, unlabelled_batch: int = 0
    ) -> Batches:
        """Mini-batches for ``clients [A]``, epoch after shuffled epoch, ``updates [A]`` of them each.

        A client's picks depend neither on who else is active nor, as a prefix, on its number of updates.
        """
        ...

    def test(self) -> TestSet: ...

    def reference(self, state: Slots) -> dict[str, float]:
        """Accuracies that need no training (``bayes``, ``top_popular``), where the world knows them."""
        ...


# ------------------------------------------------------------------------------------------------ learning
class Model(Protocol):
    """A network whose parameters are a row ``[D] = [shared d | local trainable | buffers]``.

    ``shared`` travels; ``local`` (norm layers) and ``buffers`` (running statistics) never leave the client.
    ``module`` is the torch network that engines read the structure of.
    """

    module: nn.Module
    shared: Layout
    local: Layout
    buffers: Layout
    shape: tuple[int, ...]
    classes: int

    def init(self, rng: Rng) -> Tensor: ...

    def apply(self, row: Tensor, x: Tensor) -> Tensor:
        """Logits ``[n, classes]`` of ``x [n, *shape]`` in evaluation mode."""
        ...


Schedule = Callable[[int, int], float]
"""Factor on the learning rate in round ``t`` at local update ``j``."""


@dataclass(frozen=True)
class LocalRule:
    """One local update, as data: ``v = gam*v + g + mu*(w - w0) + shift;  w -= lr*v``, or Adam on the same gradient.

    ``batch`` samples make an update, ``updates_per_step`` updates a local step (the unit of policies). With
    ``keep_state`` every client keeps its optimiser's memory across rounds and never sends it.
    """

    lr: float
    batch: int = 32
    optimiser: Literal["sgd", "adam"] = "sgd"
    momentum: float = 0.0
    prox: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-7
    keep_state: bool = False
    updates_per_step: int = 1
    schedule: Schedule = field(default=lambda _t, _j: 1.0)

    @property
    def work(self) -> float:
        """Training passes per sample; enters cycles, seconds and joules."""
        return 1.0

    @property
    def state_names(self) -> tuple[str, ...]:
        """Per-client optimiser slots, each ``[C, d_trainable]`` (``adam_n``: ``[C]``)."""
        if self.optimiser == "adam":
            return ("adam_m", "adam_v", "adam_n")
        return ("momentum",) if self.momentum > 0 else ()

    def rates(self, t: int, updates: int) -> list[float]:
        """Learning rates of the local updates of round ``t``."""
        return [self.lr * self.schedule(t, j) for j in range(updates)]

    def effective_steps(self, updates: Tensor) -> Tensor:
        """``Qt = Q/(1-gam) - gam(1-gam^Q)/(1-gam)^2``: by how many plain steps a constant gradient moves the model."""
        gam, q = self.momentum, updates.double()
        return q / (1 - gam) - gam * (1 - gam**q) / (1 - gam) ** 2


@dataclass(frozen=True)
class Start:
    """Where a cohort starts: ``w [G, d]`` and for each client its row ``group [A]``; a constant added to its gradients
    ``shift [A, d]``; its local parameters and buffers ``local [A, d_local]``; its optimiser's memory."""

    w: Tensor
    group: Tensor
    shift: Tensor | None = None
    local: Tensor | None = None
    slots: Slots = field(default_factory=dict)


@dataclass(frozen=True)
class Trained:
    """What local training gave: ``delta [A, d] = new - old``, local part, mean loss ``[A]``, optimiser's memory."""

    delta: Tensor
    local: Tensor | None
    loss: Tensor
    slots: Slots


class Backend(Protocol):
    """Trains many clients; every kernel equals the plain reference loop."""

    def run(
        self, model: Model, rule: LocalRule, t: int, start: Start, batches: Batches, updates: Tensor, rng: Rng
    ) -> Trained: ...


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
    ``samples, labelled, steps, updates, effective, rate, label_counts``. ``members [R]`` counts a receiver's clients.
    """

    ids: Tensor
    group: Tensor
    receivers: int
    members: Tensor
    arrived: Tensor
    expect: Tensor
    known: Slots


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
    ``[C, d]`` (one per client)."""

    members: tuple[Tensor, ...]
    weight: tuple[float, ...] = (1.0,)


@dataclass(frozen=True)
class Pooling:
    """All data in one place: the network is replaced by a single client without radio that trains this much a round."""

    steps: int | None
    epochs: float


@runtime_checkable
class Algorithm(Protocol):
    """What clients send and what receivers do with it. An algorithm never sums: it gives weights and gets a total.

    ``blocks`` vectors are sent, in units of a change. ``relay``: outer hops weigh receivers by the mass that
    ``arrived`` (averaging) or by fixed ``standing`` (control variates). ``reveals``: see :class:`Info`.
    """

    blocks: int
    needs: frozenset[str]
    reveals: frozenset[str]
    publishes: frozenset[str]
    relay: Literal["arrived", "standing"]
    pooling: Pooling | None

    def rule(self, rule: LocalRule) -> LocalRule:
        """The local rule as this algorithm wants it."""
        ...

    def init(self, w: Tensor, clients: int) -> Memory: ...

    # client side: never sees what the receiver knows
    def start(self, got: Slots, group: Tensor, mine: Slots) -> Start:
        """``got`` are the received shared vectors ``[G, d]``, ``mine`` the client slots of the active ``[A, ...]``."""
        ...

    def upload(self, got: Slots, group: Tensor, mine: Slots, trained: Trained, work: Work) -> Tensor:
        """The payload ``[A, k, d]``."""
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


# ------------------------------------------------------------------------------------------------ state and records
@dataclass(frozen=True)
class SimState:
    """All there is to checkpoint: numbers and named tensors; randomness has no state. Totals may be undefined."""

    t: int
    time_s: float | None
    energy_j: float | None
    bits: float | None
    memory: Memory
    stream: Slots
    policy: tuple[Slots, ...]
    signals: Slots


@dataclass(frozen=True)
class ExchangeRecord:
    """One run of a hop: per-sender vectors, totals, seconds per receiver. Undefined quantities are None."""

    t: int
    hop: int
    e: int
    active: list[bool]
    arrived: list[bool]
    reason: list[int]
    steps: list[int]
    seconds: list[float] | None
    compute_j: list[float] | None
    tx_j: list[float] | None
    bits: float | None
    uses: float | None
    time_s: list[float] | None
    effective: list[float]


@dataclass(frozen=True)
class RoundRecord:
    """A round's totals: simulated seconds, joules (computing, transmitting per hop), bits per hop, training loss,
    and metrics where the round was evaluated."""

    t: int
    time_s: float | None
    energy_j: float | None
    compute_j: float | None
    tx_j: list[float | None]
    bits: list[float | None]
    loss: float | None
    metrics: dict[str, float]

"""Time, network, policies and links: all that is radio."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from fedradio.core.rng import Rng

Slots = dict[str, Tensor]
"""The only kind of state: named tensors."""


@dataclass(frozen=True)
class Clock:
    """Round ``t`` and number ``e`` of the hop's exchange inside the round (on hop 0: the edge round), both from 0."""

    t: int
    e: int = 0


@dataclass(frozen=True)
class Topology:
    """Tiers of nodes, clients first, server last: who reports to whom, and where they stand.

    ``parents[h] [S_h]`` holds the receiver of every sender of hop ``h``; ``positions[tier] [n, 2]`` in metres.
    ``cell [C]`` is where a client belongs by its place and its data, also where it reports elsewhere (None: to its
    receiver). Drawn from the seed, never checkpointed.
    """

    parents: tuple[Tensor, ...]
    positions: tuple[Tensor, ...]
    cell: Tensor | None = None

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
        """The same clients of the same cells radiating straight to the server."""
        parent = torch.zeros(self.clients, dtype=torch.long)
        return Topology((parent,), (self.positions[0], self.positions[-1]), self.cells)

    @property
    def cells(self) -> Tensor:
        """The cell of every client, ``[C]``."""
        return self.parents[0] if self.cell is None else self.cell


@dataclass(frozen=True)
class ChannelState:
    """One realisation: linear power gain of ALL pairs ``gain [R, S]`` (foreign ones interfere), noise in W/Hz."""

    gain: Tensor
    noise_w_hz: float


class Channel(Protocol):
    """What the air does; drawn anew for every exchange from ``rng``."""

    @property
    def block_fading(self) -> bool:
        """Whether small-scale fading is part of the gains and stays the same for a whole exchange; links that superpose
        symbols draw fading of their own, fresh for every symbol, and cannot take it."""
        ...

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


@dataclass(frozen=True)
class Allocation:
    """A policy's answer for every sender ``[S]``: who sends, after how many local steps, with which CPU and power.

    ``notes`` go into the records as they are: what else the policy found, per receiver ``[R]`` or per sender ``[S]``.
    ``amplitude [S]`` multiplies analogue symbols (None: 1); the power on the air then depends on the payload.
    """

    active: Tensor
    steps: Tensor
    cpu_hz: Tensor | None
    power_w: Tensor | None
    reason: Tensor
    notes: Slots = field(default_factory=dict)
    amplitude: Tensor | None = None


@dataclass(frozen=True)
class View:
    """All that a policy may see. ``signals`` are plain per-sender vectors ``[S]`` (sizes, losses, scores...);
    ``able [S]`` tells who has data, or news, at all (None: everybody)."""

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
    able: Tensor | None = None

    @property
    def senders(self) -> int:
        return len(self.parent)


class Policy(Protocol):
    """Decides who takes part. ``needs``: traits of the link, or pieces of the hop; ``reads``: signals."""

    @property
    def needs(self) -> frozenset[str]: ...

    @property
    def reads(self) -> frozenset[str]: ...

    @property
    def everyone(self) -> bool:
        """Whether all senders always take part."""
        ...

    def check(self, parent: Tensor, receivers: int) -> str:
        """Why this policy cannot serve these senders, or an empty string."""
        ...

    def start(self, senders: int) -> Slots:
        """Its memory before the first round."""
        ...

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]: ...


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
    ``notes`` go into the records: what else the link knows of this exchange, per receiver ``[R]``, or sender ``[S]``.
    """

    total: Tensor
    rows: Tensor | None
    tx_j: Tensor | None
    notes: Slots = field(default_factory=dict)


class Link(Protocol):
    """How payloads become sums. ``offers`` is a subset of ``{"individual", "rate", "superposition", "lossless"}``
    (lossless: every payload in time arrives), ``needs`` of ``{"channel", "fleet"}``."""

    @property
    def offers(self) -> frozenset[str]: ...

    @property
    def needs(self) -> frozenset[str]: ...

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
        blocks: int = 1,
    ) -> Airtime:
        """Who will have arrived when, given when each sender has its payload of ``values`` numbers in so many
        ``blocks`` ready (``ready_s [S]``)."""
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


class RateLink(Link, Protocol):
    """A link that offers ``rate``: each sender has a band of its own."""

    @property
    def bandwidth_hz(self) -> float: ...


@dataclass(frozen=True)
class Hop:
    """Everything radio belongs to the hop. It is run ``period`` times for one run of the hop above."""

    link: Link
    policy: Policy
    channel: Channel | None = None
    fleet: Fleet | None = None
    period: int = 1
    deadline_s: float | None = None

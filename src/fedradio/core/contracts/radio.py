"""Contracts of the radio: clock, topology, channel, fleet, policy, link and hop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from fedradio.core.rng import Rng

Slots = dict[str, Tensor]
"""Named tensors, the only kind of state."""


@dataclass(frozen=True)
class Clock:
    """Simulated time in counts: round ``t`` and exchange ``e`` of the hop inside it (hop 0: the edge round), from 0."""

    t: int
    e: int = 0


@dataclass(frozen=True)
class Topology:
    """Tree of nodes in tiers, clients first and server last: every sender's receiver and every node's position.

    ``parents[h] [S_h]`` holds the receiver of every sender of hop ``h``; ``positions[tier] [n, 2]`` in metres.
    ``cell [C]`` is the cell that a client belongs to by its position and its data, even if it reports elsewhere (None:
    its receiver's). Drawn from the seed, never checkpointed.
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
        """The same clients, of the same cells, sending straight to the server."""
        parent = torch.zeros(self.clients, dtype=torch.long)
        return Topology((parent,), (self.positions[0], self.positions[-1]), self.cells)

    @property
    def cells(self) -> Tensor:
        """Cell of every client, ``[C]``."""
        return self.parents[0] if self.cell is None else self.cell


@dataclass(frozen=True)
class ChannelState:
    """Channel realisation: linear power ``gain [R, S]`` of ALL pairs (foreign ones interfere), noise in W/Hz."""

    gain: Tensor
    noise_w_hz: float


class Channel(Protocol):
    """Propagation model: power gains of all pairs of nodes, drawn anew for every exchange from ``rng``."""

    @property
    def block_fading(self) -> bool:
        """Whether the gains contain small-scale fading, constant for a whole exchange; links that superpose symbols
        draw fresh fading for every symbol themselves and cannot be combined with it."""
        ...

    def realise(self, receivers_m: Tensor, senders_m: Tensor, parent: Tensor, rng: Rng) -> ChannelState:
        """Gains between ``receivers_m [R, 2]`` and ``senders_m [S, 2]``; ``parent [S]`` is each sender's receiver."""
        ...


@dataclass(frozen=True)
class Fleet:
    """Hardware of a hop's senders: CPU, transmitter, energy budget. Vectors are ``[S]``; the lowest CPU frequency and
    transmit power and the static powers are 0 by default."""

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
    """A policy's decision for every sender ``[S]``: participation, local steps, CPU frequency and transmit power.

    ``notes`` go into the records as they are: further results of the policy, per receiver ``[R]`` or sender ``[S]``.
    ``amplitude [S]`` multiplies analogue symbols (None: 1); the transmit power then depends on the payload.
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
    """A policy's input, all that it may see of an exchange. ``signals`` are plain per-sender vectors ``[S]`` (sizes,
    losses, scores...); ``able [S]`` marks the senders that have data, or a change to relay (None: all)."""

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
    """Client selection and resource allocation. ``needs``: link traits, or parts of the hop; ``reads``: signals."""

    @property
    def needs(self) -> frozenset[str]: ...

    @property
    def reads(self) -> frozenset[str]: ...

    @property
    def everyone(self) -> bool:
        """Whether all senders always take part."""
        ...

    def check(self, parent: Tensor, receivers: int) -> str:
        """Why this policy cannot serve these senders; empty if it can."""
        ...

    def start(self, senders: int) -> Slots:
        """The policy's state before the first round."""
        ...

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]: ...


@dataclass(frozen=True)
class Airtime:
    """A link's forecast of an exchange, per sender ``[S]``, made before any payload exists.

    ``tx_s`` seconds on the air, ``done_s`` seconds until the upload ends, ``reason`` why it will not arrive.
    ``expect`` is the mean coefficient of a sender's payload: its probability of arrival, or its share of the air.
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
    """Received sums of an exchange: ``total [R, k, d]`` estimates the sum over arrived of weight times payload.

    ``rows [A, k, d]`` are the single payloads, for links that offer them; ``tx_j [S]`` the senders' transmit energy.
    ``notes`` go into the records: further results of the link, per receiver ``[R]`` or sender ``[S]``.
    """

    total: Tensor
    rows: Tensor | None
    tx_j: Tensor | None
    notes: Slots = field(default_factory=dict)


class Link(Protocol):
    """Uplink of a hop: turns the senders' payloads into one weighted sum per receiver.

    ``offers`` is a subset of ``{"individual", "rate", "superposition", "lossless"}`` (lossless: every payload in time
    arrives), ``needs`` of ``{"channel", "fleet"}``.
    """

    @property
    def offers(self) -> frozenset[str]: ...

    @property
    def needs(self) -> frozenset[str]: ...

    def bits(self, values: int) -> float | None:
        """Bits of a payload of ``values`` numbers; None for links without bits."""
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
        """Forecast of arrivals and airtimes; at ``ready_s [S]`` each sender has its payload of ``values`` numbers in
        ``blocks`` blocks ready."""
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
        """Weighted sums of ``payload [A, k, d]`` of the senders ``ids [A]`` at their receivers ``parent [A]``; ``weight
        [A]`` is 0 where the payload does not arrive."""
        ...


class RateLink(Link, Protocol):
    """A link that offers ``rate``: each sender has a band of its own."""

    @property
    def bandwidth_hz(self) -> float: ...


@dataclass(frozen=True)
class Hop:
    """One hop of the network with everything radio: link, policy, channel, fleet and deadline.

    It is run ``period`` times for one run of the hop above.
    """

    link: Link
    policy: Policy
    channel: Channel | None = None
    fleet: Fleet | None = None
    period: int = 1
    deadline_s: float | None = None

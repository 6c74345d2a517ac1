"""Contracts of the network: topology, places and gains of a hop, channel, and the devices that send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from fedradio.core.contracts.state import Slots
from fedradio.core.contracts.time import Clock
from fedradio.core.rng import Rng

Fading = Literal["none", "block", "fresh"]
"""Small-scale fading: none, constant for a whole exchange (or a block of its symbols), or fresh for every symbol."""


@dataclass(frozen=True)
class Topology:
    """Tree of nodes in tiers, clients first and server last: every sender's receiver and every node's position.

    ``parents[h] [S_h]`` holds the receiver of every sender of hop ``h``; ``positions[tier] [n, 2]`` in metres.
    ``cell [C]`` is the cell that a client belongs to by its position and its data, even if it reports elsewhere (None:
    its receiver's). ``forwards``: inner nodes pass on every payload instead of one sum, so that outer hops carry as
    many payloads as arrived below. Drawn from the seed, never checkpointed.
    """

    parents: tuple[Tensor, ...]
    positions: tuple[Tensor, ...]
    cell: Tensor | None = None
    forwards: bool = False

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

    def site(self, hop: int, clock: Clock) -> Site:
        """Where the nodes of a hop are in one of its exchanges."""
        return Site(self.positions[hop + 1], self.positions[hop], self.parents[hop], clock)

    @property
    def cells(self) -> Tensor:
        """Cell of every client, ``[C]``."""
        return self.parents[0] if self.cell is None else self.cell


@dataclass(frozen=True)
class Site:
    """Where the nodes of a hop are in one exchange: ``receivers_m [R, 2]``, ``senders_m [S, 2]``, and the receiver
    ``parent [S]`` of every sender."""

    receivers_m: Tensor
    senders_m: Tensor
    parent: Tensor
    clock: Clock


@dataclass(frozen=True)
class ChannelState:
    """Channel realisation: linear power ``gain [R, S]`` of ALL pairs (foreign ones interfere), and the noise.

    Noise is a density ``noise_w_hz``, or the variance ``noise_symbol`` of an analogue symbol in units of its square;
    exactly one is set. ``coefficient [R, K, S]``: complex small-scale fading of mean power 1 at ``K`` antennas, which
    the gain does not contain. ``rayleigh``: the
    coefficients are independent circular normal numbers, so that links know the law of ``power`` before it strikes.
    """

    gain: Tensor
    noise_w_hz: float | None = None
    noise_symbol: float | None = None
    coefficient: Tensor | None = None
    rayleigh: bool = False

    def __post_init__(self) -> None:
        if (self.noise_w_hz is None) == (self.noise_symbol is None):
            raise ValueError("a channel has either noise_w_hz or noise_symbol")

    @property
    def noise(self) -> float:
        """The density in W/Hz that rates are made of; a channel whose noise is a variance per symbol has none."""
        if self.noise_w_hz is None:
            raise ValueError("the noise of this channel is a variance per symbol, not a density")
        return self.noise_w_hz

    @property
    def power(self) -> Tensor:
        """Power gain ``[R, S]`` with small-scale fading, the mean over the antennas."""
        return self.gain if self.coefficient is None else self.gain * self.coefficient.abs().square().mean(dim=1)


class Channel(Protocol):
    """Propagation model: power gains of all pairs of nodes; parts subclass it.

    Example:

        >>> import torch
        >>> from fedradio import Channel, ChannelState, Clock, Rng, Site
        >>> class InverseSquare(Channel):
        ...     def realise(self, site, state, rng):
        ...         distance_m = torch.cdist(site.receivers_m, site.senders_m)
        ...         return ChannelState(distance_m**-2, noise_w_hz=4e-21), state
        >>> site = Site(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), torch.tensor([0]), Clock(0))
        >>> channel, _ = InverseSquare().realise(site, {}, Rng(0))
        >>> round(float(channel.gain), 3)
        0.04
    """

    @property
    def fading(self) -> Fading:
        """Small-scale fading of the gains or coefficients; a link says which it takes."""
        return "none"

    def start(self, senders: int, receivers: int, rng: Rng) -> Slots:
        """Memory before the first round; empty for a channel without any. ``rng`` is the one that :meth:`realise` gets:
        a memory that begins with random values draws them from a child of its own, such as ``rng.child("start")``."""
        return {}

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        """The channel in one exchange, and the memory after it.

        ``rng`` is the hop's and the same in every exchange: what is drawn anew in each draws from ``rng.child(clock.t,
        clock.e)``, what lasts from a child without the clock.
        """
        ...


@dataclass(frozen=True)
class Fleet:
    """Hardware of a hop's senders: CPU, transmitter, energy budget (infinite without one). Vectors are ``[S]``.

    The lowest CPU frequency and transmit power, the static powers and the power ``idle_w`` of a sender that waits for
    the end of an exchange are 0 by default; ``pa_efficiency`` is the radiated share of the amplifier's power.
    """

    cycles_per_bit: Tensor
    f_max_hz: Tensor
    p_max_w: Tensor
    energy_j: Tensor
    capacitance: float
    cpu_min_hz: float = 0.0
    tx_min_w: float = 0.0
    circuit_w: float = 0.0
    cpu_static_w: float = 0.0
    pa_efficiency: float = 1.0
    idle_w: float = 0.0

"""Contracts of the radio: policy, link and hop, and the exchange that they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, Protocol

import torch
from torch import Tensor

from fedradio.core.contracts.network import Channel, ChannelState, Fading, Fleet
from fedradio.core.contracts.payload import Message, ReceiverRule, Sent, Transform
from fedradio.core.contracts.records import Axis
from fedradio.core.contracts.state import Slots
from fedradio.core.contracts.time import Clock
from fedradio.core.errors import OwnCodeError
from fedradio.core.rng import Rng

LinkTrait = Literal["individual", "rate", "superposition", "lossless", "amplitude"]
"""Trait of a link: it delivers single payloads; seconds follow from a sender's own power; symbols add up in the air;
every payload in time arrives; senders may be given amplitudes in place of powers."""

SUPERPOSITION: LinkTrait = "superposition"
"""Trait of links whose senders are heard all at once; their transmit power is that of the payload."""

Piece = Literal["fleet", "channel", "deadline", "steps"]
"""Piece of a hop that a policy or a link may need; only hop 0 has local steps."""

Late = Literal["stop", "finish"]
"""What a sender does at the deadline: stop computing and sending, and pay until then; or finish, and pay for all."""


@dataclass(frozen=True)
class Noted:
    """Further quantity that a part notes for the records: values of the active senders ``[A]``, of all senders ``[S]``
    or of the receivers ``[R]``; ``rest`` is the value of senders that are not active."""

    axis: Axis
    values: Tensor
    rest: float = 0.0


def noted(axis: Axis, values: Mapping[str, Tensor]) -> dict[str, Noted]:
    """Notes of the same axis, by name."""
    return {name: Noted(axis, rows) for name, rows in values.items()}


@dataclass(frozen=True)
class Rates:
    """Shannon rates of senders on bands of their own, ``[S]``: ``w log2(1 + P / unit)`` bits per second at power ``P``.

    ``bits`` of each sender's message, the same for all or ``[S]``; ``unit_w [S]`` is the power for an SNR of 1. By
    hand, 3e6 bits on 1 MHz at 3.5 units: log2(4.5) = 2.17 bits per second and hertz, 1.38 s.
    """

    bits: float | Tensor
    bandwidth_hz: float
    unit_w: Tensor

    def seconds(self, power_w: Tensor) -> Tensor:
        """Airtime of the message at these powers, ``s / (w log2(1 + P/unit))``; infinite without power."""
        two = torch.tensor(2.0, dtype=power_w.dtype)
        return self.bits / (self.bandwidth_hz * torch.log1p(power_w / self.unit_w) / torch.log(two))

    def power_w(self, seconds: Tensor) -> Tensor:
        """Power in watt that sends the message in so many seconds, ``unit (2^(s/(w tau)) - 1)``."""
        two = torch.tensor(2.0, dtype=self.unit_w.dtype)
        return self.unit_w * torch.expm1(self.bits / (self.bandwidth_hz * seconds) * torch.log(two))


@dataclass(frozen=True)
class Broadcast:
    """The model's way down a hop: which senders have it, from when on, and what it costs.

    ``reached [S]`` marks the senders that have the model, ``start_s [S]`` are the seconds from the start of the
    exchange until each has it, ``rx_j [S]`` is the energy of receiving it. Every receiver of the hop sends ``bits`` for
    ``seconds [R]`` with the energy ``tx_j [R]``.
    """

    reached: Tensor
    start_s: Tensor
    rx_j: Tensor
    bits: float
    seconds: Tensor
    tx_j: Tensor

    @classmethod
    def free(cls, senders: int, receivers: int) -> Broadcast:
        """A free, ideal downlink: all senders have the model at once, and nothing is sent."""
        each, node = torch.zeros(senders, dtype=torch.float64), torch.zeros(receivers, dtype=torch.float64)
        return cls(torch.ones(senders, dtype=torch.bool), each, each, 0.0, node, node)


@dataclass(frozen=True)
class Allocation:
    """A policy's decision for every sender ``[S]``: participation, local steps, CPU frequency and transmit power.

    ``notes`` go into the records as they are: further results of the policy.
    ``amplitude [S]`` multiplies analogue symbols (None: 1); the transmit power then depends on the payload.
    """

    active: Tensor
    steps: Tensor
    cpu_hz: Tensor | None
    power_w: Tensor | None
    reason: Tensor
    notes: dict[str, Noted] = field(default_factory=dict)
    amplitude: Tensor | None = None


@dataclass(frozen=True)
class View:
    """A policy's input, all that it may see of an exchange of hop ``hop``.

    ``parent [S]`` is every sender's receiver, ``message`` what each of them would send, ``cycles_per_step [S]`` the CPU
    cycles of a local step. ``signals`` are plain per-sender vectors ``[S]`` (sizes, losses, scores...); ``unable
    [S]`` is the :class:`~fedradio.core.contracts.Reason` why a sender cannot take part (no data, no model, no change
    to relay, an update in flight), 0 if it is ``able``; None: all are.

    On outer hops ``elapsed_s [S]`` are the seconds from the receiver's last broadcast until a sender has its change
    (None where time is undefined). Where payloads are forwarded, ``message`` is a single payload, and
    ``payloads [S]`` counts those of each sender (None: one). ``late``: what senders do at the deadline. ``down``: how
    the model came down the hop (None: free and ideal).
    """

    clock: Clock
    hop: int
    parent: Tensor
    receivers: int
    channel: ChannelState | None
    link: Link
    fleet: Fleet | None
    cycles_per_step: Tensor | None
    message: Message
    deadline_s: float | None
    signals: Slots
    unable: Tensor | None = None
    elapsed_s: Tensor | None = None
    payloads: Tensor | None = None
    late: Late = "stop"
    down: Broadcast | None = None

    @property
    def senders(self) -> int:
        return len(self.parent)

    @property
    def able(self) -> Tensor | None:
        """Whether each sender can take part, ``[S]``; None: all can."""
        return None if self.unable is None else self.unable == 0

    @property
    def payload_bits(self) -> float | None:
        """Bits of a payload on this hop's link; None for links without bits."""
        return self.link.bits(self.message)

    @property
    def rates(self) -> Rates | None:
        """Airtime as a function of power; None for links that do not offer ``rate``. A link that does must give it."""
        rates = self.link.rates(self)
        if rates is None and "rate" in self.link.offers:
            reason = "offers 'rate', but its rates(view) returns None; return Rates, or leave 'rate' out of its offers"
            raise OwnCodeError(f"hops.{self.hop}.link, {type(self.link).__name__}: {reason}")
        return rates


SEEN = tuple(entry.name for entry in fields(View))
"""Names of all that a view holds."""


@dataclass(frozen=True, kw_only=True)
class Exchange(View):
    """A view with the decision: the allocation, and the seconds ``ready_s [S]`` from the receiver's last broadcast
    until each sender's payload is ready (None where time is undefined)."""

    alloc: Allocation
    ready_s: Tensor | None

    @classmethod
    def of(cls, view: View, alloc: Allocation, ready_s: Tensor | None) -> Exchange:
        """The exchange of a view in which ``alloc`` was decided."""
        seen = {name: getattr(view, name) for name in SEEN}
        return cls(**seen, alloc=alloc, ready_s=ready_s)


class Policy(Protocol):
    """Client selection and resource allocation; parts subclass it, and override what differs from its defaults.

    Example:

        >>> from dataclasses import replace
        >>> import torch
        >>> from fedradio import Policy, Reason, at_full_power, begin, build, load_spec, run_round
        >>> class Even(Policy):
        ...     def decide(self, view, state, rng):
        ...         active = torch.arange(view.senders) % 2 == 0
        ...         reason = torch.where(active, int(Reason.NONE), int(Reason.NOT_SELECTED))
        ...         return at_full_power(view, active, torch.full((view.senders,), 5), reason), state
        >>> sim = build(load_spec("digits_flat"))
        >>> even = replace(sim, hops=(replace(sim.hops[0], policy=Even()),))
        >>> _, _, (exchange,) = run_round(even, begin(even))
        >>> exchange.ids[:4], exchange.rest
        ([0, 2, 4, 6], 'not_selected')
    """

    @property
    def needs(self) -> frozenset[LinkTrait | Piece]:
        """Traits of the link and pieces of the hop that it cannot do without."""
        return frozenset()

    @property
    def reads(self) -> frozenset[str]:
        """Signals that it reads."""
        return frozenset()

    @property
    def notes(self) -> frozenset[str]:
        """Names of the notes in its allocations."""
        return frozenset()

    @property
    def everyone(self) -> bool:
        """Whether all senders always take part."""
        return False

    @property
    def meets_deadline(self) -> bool:
        """Whether it takes only senders that it expects to meet the deadline."""
        return "deadline" in self.needs

    def check(self, parent: Tensor, receivers: int) -> str:
        """Why this policy cannot serve these senders; empty if it can."""
        return ""

    def start(self, senders: int) -> Slots:
        """Memory before the first round; empty for a policy without any."""
        return {}

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        """The allocation, and the memory after it."""
        ...


@dataclass(frozen=True)
class Airtime:
    """A link's forecast of an exchange, per sender ``[S]``, made before any payload exists.

    ``tx_s`` seconds on the air, ``done_s`` seconds until the upload ends, as if there were no deadline; those of late
    senders are cut where the hop says so. ``reason`` why it will not arrive. ``expect`` is the mean coefficient of a
    sender's payload: its probability of arrival, or its share of the air.
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
    ``notes`` go into the records: further results of the link.
    """

    total: Tensor
    rows: Tensor | None
    tx_j: Tensor | None
    notes: dict[str, Noted] = field(default_factory=dict)


class Gather(Protocol):
    """When the receivers of hop 0 merge: with the last update of an exchange, or earlier; parts subclass it.

    A part sees numbers only. What is not due yet stays in flight: it is kept in the run's state, its clients do not
    take part until it has been merged, and it is merged in a later exchange.

    Example:

        >>> import torch
        >>> from fedradio import Gather
        >>> class FirstTwo(Gather):
        ...     def due(self, due_s, ids):
        ...         end_s = float(due_s.sort().values[:2][-1])
        ...         return due_s <= end_s, end_s
        >>> FirstTwo().due(torch.tensor([5.0, 1.0, 2.0]), torch.arange(3))
        (tensor([False,  True,  True]), 2.0)
    """

    @property
    def carries(self) -> bool:
        """Whether updates may stay in flight after an exchange."""
        return True

    def due(self, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
        """Which updates in flight are merged now, bool ``[n]``, and the seconds until then.

        ``due_s [n]`` are the seconds from now until each upload ends, ``ids [n]`` its client; updates that the link
        loses are among them, and have no weight. At least one is in flight. Uploads of updates that are merged now end
        within these seconds, which are finite and at least 0.
        """
        ...

    def weight(self, staleness: Tensor) -> Tensor:
        """Factor ``[A]`` on the weights of updates that are so many merges old; 1 at 0."""
        return torch.ones(len(staleness), dtype=torch.float64)


@dataclass(frozen=True)
class GatherAll(Gather):
    """Receivers wait for all updates of an exchange and merge them at once; nothing stays in flight."""

    carries = False

    def due(self, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
        return torch.ones(len(ids), dtype=torch.bool), float(due_s.max())


class Link(Protocol):
    """Uplink of a hop: turns the senders' payloads into one weighted sum per receiver; parts subclass it.

    Example:

        >>> from dataclasses import replace
        >>> import torch
        >>> from fedradio import Ideal, begin, build, load_spec, run_round
        >>> class Lucky(Ideal):  # what client 0 sends is lost
        ...     def plan(self, x, state, rng):
        ...         airtime = super().plan(x, state, rng)
        ...         return replace(airtime, arrived=airtime.arrived & (torch.arange(x.senders) > 0))
        >>> sim = build(load_spec("digits_flat", ["hops.0.policy={kind: fixed, steps: 1}"]))
        >>> lucky = replace(sim, hops=(replace(sim.hops[0], link=Lucky(32.0)),))
        >>> _, _, (exchange,) = run_round(lucky, begin(lucky))
        >>> exchange.arrived[:3]
        [False, True, True]
    """

    @property
    def offers(self) -> frozenset[LinkTrait]:
        """Traits that algorithms and policies may rely on."""
        return frozenset()

    @property
    def needs(self) -> frozenset[Piece]:
        """Pieces of the hop that it cannot do without."""
        return frozenset()

    @property
    def notes(self) -> frozenset[str]:
        """Names of the notes in its deliveries."""
        return frozenset()

    @property
    def takes(self) -> frozenset[Fading]:
        """Small-scale fading of the channel that it can deal with."""
        return frozenset({"none", "block"})

    def check(self, channel: ChannelState) -> str:
        """Why this link cannot work on such a channel; empty if it can."""
        return ""

    def bits(self, message: Message) -> float | None:
        """Bits that a sender puts on the link; None for links without bits."""
        return None

    def rates(self, view: View) -> Rates | None:
        """Rates over the mean gains, as a policy may know them; None for links that do not offer ``rate``."""
        return None

    def start(self, senders: int, receivers: int) -> Slots:
        """Memory before the first round; empty for a link without any."""
        return {}

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        """Forecast of arrivals and airtimes, before any payload exists."""
        ...

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        """Weighted sums of the payloads at their receivers, and the memory after the exchange. Not called where nobody
        is active and nothing is merged; ``sent`` has no rows where all that is sent stays in flight."""
        ...


@dataclass(frozen=True)
class Hop:
    """One hop of the network with everything radio: link, policy, channel, fleet and deadline; and ``gather``, which
    says when its receivers merge.

    It is run ``period`` times for one run of the hop above. ``transforms`` are what senders do to their payloads, in
    their order; ``receiver`` is the optimiser of the tier above (None: the merged change is added). ``late`` is what
    senders do at the deadline.
    """

    link: Link
    policy: Policy
    channel: Channel | None = None
    fleet: Fleet | None = None
    period: int = 1
    deadline_s: float | None = None
    transforms: tuple[Transform, ...] = ()
    receiver: ReceiverRule | None = None
    late: Late = "stop"
    gather: Gather = GatherAll()

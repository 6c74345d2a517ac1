"""Contracts of payloads: what a sender sends, as foreseen and as sent, and what it does to it first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from torch import Tensor

from fedradio.core.contracts.state import Slots
from fedradio.core.contracts.time import Clock
from fedradio.core.rng import Rng

if TYPE_CHECKING:
    from fedradio.core.contracts.radio import LinkTrait, Noted, View


@dataclass(frozen=True)
class Message:
    """What one sender sends, known before any payload exists: ``blocks`` vectors of ``size`` numbers each.

    ``sent``: numbers of a block that are put on the link (None: all); ``norm``: a bound on the 2-norm of all numbers;
    ``value_bits``: bits of one number (None: the link's); ``side_bits``: bits beside the numbers, such as scales and
    places. They are counted apart so that the order of coders does not matter: 5 % of the numbers at 8 bits each.
    ``memory``: blocks that sender and receiver accumulate, such as the change of a control variate.
    """

    blocks: int
    size: int
    sent: int | None = None
    norm: float | None = None
    value_bits: float | None = None
    side_bits: float = 0.0
    memory: frozenset[int] = frozenset()

    @classmethod
    def of(cls, sends: Sequence[str], size: int) -> Message:
        """The plain payload of an algorithm that ``sends`` such vectors of ``size`` numbers."""
        return cls(len(sends), size, memory=frozenset(i for i, each in enumerate(sends) if each == "memory"))

    @property
    def coded(self) -> int:
        """Numbers of a block that are put on the link."""
        return self.size if self.sent is None else self.sent

    @property
    def values(self) -> int:
        """Numbers that are put on the link."""
        return self.blocks * self.coded

    def bits(self, bits_per_value: float) -> float:
        """Bits on a link that spends ``bits_per_value`` on a number for which nothing else is said."""
        return self.values * (bits_per_value if self.value_bits is None else self.value_bits) + self.side_bits


@dataclass(frozen=True)
class Sent:
    """Payloads of an exchange: senders ``ids [A]``, their receivers ``group [A]``, ``payload [A, k, d]`` and its
    ``weight [A]`` in the receiver's sum, 0 where nothing arrives."""

    ids: Tensor
    group: Tensor
    payload: Tensor
    weight: Tensor


@dataclass(frozen=True)
class Coded:
    """Payloads after a transform: ``payload [A, k, d']``, and its ``notes`` for the records.

    ``bits [A]`` are those really sent where they are fewer than foreseen (None: as foreseen); never more.
    """

    payload: Tensor
    bits: Tensor | None = None
    notes: dict[str, Noted] = field(default_factory=dict)


class Transform(Protocol):
    """What a sender does to its payload before the link, and a receiver after it; parts subclass it.

    A hop has a tuple of them, in the order of the sender; receivers undo them backwards. Both sides get the same
    ``rng``: a sender's own draws come from ``rng.child(id)``, so that they do not depend on who else is active, common
    ones from ``rng.child("common")``, the receivers' from ``rng.child("receiver")``. Rows are never written in place.

    Example:

        >>> import torch
        >>> from fedradio import Coded, Sent, Transform
        >>> class Whole(Transform):  # numbers are rounded, receivers read them as they are
        ...     def encode(self, x, sent, mine, rng):
        ...         return Coded(sent.payload.round())
        >>> sent = Sent(torch.tensor([0]), torch.tensor([0]), torch.tensor([[[0.4, 1.6]]]), torch.ones(1))
        >>> Whole().encode(None, sent, {}, None).payload
        tensor([[[0., 2.]]])
    """

    @property
    def needs(self) -> frozenset[LinkTrait]:
        """Traits of the link that it cannot do without; ``individual`` if sums of coded payloads mean nothing."""
        return frozenset()

    @property
    def notes(self) -> frozenset[str]:
        """Names of the notes in its codes."""
        return frozenset()

    @property
    def conceals(self) -> bool:
        """Whether receivers may no longer see single payloads (noise that is added to their sum)."""
        return False

    @property
    def lossy(self) -> bool:
        """Whether receivers decode something else than was sent."""
        return True

    @property
    def alone(self) -> bool:
        """Whether a sender codes its payload without those of the others, as the devices of a federation must."""
        return True

    def message(self, before: Message) -> Message:
        """What a sender sends after this transform, known before any payload exists."""
        return before

    def start(self, senders: int, before: Message) -> Slots:
        """Memory ``[S, ...]`` of the senders before the first round; empty for a transform without any."""
        return {}

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        """The transformed payloads of the active senders, whose memory is ``mine [A, ...]``; ``x.message`` is what they
        would send without it."""
        ...

    def keep(self, coded: Tensor, heard: Tensor, arrived: Tensor, mine: Slots) -> Slots:
        """Memory of the active senders after the exchange: ``coded [A, k, d]`` is what this transform gave,
        ``heard [A, k, d]`` what receivers make of it after everything behind it, ``arrived [A]`` whether they did."""
        return mine

    def decode(self, x: View, sent: Sent, received: Tensor, rng: Rng) -> Tensor:
        """The inverse at the receiver, of rows ``[n, k, d']``: single payloads or sums; linear in its rows unless it
        conceals. ``x`` is that of :meth:`encode`, ``sent`` are the payloads on the link with their weights."""
        return received

    def omega(self, numbers: int) -> float | None:
        """``E |decoded - v|^2 <= omega |v|^2`` of an unbiased coder of so many numbers; None for all others."""
        return None

    def delta(self, numbers: int) -> float | None:
        """``|decoded - v|^2 <= (1 - delta) |v|^2`` of a contractive coder of so many numbers; None for all others."""
        return None


class ReceiverRule(Protocol):
    """Optimiser of a tier: turns the merged change of the model into a step. Its memory is never sent or counted.

    Example:

        >>> import torch
        >>> from fedradio import Clock, ReceiverRule
        >>> class Half(ReceiverRule):
        ...     def step(self, change, heard, state, clock):
        ...         return 0.5 * change, state
        >>> Half().step(torch.tensor([[2.0, 4.0]]), torch.tensor([True]), {}, Clock(0))
        (tensor([[1., 2.]]), {})
    """

    def start(self, receivers: int, w: Tensor) -> Slots:
        """Memory ``[R, ...]`` before the first round, for the model ``w [d]``."""
        return {}

    def step(self, change: Tensor, heard: Tensor, state: Slots, clock: Clock) -> tuple[Tensor, Slots]:
        """The step ``[R, d]`` for the merged ``change [R, d]``, and the memory after it. Receivers that ``heard [R]``
        nobody neither step nor change their memory."""
        ...

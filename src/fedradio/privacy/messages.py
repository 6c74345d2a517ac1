"""Messages of the protocol: frozen records of octets, named as they are seen on each way.

The eight messages of the twelve steps (the other four are local), with their octets::

     2  UE  -> BS   UplinkRequest    temp 4, count 8, sealed 116, mac 16              144
     3  BS  -> ISP  CellRequest      bs 4 and step 2                                  148
     4  ISP -> CSP  TicketedRequest  ticket 16, sealed 116                            132
     6  CSP -> ISP  Order            ticket 16, order 80                               96
     7  ISP -> BS   CellOrder        ticket 16, order 80, temp 4                      100
     8  BS  -> ES   Order            ticket 16, order 80                               96
    10  ES  -> BS   TicketedPayload  ticket 16, payload
    11  BS  -> UE   Payload          payload

Beside them: the key of an epoch (:class:`KeyNotice`, 64), the way of a miss (:class:`Fetch` 80, :class:`CellFetch` 84,
:class:`File`) and what is charged (:class:`Usage`, 24).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from fedradio.privacy.refusals import Refusal, Refused

OCTETS = {
    "temp": 4,
    "count": 8,
    "mac": 16,
    "bs": 4,
    "ticket": 16,
    "order": 80,
    "name": 16,
    "fetch": 64,
    "notice": 64,
    "octets_sent": 8,
}
"""Lengths of the fields that have one; ``sealed`` has that of its suite, a payload and a file that of the file."""


@dataclass(frozen=True, repr=False)
class Message:
    """A message; its text names fields and lengths and shows no octets."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, bytes) or len(value) != OCTETS.get(each.name, len(value)):
                raise Refused(type(self).__name__, Refusal.MALFORMED)

    def lengths(self) -> dict[str, int]:
        """Octets by field."""
        return {each.name: len(getattr(self, each.name)) for each in fields(self)}

    def size(self) -> int:
        """Octets on the way, without the headers of lower layers."""
        return sum(self.lengths().values())

    def octets(self) -> bytes:
        """All octets in order, as somebody on the way sees them."""
        return b"".join(getattr(self, each.name) for each in fields(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name} {length}' for name, length in self.lengths().items())})"


@dataclass(frozen=True, repr=False)
class UplinkRequest(Message):
    """Step 2, UE to BS."""

    temp: bytes
    count: bytes
    sealed: bytes
    mac: bytes


@dataclass(frozen=True, repr=False)
class CellRequest(Message):
    """Step 3, BS to ISP: the request with the number of its cell."""

    bs: bytes
    temp: bytes
    count: bytes
    sealed: bytes
    mac: bytes


@dataclass(frozen=True, repr=False)
class TicketedRequest(Message):
    """Step 4, ISP to CSP: neither who asks nor where."""

    ticket: bytes
    sealed: bytes


@dataclass(frozen=True, repr=False)
class Order(Message):
    """Step 6, CSP to ISP, and step 8, BS to ES: what an edge server shall send, under the group key."""

    ticket: bytes
    order: bytes


@dataclass(frozen=True, repr=False)
class CellOrder(Message):
    """Step 7, ISP to BS: the order with the temporary name that the payload is for."""

    ticket: bytes
    order: bytes
    temp: bytes


@dataclass(frozen=True, repr=False)
class TicketedPayload(Message):
    """Step 10, ES to BS."""

    ticket: bytes
    payload: bytes


@dataclass(frozen=True, repr=False)
class Payload(Message):
    """Step 11, BS to UE."""

    payload: bytes


@dataclass(frozen=True, repr=False)
class KeyNotice(Message):
    """The key of an epoch, CSP to UE: nonce 12, epoch 4, sealed key 48."""

    notice: bytes


@dataclass(frozen=True, repr=False)
class Fetch(Message):
    """A miss, ES to BS and ISP to CSP: a random name, and the content under the group key."""

    name: bytes
    fetch: bytes


@dataclass(frozen=True, repr=False)
class CellFetch(Message):
    """A miss, BS to ISP: with the number of its cell."""

    bs: bytes
    name: bytes
    fetch: bytes


@dataclass(frozen=True, repr=False)
class File(Message):
    """The file of a miss, CSP to ISP to BS to ES, in chunks under the key of the fetch."""

    name: bytes
    file: bytes


@dataclass(frozen=True, repr=False)
class Usage(Message):
    """What is charged, BS to ISP: octets of the payload of a ticket, which dies with it."""

    ticket: bytes
    octets_sent: bytes

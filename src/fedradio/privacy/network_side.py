"""The network operator's parties: base stations, and the ISP's cloud that checks, forwards and charges.

They pass requests, orders and payloads on and can open none of them.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from fedradio.privacy.messages import (
    OCTETS,
    CellFetch,
    CellOrder,
    CellRequest,
    Fetch,
    File,
    Order,
    Payload,
    TicketedPayload,
    TicketedRequest,
    UplinkRequest,
    Usage,
)
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.secret import SYSTEM, Draw, Secret
from fedradio.privacy.tags import number
from fedradio.privacy.views import View


def sim_code(sim: Secret, count: bytes, sealed: bytes) -> bytes:
    """Authentication code of a request: the first 16 octets of HMAC-SHA256(SIM key; count, sealed)."""
    return hmac.new(sim.reveal(), count + sealed, hashlib.sha256).digest()[: OCTETS["mac"]]


@dataclass(repr=False)
class BaseStation:
    """A base station (BS) of cell ``number``, with one edge server of the provider beside it."""

    number: int
    view: View = field(default_factory=lambda: View("BS"))
    _temp: dict[bytes, bytes] = field(default_factory=dict)

    def forward(self, request: UplinkRequest) -> CellRequest:
        """Step 3: the request with the number of the cell, to the ISP."""
        self.view.saw(request)
        bs = number(self.number, OCTETS["bs"])
        return self.view.saw(CellRequest(bs, request.temp, request.count, request.sealed, request.mac))

    def pass_order(self, order: CellOrder) -> Order:
        """Step 8: the order to the edge server; the temporary name stays here."""
        self.view.saw(order)
        self._temp[order.ticket] = order.temp
        return self.view.saw(Order(order.ticket, order.order))

    def deliver(self, answer: TicketedPayload) -> tuple[bytes, Payload, Usage]:
        """Step 11: the payload, for which temporary name, and what the ISP charges."""
        self.view.saw(answer)
        temp = self._temp.pop(answer.ticket, None)
        if temp is None:
            raise Refused(self.view.party, Refusal.UNKNOWN_TICKET)
        usage = Usage(answer.ticket, number(len(answer.payload), OCTETS["octets_sent"]))
        return temp, self.view.saw(Payload(answer.payload)), self.view.saw(usage)

    def forward_fetch(self, fetch: Fetch) -> CellFetch:
        """A miss: the fetch with the number of the cell, to the ISP."""
        self.view.saw(fetch)
        return self.view.saw(CellFetch(number(self.number, OCTETS["bs"]), fetch.name, fetch.fetch))

    def pass_file(self, file: File) -> File:
        """The file of a miss, to the edge server."""
        return self.view.saw(file)

    def __repr__(self) -> str:
        return f"BaseStation({self.number})"


@dataclass
class _Subscriber:
    """The ISP's entry of a subscriber."""

    number: int
    sim: Secret
    count: int = -1
    octets: int = 0


@dataclass(repr=False)
class Operator:
    """The ISP's cloud: knows subscribers by their SIM keys, and tickets of requests that are not answered yet."""

    draw: Draw = SYSTEM
    view: View = field(default_factory=lambda: View("ISP"))
    _subscriber: dict[bytes, _Subscriber] = field(default_factory=dict)
    _open: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)
    _fetching: dict[bytes, bytes] = field(default_factory=dict)

    def enrol(self, subscriber: int, temp: bytes, sim: Secret) -> None:
        """Register a subscriber under a temporary name."""
        self._subscriber[temp] = _Subscriber(subscriber, sim)

    def admit(self, request: CellRequest) -> TicketedRequest:
        """Step 4: check the subscriber, draw a ticket, and forward nothing but it and the sealed request."""
        self.view.saw(request)
        known = self._subscriber.get(request.temp)
        if known is None:
            raise Refused(self.view.party, Refusal.UNKNOWN_TEMP)
        if not hmac.compare_digest(sim_code(known.sim, request.count, request.sealed), request.mac):
            raise Refused(self.view.party, Refusal.WRONG_MAC)
        count = int.from_bytes(request.count, "big")
        if count <= known.count:
            raise Refused(self.view.party, Refusal.OLD_COUNT)
        known.count = count
        ticket = self.draw(OCTETS["ticket"])
        self._open[ticket] = (request.bs, request.temp)
        self.view.knows(ticket=ticket, subscriber=known.number)
        return self.view.saw(TicketedRequest(ticket, request.sealed))

    def route(self, order: Order) -> tuple[int, CellOrder]:
        """Step 7: the cell that an order belongs to, and the order with the temporary name."""
        self.view.saw(order)
        if order.ticket not in self._open:
            raise Refused(self.view.party, Refusal.UNKNOWN_TICKET)
        bs, temp = self._open[order.ticket]
        return int.from_bytes(bs, "big"), self.view.saw(CellOrder(order.ticket, order.order, temp))

    def charge(self, usage: Usage) -> int:
        """Charge the payload's octets to the subscriber of the ticket, which dies; returns the subscriber's total."""
        self.view.saw(usage)
        if usage.ticket not in self._open:
            raise Refused(self.view.party, Refusal.UNKNOWN_TICKET)
        _, temp = self._open.pop(usage.ticket)
        subscriber = self._subscriber[temp]
        subscriber.octets += int.from_bytes(usage.octets_sent, "big")
        return subscriber.octets

    def admit_fetch(self, fetch: CellFetch) -> Fetch:
        """A miss: the fetch without its cell, to the provider."""
        self.view.saw(fetch)
        self._fetching[fetch.name] = fetch.bs
        return self.view.saw(Fetch(fetch.name, fetch.fetch))

    def route_file(self, file: File) -> tuple[int, File]:
        """The cell that the file of a miss belongs to, and the file."""
        self.view.saw(file)
        bs = self._fetching.pop(file.name, None)
        if bs is None:
            raise Refused(self.view.party, Refusal.UNKNOWN_TICKET)
        return int.from_bytes(bs, "big"), file

    def __repr__(self) -> str:
        return f"Operator({len(self._subscriber)} subscribers)"

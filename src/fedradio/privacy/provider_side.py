"""The content provider's parties: its cloud (CSP), which turns tags into contents, and the edge servers (ES) it owns.

The CSP and all edge servers share a group key: whichever cell the ISP sends an order to can read it, so that the CSP
need not be told the cell.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol

from cryptography.exceptions import InvalidTag

from fedradio.privacy.client_side import REQUEST, REQUEST_NONCE, Opened
from fedradio.privacy.messages import (
    OCTETS,
    Fetch,
    File,
    KeyNotice,
    Order,
    TicketedPayload,
    TicketedRequest,
)
from fedradio.privacy.padding import Padding, pad, unpad
from fedradio.privacy.payload import decrypt, encrypt
from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.sealing import PrivateKey, PublicKey, Suite, box, unbox
from fedradio.privacy.secret import SYSTEM, Draw, Secret
from fedradio.privacy.tags import CONTENT_OCTETS, EPOCH_OCTETS, TAG_OCTETS, EpochKey, TagTable, number, wrap
from fedradio.privacy.views import View

FETCH_LABEL = b"fetch"
"""Tells fetches from orders, which are bound to a ticket alone."""


class Files(Protocol):
    """The catalogue's files."""

    @property
    def contents(self) -> int: ...

    def read(self, content: int) -> bytes: ...

    def largest(self) -> int: ...


@dataclass(repr=False)
class Provider:
    """The CSP: opens requests without knowing who asks, and orders the content from whichever edge server it is."""

    suite: Suite
    files: Files
    draw: Draw = SYSTEM
    tags_only: bool = False
    padding: Padding = "none"
    view: View = field(default_factory=lambda: View("CSP"))
    group: Secret = field(init=False)
    _private: PrivateKey = field(init=False)
    _accounts: dict[int, Secret] = field(default_factory=dict)
    _table: TagTable = field(init=False)
    _nonces: set[bytes] = field(default_factory=set)
    _fetched: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.group = Secret.new(self.draw)
        self._private = self.suite.new_key()
        self._table = TagTable.of(EpochKey(0, Secret.new(self.draw)), self.files.contents)

    @property
    def public(self) -> PublicKey:
        return self._private.public_key()

    @property
    def epoch(self) -> int:
        return self._table.key.epoch

    def open_account(self, subscriber: int, account: Secret) -> None:
        """Register an account by its key."""
        self._accounts[subscriber] = account

    def new_epoch(self) -> None:
        """A fresh key of tags; the old table and the list of nonces seen in it are dropped."""
        self._table = TagTable.of(EpochKey(self.epoch + 1, Secret.new(self.draw)), self.files.contents)
        self._nonces.clear()

    def notice(self, subscriber: int) -> KeyNotice:
        """The key of the present epoch for an account."""
        return KeyNotice(wrap(self._table.key, self._accounts[subscriber], self.draw))

    def answer(self, request: TicketedRequest) -> Order:
        """Steps 5 and 6: from the sealed request to the content, and the order for an edge server."""
        self.view.saw(request)
        opened = self._open(request.sealed)
        if opened.epoch != self.epoch:
            raise Refused(self.view.party, Refusal.OTHER_EPOCH)
        if opened.nonce in self._nonces:
            raise Refused(self.view.party, Refusal.SEEN_NONCE)
        content = self._table.content.get(opened.tag)
        if content is None:
            raise Refused(self.view.party, Refusal.UNKNOWN_TAG)
        self._nonces.add(opened.nonce)
        known = self._table.key.key
        self.view.knows(ticket=request.ticket, content=content, tag=opened.tag, payload_key=opened.key, epoch_key=known)
        text = number(content, CONTENT_OCTETS) + opened.nonce + opened.key.reveal()
        return self.view.saw(Order(request.ticket, box(text, self.group, request.ticket, self.draw)))

    def _open(self, sealed: bytes) -> Opened:
        clear = sealed[: EPOCH_OCTETS + TAG_OCTETS] if self.tags_only else b""
        try:
            return Opened.of(clear + self.suite.open(sealed[len(clear) :], self._private, REQUEST + clear))
        except (InvalidTag, ValueError):
            raise Refused(self.view.party, Refusal.ALTERED_SEALED) from None

    def serve_fetch(self, fetch: Fetch) -> File:
        """The file that an edge server lacks, padded as payloads are, under the key of its fetch."""
        self.view.saw(fetch)
        try:
            text = unbox(fetch.fetch, self.group, FETCH_LABEL + fetch.name)
        except InvalidTag:
            raise Refused(self.view.party, Refusal.ALTERED_FETCH) from None
        if fetch.name in self._fetched:
            raise Refused(self.view.party, Refusal.SEEN_FETCH)
        self._fetched.add(fetch.name)
        content, key = int.from_bytes(text[:CONTENT_OCTETS], "big"), Secret(text[CONTENT_OCTETS:])
        if content >= self.files.contents:
            raise Refused(self.view.party, Refusal.UNKNOWN_CONTENT)
        self.view.knows(content=content)
        data = pad(self.files.read(content), self.padding, self.files.largest())
        return self.view.saw(File(fetch.name, encrypt(data, key, fetch.name)))

    def __repr__(self) -> str:
        return f"Provider({self.files.contents} contents, epoch {self.epoch})"


@dataclass(frozen=True, repr=False)
class Job:
    """An order as an edge server reads it."""

    ticket: bytes
    content: int
    nonce: bytes
    key: Secret

    def __repr__(self) -> str:
        return "Job(...)"


@dataclass(repr=False)
class EdgeServer:
    """The ES of cell ``number``: reads orders, fetches what it lacks, and sends files under the request's payload key.

    It keeps the ``capacity`` files it used last. The list of orders seen lives as long as the group key.
    """

    number: int
    group: Secret
    capacity: int = 8
    padding: Padding = "none"
    largest: int = 0
    draw: Draw = SYSTEM
    view: View = field(default_factory=lambda: View("ES"))
    _held: OrderedDict[int, bytes] = field(default_factory=OrderedDict)
    _orders: set[bytes] = field(default_factory=set)
    _fetching: dict[bytes, tuple[int, Secret]] = field(default_factory=dict)

    def read(self, order: Order) -> Job:
        """Step 9: what shall be sent, and under which key."""
        self.view.saw(order)
        try:
            text = unbox(order.order, self.group, order.ticket)
        except InvalidTag:
            raise Refused(self.view.party, Refusal.ALTERED_ORDER) from None
        content, rest = int.from_bytes(text[:CONTENT_OCTETS], "big"), text[CONTENT_OCTETS:]
        job = Job(order.ticket, content, rest[:REQUEST_NONCE], Secret(rest[REQUEST_NONCE:]))
        if job.nonce in self._orders:
            raise Refused(self.view.party, Refusal.SEEN_ORDER)
        self._orders.add(job.nonce)
        self.view.knows(bs=self.number, ticket=job.ticket, content=content, payload_key=job.key)
        return job

    def has(self, content: int) -> bool:
        return content in self._held

    def fetch(self, content: int) -> Fetch:
        """Ask the provider for a file: a random name, and the content with a fresh key under the group key."""
        name, key = self.draw(OCTETS["name"]), Secret.new(self.draw)
        self._fetching[name] = (content, key)
        text = number(content, CONTENT_OCTETS) + key.reveal()
        return self.view.saw(Fetch(name, box(text, self.group, FETCH_LABEL + name, self.draw)))

    def keep(self, file: File) -> None:
        """Open the file of a miss and keep it in place of the one that was used longest ago."""
        self.view.saw(file)
        if file.name not in self._fetching:
            raise Refused(self.view.party, Refusal.NOTHING_ASKED)
        content, key = self._fetching[file.name]
        self._held[content] = unpad(decrypt(file.file, key, file.name, self.view.party), self.padding)
        del self._fetching[file.name]
        if len(self._held) > self.capacity:
            self._held.popitem(last=False)

    def send(self, job: Job) -> TicketedPayload:
        """Step 10: the file in chunks under the payload key, padded as this service does."""
        self._held.move_to_end(job.content)
        data = pad(self._held[job.content], self.padding, self.largest)
        payload = encrypt(data, job.key, job.nonce)
        self.view.knows(ticket=job.ticket, octets_sent=len(payload))
        return self.view.saw(TicketedPayload(job.ticket, payload))

    def __repr__(self) -> str:
        return f"EdgeServer({self.number}: {len(self._held)} of {self.capacity} files)"

"""The five parties of the request protocol, with real keys: device, base station, operator, provider, edge server.

Every party keeps a :class:`Transcript` of what it received, sent and opened, and refuses what it cannot verify.
"""

from __future__ import annotations

import hmac
import os
from dataclasses import dataclass, field
from enum import Enum

from ciphers import (
    PrivateKey,
    PublicKey,
    box,
    content_tag,
    decrypt_file,
    encode,
    encrypt_file,
    new_key,
    new_private_key,
    request_mac,
    seal,
    unbox,
    unseal,
)
from cryptography.exceptions import InvalidTag

from fedradio.papers.protocol import Party, payload_octets


class Refusal(Enum):
    """Why a party refuses a message."""

    UNKNOWN_NAME = "unknown temporary name"
    WRONG_MAC = "wrong mac of the SIM key"
    OLD_COUNT = "count not above the last one"
    UNKNOWN_TICKET = "unknown or used ticket"
    ALTERED_REQUEST = "request cannot be opened"
    SEEN_REQUEST = "request seen before"
    OTHER_EPOCH = "tag of another epoch"
    UNKNOWN_TAG = "tag of no content"
    ALTERED_ORDER = "order altered, or under another ticket"
    SEEN_ORDER = "order seen before"
    ALTERED_FETCH = "fetch altered, or under another name"
    SEEN_FETCH = "fetch seen before"
    UNKNOWN_FETCH = "file that was not fetched"
    ALTERED_FILE = "file altered, reordered or cut"
    NO_OPEN_REQUEST = "no request is open"
    ALTERED_KEY = "key of an epoch altered, or of another account"
    OLD_KEY = "key of an epoch not after the current one"


class Refused(Exception):
    """A party refuses a message."""

    def __init__(self, party: Party, reason: Refusal) -> None:
        super().__init__(f"{party} refuses: {reason.value}")
        self.party, self.reason = party, reason


@dataclass(frozen=True, repr=False)
class Message:
    """A message by the number of its step: octets by field, ciphertexts included."""

    number: str
    fields: dict[str, bytes]

    def __getitem__(self, name: str) -> bytes:
        return self.fields[name]

    @property
    def octets(self) -> int:
        return sum(map(len, self.fields.values()))


LONG = 8
"""Values of at least this many octets are searched for in all octets of messages; shorter ones occur by chance."""


@dataclass(repr=False)
class Transcript:
    """All messages that passed a party, and the facts that it opened, computed, or holds about a request."""

    messages: list[Message] = field(default_factory=list)
    facts: list[tuple[str, bytes]] = field(default_factory=list)

    def note(self, **facts: bytes) -> None:
        self.facts += facts.items()

    def contains(self, name: str, value: bytes) -> bool:
        """Whether the party knows this value: as a fact, as a field of that name, or (long ones) in any octets."""
        if (name, value) in self.facts or any(message.fields.get(name) == value for message in self.messages):
            return True
        return len(value) >= LONG and any(value in b"".join(message.fields.values()) for message in self.messages)


@dataclass(frozen=True, repr=False)
class EpochKey:
    """The key of the tags of one epoch."""

    epoch: int
    key: bytes


REQUEST, FETCH = b"request", b"fetch"
"""What ciphertexts are bound to, so that one kind cannot stand for another."""


@dataclass(repr=False)
class Device:
    """UE: a subscriber's device. It shares the SIM key with the operator and the account key with the provider."""

    subscriber: int
    cell: int
    provider_key: PublicKey
    tags_in_clear: bool = False
    temporary_name: bytes = field(default_factory=lambda: os.urandom(4))
    sim_key: bytes = field(default_factory=new_key)
    account_key: bytes = field(default_factory=new_key)
    transcript: Transcript = field(default_factory=Transcript)
    epoch_key: EpochKey = EpochKey(-1, b"")
    _count: int = 0
    _open: tuple[bytes, bytes] | None = None

    def take_key(self, notice: Message) -> None:
        """The key of a new epoch from the provider."""
        try:
            key = unbox(notice["key"], self.account_key, notice["epoch"])
        except InvalidTag:
            raise Refused("UE", Refusal.ALTERED_KEY) from None
        epoch = int.from_bytes(notice["epoch"], "big")
        if epoch <= self.epoch_key.epoch:
            raise Refused("UE", Refusal.OLD_KEY)
        self.epoch_key = EpochKey(epoch, key)

    def request(self, content: int) -> Message:
        """Steps 1 and 2: the tag of the content, a fresh nonce and a fresh payload key, sealed to the provider."""
        epoch, tag = encode(self.epoch_key.epoch), content_tag(content, self.epoch_key.key)
        nonce, key = os.urandom(16), new_key()
        if self.tags_in_clear:
            request = epoch + tag + seal(nonce + key, self.provider_key, REQUEST + epoch + tag)
        else:
            request = seal(epoch + tag + nonce + key, self.provider_key, REQUEST)
        count = encode(self._count, 8)
        self._count, self._open = self._count + 1, (nonce, key)
        self.transcript.note(subscriber=encode(self.subscriber), cell=encode(self.cell), content=encode(content))
        self.transcript.note(tag=tag, epoch_key=self.epoch_key.key, payload_key=key)
        mac = request_mac(count, request, self.sim_key)
        return Message("2", {"temporary_name": self.temporary_name, "count": count, "request": request, "mac": mac})

    def open(self, answer: Message) -> bytes:
        """Step 12: the file. A second answer to the same request is refused."""
        if self._open is None:
            raise Refused("UE", Refusal.NO_OPEN_REQUEST)
        nonce, key = self._open
        try:
            data = decrypt_file(answer["payload"], key, nonce)
        except InvalidTag:
            raise Refused("UE", Refusal.ALTERED_FILE) from None
        self._open = None
        self.transcript.note(payload_size=encode(len(answer["payload"]), 8))
        return data


@dataclass(repr=False)
class BaseStation:
    """BS of a cell: forwards everything, and reports what it delivered."""

    cell: int
    transcript: Transcript = field(default_factory=Transcript)

    def forward_request(self, request: Message) -> Message:
        return Message("3", {"cell": encode(self.cell)} | request.fields)

    def forward_order(self, order: Message) -> Message:
        return Message("8", {"ticket": order["ticket"], "order": order["order"]})

    def forward_fetch(self, fetch: Message) -> Message:
        return Message("9b", {"cell": encode(self.cell)} | fetch.fields)

    def forward_file(self, file: Message) -> Message:
        return Message("9f", file.fields)

    def deliver(self, answer: Message) -> Message:
        return Message("11", {"payload": answer["payload"]})

    def report(self, answer: Message) -> Message:
        """The report by which the operator charges the subscriber."""
        return Message("$", {"ticket": answer["ticket"], "payload_size": encode(len(answer["payload"]), 8)})


@dataclass(repr=False)
class Operator:
    """ISP: the operator's cloud. It authenticates subscribers, replaces their names by tickets, routes and charges."""

    transcript: Transcript = field(default_factory=Transcript)
    charged: dict[int, int] = field(default_factory=dict)
    _register: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    _count: dict[bytes, int] = field(default_factory=dict)
    _tickets: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)
    _fetches: dict[bytes, bytes] = field(default_factory=dict)

    def enrol(self, device: Device) -> None:
        self._register[device.temporary_name] = (device.subscriber, device.sim_key)

    def admit(self, request: Message) -> Message:
        """Step 4: check the subscriber, then forward only the sealed request, under a random ticket."""
        name, count = request["temporary_name"], int.from_bytes(request["count"], "big")
        if name not in self._register:
            raise Refused("ISP", Refusal.UNKNOWN_NAME)
        subscriber, sim_key = self._register[name]
        if not hmac.compare_digest(request_mac(request["count"], request["request"], sim_key), request["mac"]):
            raise Refused("ISP", Refusal.WRONG_MAC)
        if count <= self._count.get(name, -1):
            raise Refused("ISP", Refusal.OLD_COUNT)
        self._count[name] = count
        ticket = os.urandom(16)
        self._tickets[ticket] = (request["cell"], name)
        self.transcript.note(subscriber=encode(subscriber))
        return Message("4", {"ticket": ticket, "request": request["request"]})

    def route(self, order: Message) -> tuple[int, Message]:
        """Step 7: the cell of the ticket, and the order with the temporary name."""
        if order["ticket"] not in self._tickets:
            raise Refused("ISP", Refusal.UNKNOWN_TICKET)
        cell, name = self._tickets[order["ticket"]]
        return int.from_bytes(cell, "big"), Message("7", order.fields | {"temporary_name": name})

    def admit_fetch(self, fetch: Message) -> Message:
        """Step 9c: the fetch without its cell."""
        self._fetches[fetch["fetch_name"]] = fetch["cell"]
        return Message("9c", {"fetch_name": fetch["fetch_name"], "fetch": fetch["fetch"]})

    def route_file(self, file: Message) -> tuple[int, Message]:
        """Step 9e: the cell that fetched the file, and the file."""
        if file["fetch_name"] not in self._fetches:
            raise Refused("ISP", Refusal.UNKNOWN_FETCH)
        return int.from_bytes(self._fetches.pop(file["fetch_name"]), "big"), Message("9e", file.fields)

    def charge(self, report: Message) -> None:
        """Charge the octets of the payload to the subscriber of the ticket, which can be used once."""
        if report["ticket"] not in self._tickets:
            raise Refused("ISP", Refusal.UNKNOWN_TICKET)
        _, name = self._tickets.pop(report["ticket"])
        subscriber, _ = self._register[name]
        octets = int.from_bytes(report["payload_size"], "big")
        self.charged[subscriber] = self.charged.get(subscriber, 0) + octets


@dataclass(repr=False)
class Provider:
    """CSP: the provider's cloud. It opens requests without knowing who asks, and orders files from edge servers."""

    files: tuple[bytes, ...]
    hybrid: bool = False
    tags_in_clear: bool = False
    transcript: Transcript = field(default_factory=Transcript)
    group_key: bytes = field(default_factory=new_key)
    epoch_key: EpochKey = field(init=False)
    private_key: PrivateKey = field(init=False)
    _content: dict[bytes, int] = field(default_factory=dict)
    _requests: set[bytes] = field(default_factory=set)
    _fetches: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.private_key = new_private_key(self.hybrid)
        self.new_epoch(0)

    def new_epoch(self, epoch: int) -> None:
        """A fresh key of the tags; requests of the old epoch are refused from now on."""
        self.epoch_key = EpochKey(epoch, new_key())
        self._content = {content_tag(n, self.epoch_key.key): n for n in range(len(self.files))}
        self._requests.clear()

    def notice(self, account_key: bytes) -> Message:
        """The key of the current epoch for one account."""
        epoch = encode(self.epoch_key.epoch)
        return Message("key", {"epoch": epoch, "key": box(self.epoch_key.key, account_key, epoch)})

    def order(self, request: Message) -> Message:
        """Steps 5 and 6: open the request, find the content of the tag, and order it from whichever edge server."""
        epoch, tag, nonce, key = self._open(request["request"])
        if epoch != encode(self.epoch_key.epoch):
            raise Refused("CSP", Refusal.OTHER_EPOCH)
        if nonce in self._requests:
            raise Refused("CSP", Refusal.SEEN_REQUEST)
        if tag not in self._content:
            raise Refused("CSP", Refusal.UNKNOWN_TAG)
        self._requests.add(nonce)
        content = self._content[tag]
        self.transcript.note(content=encode(content), tag=tag, epoch_key=self.epoch_key.key, payload_key=key)
        self.transcript.note(payload_size=encode(payload_octets(len(self.files[content])), 8))
        text = encode(content) + nonce + key
        return Message("6", {"ticket": request["ticket"], "order": box(text, self.group_key, request["ticket"])})

    def _open(self, request: bytes) -> tuple[bytes, bytes, bytes, bytes]:
        """Epoch 4, tag 16, nonce 16 and payload key 32 of a request."""
        clear = request[:20] if self.tags_in_clear else b""
        try:
            text = clear + unseal(request[len(clear) :], self.private_key, REQUEST + clear)
        except (InvalidTag, ValueError):
            raise Refused("CSP", Refusal.ALTERED_REQUEST) from None
        if len(text) != 68:
            raise Refused("CSP", Refusal.ALTERED_REQUEST)
        return text[:4], text[4:20], text[20:36], text[36:]

    def serve(self, fetch: Message) -> Message:
        """Step 9d: the file that an edge server lacks, under the key of its fetch."""
        try:
            text = unbox(fetch["fetch"], self.group_key, FETCH + fetch["fetch_name"])
        except InvalidTag:
            raise Refused("CSP", Refusal.ALTERED_FETCH) from None
        if fetch["fetch_name"] in self._fetches:
            raise Refused("CSP", Refusal.SEEN_FETCH)
        self._fetches.add(fetch["fetch_name"])
        data = self.files[int.from_bytes(text[:4], "big")]
        return Message(
            "9d", {"fetch_name": fetch["fetch_name"], "file": encrypt_file(data, text[4:], fetch["fetch_name"])}
        )


@dataclass(frozen=True, repr=False)
class Order:
    """An order as the edge server reads it."""

    ticket: bytes
    content: int
    nonce: bytes
    payload_key: bytes


@dataclass(repr=False)
class EdgeServer:
    """ES of a cell: opens orders with the group key of the provider, fetches missing files, and sends payloads."""

    cell: int
    group_key: bytes
    transcript: Transcript = field(default_factory=Transcript)
    files: dict[int, bytes] = field(default_factory=dict)
    _orders: set[bytes] = field(default_factory=set)
    _fetches: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)

    def read(self, order: Message) -> Order:
        """Step 9: which file to send, and under which key."""
        try:
            text = unbox(order["order"], self.group_key, order["ticket"])
        except InvalidTag:
            raise Refused("ES", Refusal.ALTERED_ORDER) from None
        content, nonce, key = text[:4], text[4:20], text[20:]
        if nonce in self._orders:
            raise Refused("ES", Refusal.SEEN_ORDER)
        self._orders.add(nonce)
        self.transcript.note(cell=encode(self.cell), content=content, payload_key=key)
        return Order(order["ticket"], int.from_bytes(content, "big"), nonce, key)

    def fetch(self, content: int) -> Message:
        """Step 9a: ask the provider for a file, under a random name and a fresh key."""
        name, key = os.urandom(16), new_key()
        self._fetches[name] = (content, key)
        return Message("9a", {"fetch_name": name, "fetch": box(encode(content) + key, self.group_key, FETCH + name)})

    def store(self, file: Message) -> None:
        """Step 9g: open and store the file of a fetch."""
        if file["fetch_name"] not in self._fetches:
            raise Refused("ES", Refusal.UNKNOWN_FETCH)
        content, key = self._fetches[file["fetch_name"]]
        try:
            self.files[content] = decrypt_file(file["file"], key, file["fetch_name"])
        except InvalidTag:
            raise Refused("ES", Refusal.ALTERED_FILE) from None
        del self._fetches[file["fetch_name"]]

    def send(self, order: Order) -> Message:
        """Step 10: the file under the payload key of the request."""
        payload = encrypt_file(self.files[order.content], order.payload_key, order.nonce)
        self.transcript.note(payload_size=encode(len(payload), 8))
        return Message("10", {"ticket": order.ticket, "payload": payload})


AnyParty = Device | BaseStation | Operator | Provider | EdgeServer

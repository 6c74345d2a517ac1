"""Request protocol of RawHFL (Fig. 2): its steps as a table of messages with octets, and what each party can derive.

A field of a message is a fact in the clear or a :class:`Ciphertext`, which opens for every party that has its key.
:func:`knowledge` computes all facts that parties can derive: the closure of what they hold, of the fields of the
messages that they send or receive, of the ciphertexts that they can open, and of ``RULES``. As long as the ciphers are
secure, nobody can learn more from these fields. Guesses from popularity, times and sizes are not part of the closure.

By hand: step 2 has temporary name 4, count 8, HPKE (48) of epoch 4, tag 16, nonce 16 and payload key 32, and mac 16:
144 octets, which are 1152 bits. The edge server opens the order with the group key, so it learns the content; the
temporary name is in no message that passes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Party = Literal["UE", "BS", "ISP", "CSP", "ES"]
"""Device of a subscriber, base station, cloud of the operator, cloud of the content provider, its edge server."""

PARTIES: tuple[Party, ...] = get_args(Party)

OCTETS = {
    "temporary_name": 4,
    "count": 8,
    "mac": 16,
    "cell": 4,
    "ticket": 16,
    "epoch": 4,
    "tag": 16,
    "nonce": 16,
    "content": 4,
    "payload_key": 32,
    "epoch_key": 32,
    "fetch_name": 16,
    "fetch_key": 32,
    "payload_size": 8,
}
"""Octets of every fact that a message can carry, except the file."""

HPKE_OVERHEAD, HYBRID_OVERHEAD, BOX_OVERHEAD = 48, 1136, 28
"""Octets that encryption adds: HPKE with X25519; HPKE with ML-KEM-768 and X25519; ChaCha20-Poly1305 with its nonce."""

CHUNK_OCTETS, CHUNK_OVERHEAD = 64 * 1024, 16
"""Files are encrypted in chunks of 64 KiB, to each of which ChaCha20-Poly1305 adds 16 octets."""


def payload_octets(file_octets: int) -> int:
    """Octets of an encrypted file of ``L`` octets: ``L + 16 max(1, ceil(L / 64 Ki))``."""
    return file_octets + CHUNK_OVERHEAD * max(1, -(-file_octets // CHUNK_OCTETS))


@dataclass(frozen=True)
class Ciphertext:
    """Facts that are encrypted under a key; encryption adds ``overhead`` octets, for files the tags of the chunks."""

    name: str
    key: str
    facts: tuple[str, ...]
    overhead: int = BOX_OVERHEAD

    @property
    def carries_file(self) -> bool:
        return "file" in self.facts

    def octets(self, file_octets: int) -> int:
        if self.carries_file:
            return payload_octets(file_octets)
        return self.overhead + sum(OCTETS[fact] for fact in self.facts)


Field = str | Ciphertext


@dataclass(frozen=True)
class Step:
    """A step of the protocol: a message from sender to receiver, or (``receiver`` is None) work of the sender alone.

    ``number`` is the step's number in Fig. 2; steps that the paper does not show are 9a to 9g (miss) and $ (charging).
    """

    number: str
    about: str
    sender: Party
    receiver: Party | None = None
    fields: tuple[Field, ...] = ()

    def octets(self, file_octets: int = 0) -> int:
        """Octets of the message without the headers of lower layers, for a file of ``file_octets``."""
        return sum(OCTETS[f] if isinstance(f, str) else f.octets(file_octets) for f in self.fields)


HELD: dict[Party, frozenset[str]] = {
    "UE": frozenset({"subscriber", "temporary_name", "cell", "content", "epoch_key", "nonce", "payload_key"}),
    "BS": frozenset({"cell"}),
    "ISP": frozenset({"register"}),
    "CSP": frozenset({"provider_key", "group_key", "epoch_key", "catalogue"}),
    "ES": frozenset({"cell", "group_key", "fetch_key"}),
}
"""Facts that a party holds or chooses itself. The register has a subscriber for every temporary name, the catalogue a
size for every content."""

RULES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"epoch_key", "content"}), "tag"),
    (frozenset({"epoch_key", "tag"}), "content"),
    (frozenset({"file"}), "content"),
    (frozenset({"register", "temporary_name"}), "subscriber"),
    (frozenset({"catalogue", "content"}), "payload_size"),
)
"""Facts that follow from others. A tag is a keyed hash; the holder of the key inverts it with a table of all tags."""

FACTS = {
    "subscriber": "subscriber",
    "temporary_name": "temporary name",
    "cell": "cell",
    "content": "content",
    "tag": "tag of the content",
    "epoch_key": "key of the epoch",
    "payload_key": "key of the payload",
    "ticket": "ticket",
    "payload_size": "size of the payload",
}
"""Facts about a request that the tables of knowledge show, with their titles."""


def request_steps(*, tags_in_clear: bool = False, hybrid: bool = False, miss: bool = True) -> tuple[Step, ...]:
    """The steps of one request.

    ``tags_in_clear`` leaves epoch and tag outside of the encryption, which is another reading of the paper's "encrypted
    temporal tag ID"; ``hybrid`` encrypts to ML-KEM-768 and X25519; ``miss`` includes the steps by which the edge server
    fetches the file from the provider.
    """
    overhead = HYBRID_OVERHEAD if hybrid else HPKE_OVERHEAD
    name, secret = ("epoch", "tag"), ("nonce", "payload_key")
    if tags_in_clear:
        request: tuple[Field, ...] = (*name, Ciphertext("request", "provider_key", secret, overhead))
    else:
        request = (Ciphertext("request", "provider_key", name + secret, overhead),)
    order = Ciphertext("order", "group_key", ("content", *secret))
    payload = Ciphertext("payload", "payload_key", ("file",))
    return (
        Step("1", "computes the tag of the content", "UE"),
        Step("2", "request", "UE", "BS", ("temporary_name", "count", *request, "mac")),
        Step("3", "request with cell", "BS", "ISP", ("cell", "temporary_name", "count", *request, "mac")),
        Step("4", "request under a ticket", "ISP", "CSP", ("ticket", *request)),
        Step("5", "finds the content of the tag", "CSP"),
        Step("6", "order", "CSP", "ISP", ("ticket", order)),
        Step("7", "order with temporary name", "ISP", "BS", ("ticket", order, "temporary_name")),
        Step("8", "order", "BS", "ES", ("ticket", order)),
        Step("9", "opens the order", "ES"),
        *(_miss_steps() if miss else ()),
        Step("10", "payload", "ES", "BS", ("ticket", payload)),
        Step("11", "payload", "BS", "UE", (payload,)),
        Step("12", "opens the payload", "UE"),
        Step("$", "charging report", "BS", "ISP", ("ticket", "payload_size")),
    )


def _miss_steps() -> tuple[Step, ...]:
    fetch = Ciphertext("fetch", "group_key", ("content", "fetch_key"))
    file = Ciphertext("file", "fetch_key", ("file",))
    return (
        Step("9a", "fetch", "ES", "BS", ("fetch_name", fetch)),
        Step("9b", "fetch with cell", "BS", "ISP", ("cell", "fetch_name", fetch)),
        Step("9c", "fetch", "ISP", "CSP", ("fetch_name", fetch)),
        Step("9d", "file", "CSP", "ISP", ("fetch_name", file)),
        Step("9e", "file", "ISP", "BS", ("fetch_name", file)),
        Step("9f", "file", "BS", "ES", ("fetch_name", file)),
        Step("9g", "opens and stores the file", "ES"),
    )


def knowledge(steps: Sequence[Step], *parties: Party, stolen: Iterable[str] = ()) -> frozenset[str]:
    """All facts that these parties can derive if they share what they have; ``stolen`` are keys of others."""
    fields = {field for step in steps if {step.sender, step.receiver} & set(parties) for field in step.fields}
    ciphertexts = {field for field in fields if isinstance(field, Ciphertext)}
    facts = {field for field in fields if isinstance(field, str)}.union(stolen, *(HELD[party] for party in parties))
    if any(ciphertext.carries_file for ciphertext in ciphertexts):
        facts.add("payload_size")
    while new := _derivable(facts, ciphertexts) - facts:
        facts |= new
    return frozenset(facts)


def _derivable(facts: set[str], ciphertexts: set[Ciphertext]) -> set[str]:
    """Facts that follow from known ones in one step: by opening a ciphertext or by a rule."""
    opened = {fact for ciphertext in ciphertexts if ciphertext.key in facts for fact in ciphertext.facts}
    return opened | {fact for needed, fact in RULES if needed <= facts}


def total_bits(steps: Sequence[Step], *numbers: str) -> int:
    """Bits of the messages of the steps with these numbers, without files."""
    return 8 * sum(step.octets() for step in steps if step.number in numbers)

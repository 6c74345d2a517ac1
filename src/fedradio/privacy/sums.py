"""Masked sums: an edge server learns what the clients of a cell demand together, and nothing of a single one.

Client ``u`` with demand ``v_u [N]``, a number from 0 to 1 for every content, reports::

    y_u = round(2^20 v_u) + sum_{w > u} m_uw - sum_{w < u} m_uw + m_u   (mod 2^32)

The masks ``m_uw`` of a pair cancel in the sum over the cell. ``m_u`` is shared with the edge server, which subtracts
it: a base station that adds all reports still sees noise. A mask is the ChaCha20 stream of a seed, ``HKDF-SHA256`` of
an X25519 key and the slot. If ``w`` is absent, each of the others reveals its seed with ``w`` of that slot (32 octets),
and the edge server takes these masks out. By hand: demands 0.5 and 0.25 with masks +7 and -7 give 524295 and 262137,
and their sum 786432 is 0.75 * 2^20.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from fedradio.core.errors import FedradioError
from fedradio.privacy.secret import KEY_OCTETS, Secret
from fedradio.privacy.tags import number

Floats = NDArray[np.float64]
Words = NDArray[np.uint32]
Seeds = Mapping[int, Secret]
"""Mask seeds of one slot that a client has revealed, by absent client."""

SCALE = 2**20
"""A demand of 1 in the numbers that are added: rounding costs at most ``2^-21`` a client."""

MOST_MEMBERS = (2**32 - 1) // SCALE
"""Members of a cell whose demands, each at most 1, cannot overflow: 4095."""

LEAST = 2
"""Reports below which a sum would be somebody's own."""

WORD_BITS = 32
"""Bits of a report, per content."""

SEED_BITS = 8 * KEY_OCTETS
"""Bits that a dropout costs each of the others."""

LABEL = b"fedradio masked sum"


class SumRefused(FedradioError):
    """A client or the edge server refuses a sum: a report would be laid bare, or the demands do not fit."""


def rounded(demand: Floats) -> Words:
    """Demands of 0 to 1 as the whole numbers that are added: ``round(2^20 v)``."""
    if not (np.isfinite(demand).all() and (demand >= 0).all() and (demand <= 1).all()):
        raise SumRefused("a demand must be between 0 and 1")
    return np.rint(demand * SCALE).astype(np.uint32)


@dataclass(frozen=True)
class Slot:
    """One sum: its slot, and its number where a slot has several (one a placement)."""

    slot: int
    series: int = 0

    def label(self) -> bytes:
        return LABEL + number(self.slot, 8) + number(self.series, 4)


@dataclass(repr=False)
class _Party:
    """Keys that one party shares with others, by their numbers."""

    _private: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate)
    _shared: dict[int, Secret] = field(default_factory=dict)

    @property
    def public(self) -> bytes:
        return self._private.public_key().public_bytes_raw()

    def _meet(self, publics: Mapping[int, bytes]) -> None:
        if len(publics) > MOST_MEMBERS:
            raise SumRefused(f"a cell has at most {MOST_MEMBERS} members, or their demands could overflow")
        for who, public in publics.items():
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(public))
            pair = b"".join(sorted([public, self.public]))
            self._shared[who] = Secret(_derived(Secret(shared), LABEL + pair))

    def _seed(self, who: int, slot: Slot) -> Secret:
        return Secret(_derived(self._shared[who], slot.label()))


EDGE = -1
"""The edge server among the numbers of the parties."""


@dataclass(repr=False)
class Member(_Party):
    """A client of a cell."""

    number: int = 0
    _reported: set[Slot] = field(default_factory=set)
    _revealed: set[Slot] = field(default_factory=set)

    def meet(self, members: Mapping[int, bytes], edge: bytes) -> None:
        """Agree on keys with the other members and the edge server; their public keys must be authentic."""
        others = {who: public for who, public in members.items() if who != self.number}
        self._meet(others | {EDGE: edge})

    def report(self, demand: Floats, slot: Slot) -> Words:
        """The masked demand ``[N]``, once a slot: two reports under one mask would tell their difference."""
        if len(self._shared) <= LEAST - 1:
            raise SumRefused("the sum over a single member would be its own report")
        total = rounded(demand)
        if slot in self._reported:
            raise SumRefused("already reported in this slot")
        self._reported.add(slot)
        for who in self._shared:
            words = mask(self._seed(who, slot), len(demand))
            total = total - words if EDGE < who < self.number else total + words
        return total

    def reveal(self, absent: Collection[int], slot: Slot) -> dict[int, Secret]:
        """Mask seeds with the absent members, of this slot alone; once, and only while others are left."""
        missing = set(absent)
        left = len(self._shared.keys() - missing - {EDGE}) + 1
        if self.number in missing or left < LEAST:
            raise SumRefused("the rest of the sum would be this member's own report")
        if slot in self._revealed:
            raise SumRefused("already revealed in this slot")
        self._revealed.add(slot)
        return {who: self._seed(who, slot) for who in sorted(missing)}

    def __repr__(self) -> str:
        return f"Member({self.number})"


@dataclass(repr=False)
class Collector(_Party):
    """The edge server of a cell, which adds the reports."""

    def meet(self, members: Mapping[int, bytes]) -> None:
        """Agree on keys with the members."""
        self._meet(members)

    def absent(self, reports: Mapping[int, Words]) -> list[int]:
        """Members without a report."""
        return sorted(self._shared.keys() - reports.keys())

    def total(self, reports: Mapping[int, Words], slot: Slot, revealed: Mapping[int, Seeds] | None = None) -> Floats:
        """The demand of the cell ``[N]``: exactly the sum of the rounded demands of those who reported.

        ``revealed``: for every member that reported, its mask seeds with all absent ones.
        """
        if len(reports) < LEAST:
            raise SumRefused("the sum over a single member would be its own report")
        seeds, missing = revealed or {}, self.absent(reports)
        total = np.zeros_like(next(iter(reports.values())))
        for who, report in reports.items():
            total = total + report - mask(self._seed(who, slot), len(report))
            for gone in missing:
                if gone not in seeds.get(who, {}):
                    raise SumRefused(f"member {who} has not revealed its mask seed with member {gone}")
                words = mask(seeds[who][gone], len(report))
                total = total + words if gone < who else total - words
        return total.astype(np.float64) / SCALE

    def __repr__(self) -> str:
        return f"Collector({len(self._shared)} members)"


def cell(members: Collection[int]) -> tuple[list[Member], Collector]:
    """Members with fresh keys and their edge server, who have met."""
    made, edge = [Member(number=who) for who in members], Collector()
    publics = {member.number: member.public for member in made}
    for member in made:
        member.meet(publics, edge.public)
    edge.meet(publics)
    return made, edge


def mask(seed: Secret, words: int) -> Words:
    """A mask of so many 32-bit words: the ChaCha20 stream of the seed. Every seed is used once."""
    stream = Cipher(ChaCha20(seed.reveal(), bytes(16)), mode=None).encryptor().update(bytes(4 * words))
    return np.frombuffer(stream, dtype="<u4").astype(np.uint32)


def _derived(key: Secret, info: bytes) -> bytes:
    return HKDF(SHA256(), KEY_OCTETS, salt=None, info=info).derive(key.reveal())

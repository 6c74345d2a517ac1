"""Rotating tags of contents: a keyed hash under the key of an epoch.

    tag(k, n) = HMAC-SHA256(K_k, n as 4 octets), first 16 octets

Whoever holds ``K_k`` can make all tags of epoch ``k``, and nobody else any; tags of two epochs have nothing in common.
By hand (RFC 4231's primitive, key of 32 zero octets, n = 1): ``HMAC-SHA256(00..00, 00000001)[:16]``, see the test.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag

from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.sealing import NONCE, box, unbox
from fedradio.privacy.secret import SYSTEM, Draw, Secret

TAG_OCTETS = 16
EPOCH_OCTETS = 4
CONTENT_OCTETS = 4


def number(value: int, octets: int) -> bytes:
    """A whole number as so many octets, the highest first."""
    return value.to_bytes(octets, "big")


@dataclass(frozen=True)
class EpochKey:
    """The key ``K_k`` of epoch ``k``."""

    epoch: int
    key: Secret

    def tag(self, content: int) -> bytes:
        """The tag of a content in this epoch."""
        text = number(content, CONTENT_OCTETS)
        return hmac.new(self.key.reveal(), text, hashlib.sha256).digest()[:TAG_OCTETS]


@dataclass(frozen=True)
class TagTable:
    """All tags of an epoch and their contents, as the provider keeps them."""

    key: EpochKey
    content: dict[bytes, int] = field(repr=False)

    @classmethod
    def of(cls, key: EpochKey, contents: int) -> TagTable:
        return cls(key, {key.tag(content): content for content in range(contents)})


def wrap(key: EpochKey, account: Secret, draw: Draw = SYSTEM) -> bytes:
    """The key of an epoch under an account's key, 64 octets: nonce 12, epoch 4, sealed key 48."""
    epoch = number(key.epoch, EPOCH_OCTETS)
    boxed = box(key.key.reveal(), account, epoch, draw)
    return boxed[:NONCE] + epoch + boxed[NONCE:]


def unwrap(notice: bytes, account: Secret, party: str = "UE") -> EpochKey:
    """The key of an epoch from the provider's notice; refused if it was altered or is for another account."""
    epoch = notice[NONCE : NONCE + EPOCH_OCTETS]
    try:
        key = unbox(notice[:NONCE] + notice[NONCE + EPOCH_OCTETS :], account, epoch)
    except InvalidTag:
        raise Refused(party, Refusal.ALTERED_KEY) from None
    return EpochKey(int.from_bytes(epoch, "big"), Secret(key))

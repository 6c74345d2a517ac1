"""Payloads: files in chunks of 64 KiB, each authenticated in its place.

Chunk ``i`` is ``ChaCha20-Poly1305(key; nonce = [is the last] as 4 octets, i as 8 octets)``, bound to the request's
nonce and 16 octets longer than its piece of the file. A payload has at least one chunk, and the last one is flagged:
what is swapped, altered, added or cut off is refused, and so is an empty payload. By hand: a file of 65,537 octets has
chunks of 65,552 and 17 octets.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from fedradio.privacy.refusals import Refusal, Refused
from fedradio.privacy.secret import Secret
from fedradio.privacy.tags import number

CHUNK = 64 * 1024
"""Octets of the file in a chunk; the last one has fewer."""

CHUNK_TAG = 16
"""Octets that a chunk is longer than its piece of the file."""


def _nonce(place: int, last: bool) -> bytes:
    return number(last, 4) + number(place, 8)


def payload_size(octets: int) -> int:
    """Octets of the payload of a file: ``L + 16 max(1, ceil(L / 64 Ki))``."""
    return octets + CHUNK_TAG * max(1, -(-octets // CHUNK))


def encrypt(data: bytes, key: Secret, bound: bytes) -> bytes:
    """A file as payload. The key is for this file alone: nonces are places."""
    cipher, view = ChaCha20Poly1305(key.reveal()), memoryview(data)
    starts = range(0, max(len(data), 1), CHUNK)
    return b"".join(
        cipher.encrypt(_nonce(i, last=at == starts[-1]), view[at : at + CHUNK], bound) for i, at in enumerate(starts)
    )


def decrypt(payload: bytes, key: Secret, bound: bytes, party: str) -> bytes:
    """The file of a payload; ``party`` refuses what is not exactly what was encrypted, and a payload without chunks."""
    if not payload:
        raise Refused(party, Refusal.EMPTY_PAYLOAD)
    cipher, view = ChaCha20Poly1305(key.reveal()), memoryview(payload)
    starts = range(0, len(payload), CHUNK + CHUNK_TAG)
    try:
        return b"".join(
            cipher.decrypt(_nonce(i, last=at == starts[-1]), view[at : at + CHUNK + CHUNK_TAG], bound)
            for i, at in enumerate(starts)
        )
    except InvalidTag:
        raise Refused(party, Refusal.ALTERED_PAYLOAD) from None

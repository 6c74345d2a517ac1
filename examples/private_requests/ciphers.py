"""Cryptography of the request protocol: HPKE, boxes under shared keys, files in chunks, tags of contents, and macs."""

from __future__ import annotations

import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

PrivateKey = X25519PrivateKey | hpke.MLKEM768X25519PrivateKey
PublicKey = X25519PublicKey | hpke.MLKEM768X25519PublicKey

KEY_OCTETS, NONCE_OCTETS, TAG_OCTETS = 32, 12, 16
CHUNK = 64 * 1024
"""Octets of the file in a chunk; the last chunk can be shorter."""


def new_key() -> bytes:
    """A fresh symmetric key from the random numbers of the operating system."""
    return os.urandom(KEY_OCTETS)


def encode(value: int, octets: int = 4) -> bytes:
    """A whole number as octets, the highest first."""
    return value.to_bytes(octets, "big")


def new_private_key(hybrid: bool) -> PrivateKey:
    """A fresh key pair for HPKE; ``hybrid`` is secure as long as either ML-KEM-768 or X25519 is."""
    own = X25519PrivateKey.generate()
    return hpke.MLKEM768X25519PrivateKey(MLKEM768PrivateKey.generate(), own) if hybrid else own


def _suite(key: PrivateKey | PublicKey) -> hpke.Suite:
    plain = isinstance(key, X25519PrivateKey | X25519PublicKey)
    kem = hpke.KEM.X25519 if plain else hpke.KEM.MLKEM768_X25519
    return hpke.Suite(kem, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)


def seal(text: bytes, key: PublicKey, bound: bytes) -> bytes:
    """Encrypt to a public key (RFC 9180); the result is bound to ``bound``."""
    return _suite(key).encrypt(text, key, bound)


def unseal(sealed: bytes, key: PrivateKey, bound: bytes) -> bytes:
    """Decrypt with the private key; raises ``InvalidTag`` unless this text was sealed to it and bound to ``bound``."""
    return _suite(key).decrypt(sealed, key, bound)


def box(text: bytes, key: bytes, bound: bytes) -> bytes:
    """Encrypt under a shared key: a random nonce, then the ciphertext, bound to ``bound``; 28 octets longer."""
    nonce = os.urandom(NONCE_OCTETS)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, text, bound)


def unbox(boxed: bytes, key: bytes, bound: bytes) -> bytes:
    """Decrypt under a shared key; raises ``InvalidTag`` unless this text was boxed under it and bound to ``bound``."""
    if len(boxed) < NONCE_OCTETS + TAG_OCTETS:
        raise InvalidTag
    return ChaCha20Poly1305(key).decrypt(boxed[:NONCE_OCTETS], boxed[NONCE_OCTETS:], bound)


def encrypt_file(data: bytes, key: bytes, bound: bytes) -> bytes:
    """Encrypt a file in chunks, each authenticated in its place; the last one is flagged, and there is at least one.

    The nonce of a chunk is its flag (4 octets) and its number (8 octets): use a fresh key for every file.
    """
    starts = range(0, max(len(data), 1), CHUNK)
    cipher = ChaCha20Poly1305(key)
    nonces = [encode(start == starts[-1]) + encode(i, 8) for i, start in enumerate(starts)]
    return b"".join(
        cipher.encrypt(nonce, data[start : start + CHUNK], bound) for nonce, start in zip(nonces, starts, strict=True)
    )


def decrypt_file(payload: bytes, key: bytes, bound: bytes) -> bytes:
    """Decrypt a file; raises ``InvalidTag`` if chunks are altered, missing, added or in another order."""
    step = CHUNK + TAG_OCTETS
    starts = range(0, len(payload), step)
    if not starts:
        raise InvalidTag
    cipher = ChaCha20Poly1305(key)
    nonces = [encode(start == starts[-1]) + encode(i, 8) for i, start in enumerate(starts)]
    return b"".join(
        cipher.decrypt(nonce, payload[start : start + step], bound) for nonce, start in zip(nonces, starts, strict=True)
    )


def _hash(key: bytes, text: bytes) -> bytes:
    """The first 16 octets of HMAC-SHA256."""
    return hmac.new(key, text, hashlib.sha256).digest()[:TAG_OCTETS]


def content_tag(content: int, epoch_key: bytes) -> bytes:
    """The tag of a content in an epoch; tags of two epochs have nothing in common."""
    return _hash(epoch_key, encode(content))


def request_mac(count: bytes, request: bytes, sim_key: bytes) -> bytes:
    """The code by which the operator authenticates the request of a subscriber."""
    return _hash(sim_key, count + request)

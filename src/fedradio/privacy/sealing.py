"""Sealing to a public key (HPKE, RFC 9180) and boxes under a shared key (ChaCha20-Poly1305)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from fedradio.core.errors import Problem, SpecError
from fedradio.privacy.secret import SYSTEM, Draw, Secret

PrivateKey = X25519PrivateKey | hpke.MLKEM768X25519PrivateKey
PublicKey = X25519PublicKey | hpke.MLKEM768X25519PublicKey
SuiteName = Literal["x25519", "hybrid"]

NONCE, TAG = 12, 16
"""Octets of a nonce and of an authentication tag of ChaCha20-Poly1305."""


@dataclass(frozen=True)
class Suite:
    """An HPKE suite: HKDF-SHA256 and ChaCha20-Poly1305 behind ``name``'s key encapsulation.

    ``x25519`` adds 48 octets to a text; ``hybrid`` (ML-KEM-768 with X25519, safe while either is) adds 1136.
    """

    name: SuiteName
    hpke: hpke.Suite

    def new_key(self) -> PrivateKey:
        """A fresh private key, drawn by the library."""
        if self.name == "x25519":
            return X25519PrivateKey.generate()
        from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

        return hpke.MLKEM768X25519PrivateKey(MLKEM768PrivateKey.generate(), X25519PrivateKey.generate())

    def seal(self, text: bytes, key: PublicKey, info: bytes) -> bytes:
        """The text so that only the private key opens it; no two sealed texts are alike."""
        return self.hpke.encrypt(text, key, info)

    def open(self, sealed: bytes, key: PrivateKey, info: bytes) -> bytes:
        """The text; ``InvalidTag`` for whatever was not sealed to this key with this ``info``."""
        return self.hpke.decrypt(sealed, key, info)


def suite_of(name: str) -> Suite:
    """The suite of that name; refused where the library is older than it."""
    kems = {"x25519": "X25519", "hybrid": "MLKEM768_X25519"}
    if name not in kems:
        raise SpecError(Problem("--suite", "unknown suite", "use x25519 or hybrid", name))
    kem = getattr(hpke.KEM, kems[name], None)
    if kem is None:
        raise SpecError(
            Problem("--suite", "not supported by this version of cryptography", "use a newer version, or x25519", name)
        )
    return Suite(
        "hybrid" if name == "hybrid" else "x25519",
        hpke.Suite(kem, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305),
    )


def box(text: bytes, key: Secret, bound: bytes, draw: Draw = SYSTEM) -> bytes:
    """The text under a shared key, 28 octets longer: a random nonce, then the cipher text, bound to ``bound``."""
    nonce = draw(NONCE)
    return nonce + ChaCha20Poly1305(key.reveal()).encrypt(nonce, text, bound)


def unbox(boxed: bytes, key: Secret, bound: bytes) -> bytes:
    """The text; ``InvalidTag`` for whatever was not boxed under this key and bound to ``bound``."""
    if len(boxed) < NONCE + TAG:
        raise InvalidTag
    return ChaCha20Poly1305(key.reveal()).decrypt(boxed[:NONCE], boxed[NONCE:], bound)

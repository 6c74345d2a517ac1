"""Secret octets: keys that can be used, but neither shown nor stored."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from typing import NoReturn

Draw = Callable[[int], bytes]
"""Draws so many random octets. That of the system is the only one for real use; tests hand in others."""

SYSTEM: Draw = os.urandom
"""The random numbers of the operating system: never those of a seed, which could be drawn again."""

KEY_OCTETS = 32
"""Length of every symmetric key."""


class Secret:
    """Octets of a key. No text shows them, nothing stores them, and equality takes the same time for all octets."""

    __slots__ = ("_octets",)
    __hash__ = None  # type: ignore[assignment]  # a hash would tell about the octets

    def __init__(self, octets: bytes) -> None:
        self._octets = bytes(octets)

    @classmethod
    def new(cls, draw: Draw = SYSTEM, octets: int = KEY_OCTETS) -> Secret:
        """A fresh key."""
        return cls(draw(octets))

    def reveal(self) -> bytes:
        """The octets, for the primitives that use them."""
        return self._octets

    def __len__(self) -> int:
        return len(self._octets)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._octets, other._octets)

    def __repr__(self) -> str:
        return f"Secret({len(self)} octets)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is neither stored nor copied elsewhere")

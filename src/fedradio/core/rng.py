"""Randomness as a tree of names.

One seed stands in the spec. ``rng.child("shadow", hop, t, e)`` hashes the path, so that a new consumer never shifts the
draws of the others, and two algorithms with one seed see the same world. Nothing here has state to checkpoint.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from operator import index

import numpy as np
import torch


@dataclass(frozen=True)
class Rng:
    """A node of the tree: the run's seed and the path from the root."""

    seed: int
    path: tuple[str | int, ...] = ()

    def child(self, *names: str | int) -> Rng:
        """The node below this one; every name is a string or an integer."""
        return Rng(self.seed, self.path + tuple(name if isinstance(name, str) else index(name) for name in names))

    def key(self) -> int:
        """128 bits that depend on the seed and on every name of the path, types included."""
        text = "\x1f".join([str(self.seed), *(f"{type(name).__name__}:{name}" for name in self.path)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")

    def numpy(self) -> np.random.Generator:
        """A fresh numpy generator at the start of this node's sequence."""
        return np.random.Generator(np.random.Philox(key=self.key()))

    def torch(self, device: torch.device | str = "cpu") -> torch.Generator:
        """A fresh torch generator (its CPU engine uses 32 bits of the key); for draws that must happen on a device."""
        generator = torch.Generator(device=device)
        generator.manual_seed(self.key() & 0x7FFF_FFFF_FFFF_FFFF)
        return generator

"""Randomness as a tree of names.

One seed stands in the spec. ``rng.child("shadow", hop, t, e)`` hashes the path, so that a new consumer never shifts the
draws of the others, and two algorithms with one seed see the same world. Nothing here has state to checkpoint.

A spec may give its world a seed of its own: then the nodes of the world hold both seeds, and what is drawn for the
world but belongs to the single run (requests) draws from ``rng.of_run()``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from operator import index

import numpy as np
import torch


@dataclass(frozen=True)
class Rng:
    """A node of the tree: a seed and the path from the root; ``run_seed`` is the run's, if ``seed`` is the world's."""

    seed: int
    path: tuple[str | int, ...] = ()
    run_seed: int | None = None

    def child(self, *names: str | int) -> Rng:
        """The node below this one; every name is a string or an integer."""
        below = tuple(name if isinstance(name, str) else index(name) for name in names)
        return Rng(self.seed, self.path + below, self.run_seed)

    def of_run(self) -> Rng:
        """The node of the same path under the run's seed: for draws that differ between runs in one world."""
        return self if self.run_seed is None else Rng(self.run_seed, self.path)

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

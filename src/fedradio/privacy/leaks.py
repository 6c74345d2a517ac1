"""What the size of a payload reveals: the contents that a base station can identify although everything is encrypted.

Payloads of equal size look the same. Whoever knows all sizes and how popular the contents are takes a payload for the
most popular content of its size, and is right in ``sum_s max_{n: size n = s} p_n`` of the requests. By hand: sizes 5,
5, 7 with popularity .5, .3, .2 give .5 + .2 = .7; padded to one size, .5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedradio.core.rng import Rng
from fedradio.privacy.padding import Padding, padded_size


@dataclass(frozen=True)
class SizeLeak:
    """Share of the requests that are named by the sizes under a padding, and how many more octets that sends."""

    padding: Padding
    named: float
    more: float


def size_leak(sizes: Sequence[int], popularity: NDArray[np.float64], padding: Padding) -> SizeLeak:
    """The leak of files of these ``sizes [N]`` under a padding; ``popularity [N]`` sums to 1."""
    largest = max(sizes)
    sent = [padded_size(size, padding, largest) for size in sizes]
    best: dict[int, float] = {}
    for size, p in zip(sent, popularity.tolist(), strict=True):
        best[size] = max(best.get(size, 0.0), p)
    plain = float(popularity @ np.array(sizes, np.float64))
    more = float(popularity @ np.array(sent, np.float64)) / plain - 1 if plain else 0.0
    return SizeLeak(padding, sum(best.values()), more)


def drawn_sizes(contents: int, low: float, high: float, rng: Rng) -> tuple[int, ...]:
    """Sizes of files in octets, log-uniform from ``low`` to ``high``; all the same where these are."""
    uniform = rng.numpy().random(contents)
    return tuple(np.rint(low * (high / low) ** uniform).astype(np.int64).tolist())

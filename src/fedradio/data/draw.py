"""Mini-batch sampling for many clients at once, one shuffled epoch after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedradio.core.rng import Rng

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Segments:
    """Every client's samples as a contiguous segment ``pool[first[c] : first[c] + size[c]]``; ``first, size [C]``.

    The pool of sample numbers is never empty: if no client has samples, it holds a valid number for the padding.
    """

    pool: Ints
    first: Ints
    size: Ints


def draw_epochs(segments: Segments, clients: Ints, updates: Ints, batch: int, rng: Rng) -> tuple[Ints, Ints]:
    """Mini-batches of sample numbers ``index [A, T, B]``, and their sizes ``count [A, T]``, T the most ``updates``.

    An epoch is cut into batches of ``batch``, the last one smaller; a client with no more than one batch of samples
    uses all of them every time. B is ``batch``, or the largest segment where that is smaller. Random numbers are drawn
    for every sample of every client, so that a client's picks depend neither on which clients are active nor on how
    many updates follow. Padding repeats a valid sample number; ``count`` is 0 after a client's last update.
    """
    width = int(min(batch, max(segments.size.max(initial=0), 1)))
    steps = int(updates.max(initial=0))
    size = segments.size[clients]
    batches = np.maximum(-(-size // batch), 1)  # of an epoch [A]
    step = np.arange(steps)
    start = (step % batches[:, None]) * batch  # place of a batch in its epoch [A, T]
    count = np.where(step < updates[:, None], np.clip(size[:, None] - start, 0, width), 0)

    place = np.minimum(np.arange(width), np.maximum(size - 1, 0)[:, None])  # [A, B]
    place = np.repeat(place[:, None], steps, axis=1)  # right for clients that never need shuffling
    epochs = np.where(size > batch, -(-updates // batches), 0)  # [A]
    for epoch in range(int(epochs.max(initial=0))):
        rows = np.flatnonzero(epochs > epoch)
        order = _shuffled(segments, clients[rows], rng.child("epoch", epoch))
        missing = int(batches[rows].max()) * batch - order.shape[1]
        cut = np.pad(order, ((0, 0), (0, missing)), mode="edge").reshape(len(rows), -1, batch)  # [rows, batches, B]
        when = epoch * batches[rows, None] + np.arange(cut.shape[1])  # update of each batch
        real = (np.arange(cut.shape[1]) < batches[rows, None]) & (when < updates[rows, None])
        place[np.repeat(rows, real.sum(axis=1)), when[real]] = cut[real]
    position = np.minimum(segments.first[clients][:, None, None] + place, len(segments.pool) - 1)
    return segments.pool[position], count


def _shuffled(segments: Segments, clients: Ints, rng: Rng) -> Ints:
    """Random permutation of each client's samples ``[A, N]``; entries from ``size`` on repeat a valid one.

    The high bits of a key are random, the low bits its position, so keys never tie and sorting them is enough.
    """
    size = segments.size[clients]
    longest = int(size.max())
    bits = rng.numpy().integers(0, 2**64 - 1, size=int(segments.size.sum()), dtype=np.uint64, endpoint=True)
    start = (np.cumsum(segments.size) - segments.size)[clients]
    column = np.arange(longest)
    low = np.uint64(2 ** int(segments.size.max()).bit_length() - 1)
    keys = bits[np.minimum(start[:, None] + column, len(bits) - 1)] & ~low | column.astype(np.uint64)
    keys[column >= size[:, None]] = np.iinfo(np.uint64).max
    keys.sort(axis=1)
    order: Ints = np.minimum((keys & low).astype(np.int64), size[:, None] - 1)
    return order

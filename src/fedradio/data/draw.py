"""Mini-batches, epoch after shuffled epoch, for many clients at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedradio.core.rng import Rng

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Runs:
    """What every client has: sample numbers ``pool[first[c] : first[c] + size[c]]``; ``first, size [C]``.

    The pool is never empty: where nobody has anything it holds some valid number for the padding.
    """

    pool: Ints
    first: Ints
    size: Ints


def draw_epochs(runs: Runs, clients: Ints, updates: Ints, batch: int, rng: Rng) -> tuple[Ints, Ints]:
    """Sample numbers ``index [A, T, B]`` and how many of them are real ``count [A, T]``, T the largest of ``updates``.

    An epoch is cut into batches of ``batch``, the last one smaller; a client with no more than a batch gives all it has
    every time. B is ``batch``, or the largest size where that is smaller. Random numbers are drawn for every sample of
    every client, so that a client's picks depend neither on who is active nor on how many updates follow.
    Entries that are not real repeat a valid sample number; ``count`` is 0 after a client's last update.
    """
    width = int(min(batch, max(runs.size.max(initial=0), 1)))
    steps = int(updates.max(initial=0))
    size = runs.size[clients]
    batches = np.maximum(-(-size // batch), 1)  # of an epoch [A]
    step = np.arange(steps)
    begin = (step % batches[:, None]) * batch  # place of a batch in its epoch [A, T]
    count = np.where(step < updates[:, None], np.clip(size[:, None] - begin, 0, width), 0)

    place = np.minimum(np.arange(width), np.maximum(size - 1, 0)[:, None])  # [A, B]
    place = np.repeat(place[:, None], steps, axis=1)  # right for clients that never need shuffling
    epochs = np.where(size > batch, -(-updates // batches), 0)  # [A]
    for epoch in range(int(epochs.max(initial=0))):
        rows = np.flatnonzero(epochs > epoch)
        order = _shuffled(runs, clients[rows], rng.child("epoch", epoch))
        missing = int(batches[rows].max()) * batch - order.shape[1]
        cut = np.pad(order, ((0, 0), (0, missing)), mode="edge").reshape(len(rows), -1, batch)  # [rows, batches, B]
        when = epoch * batches[rows, None] + np.arange(cut.shape[1])  # update of each batch
        real = (np.arange(cut.shape[1]) < batches[rows, None]) & (when < updates[rows, None])
        place[np.repeat(rows, real.sum(axis=1)), when[real]] = cut[real]
    at = np.minimum(runs.first[clients][:, None, None] + place, len(runs.pool) - 1)
    return runs.pool[at], count


def _shuffled(runs: Runs, clients: Ints, rng: Rng) -> Ints:
    """A random order of each of these clients' samples ``[A, N]``; places from ``size`` on repeat a valid one.

    The high bits of a key are random and the low bits its place, so keys never tie and sorting them is enough.
    """
    size = runs.size[clients]
    longest = int(size.max())
    bits = rng.numpy().integers(0, 2**64 - 1, size=int(runs.size.sum()), dtype=np.uint64, endpoint=True)
    start = (np.cumsum(runs.size) - runs.size)[clients]
    column = np.arange(longest)
    low = np.uint64(2 ** int(runs.size.max()).bit_length() - 1)
    keys = bits[np.minimum(start[:, None] + column, len(bits) - 1)] & ~low | column.astype(np.uint64)
    keys[column >= size[:, None]] = np.iinfo(np.uint64).max
    keys.sort(axis=1)
    order: Ints = np.minimum((keys & low).astype(np.int64), size[:, None] - 1)
    return order

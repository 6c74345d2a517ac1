"""Transition matrices of request laws, and a test of outcomes against their own laws, which may all differ."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.requests import Floats, Requests

BINS = 20


def transition(world: Requests, client: int) -> Floats:
    """Transition matrix ``[N, N]`` of a client: from the last request (row) to the next (column)."""
    genres, size = world.entry.shape
    leave = (1 - world.stay[client]) * world.explore()[client]  # [G, G]
    law = leave[:, None, :, None] * world.entry  # [G, 1, G, M]
    law = np.repeat(law, size, axis=1)
    own = np.arange(genres)
    law[own, :, own] += world.stay[client] * world.near
    return law.reshape(world.contents, world.contents)


def p_value(law: Floats, outcome: Ints, rng: Rng) -> float:
    """p value of ``outcome [n]`` under ``law [n, N]``, each row the law of its own outcome.

    ``F(y-) + U P(y)`` is uniform if ``y`` has that law: chi-square of twenty equal bins. 0 if the impossible happened.
    """
    row = np.arange(len(law))
    likely = law[row, outcome]
    if likely.min() <= 0:
        return 0.0
    below = np.cumsum(law, axis=1)[row, outcome] - likely
    uniform = below + likely * rng.numpy().random(len(law))
    seen = np.bincount(np.minimum((uniform * BINS).astype(np.int64), BINS - 1), minlength=BINS)
    mean = len(law) / BINS
    return float(chi2.sf(((seen - mean) ** 2 / mean).sum(), BINS - 1))

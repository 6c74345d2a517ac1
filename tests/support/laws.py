"""A test of outcomes against their own laws, which may all differ."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.requests import Floats

BINS = 20


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

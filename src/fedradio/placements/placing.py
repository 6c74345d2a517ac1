"""The placing rule: the files whose scores, less the price of moving those that are not there yet, sum to the most.

``A = argmax sum_{n in A} v_n - m |A minus held|``, at most ``capacity`` files. A held file is worth ``v``, another one
``v - m``: the largest of these values that are positive or held are the exact answer.

By hand: scores .5 .4 .3, file 2 held, one place. Moving file 0 ahead is worth .5 - m against .3: at m = .1 it comes, at
m = .3 file 2 stays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def placed(score: Floats, held: Bools, capacity: int, move_cost: float | None) -> Bools:
    """Files ``[N]`` that an edge holds after placing, from its scores ``[N]`` and those that it held.

    Of equal values held files come first, then the lower number; held files stay where there is room. None for
    ``move_cost``: nothing is prefetched.
    """
    if move_cost is None:
        return held
    value = np.where(held, score, score - move_cost)
    candidates = np.flatnonzero(held | (value > 0))
    order = np.lexsort((candidates, ~held[candidates], -value[candidates]))
    after = np.zeros_like(held)
    after[candidates[order[:capacity]]] = True
    return after

"""Which samples leave a full buffer when new ones arrive: random ones, or the oldest of the most frequent class.

A buffer holds places of a client's tape, oldest first. By hand, places 0 1 2 3 with classes a a b a, and place 4 of
class b arrives: first in, first out drops 0; balanced drops 0 as well, the oldest of the three a. When 5 of class b
arrives next, 1 2 3 4 5 have two a and three b: balanced drops 2, where first in, first out drops 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from fedradio.data.draw import Ints
from fedradio.data.requests import Floats

Removal = Literal["fifo", "random", "balanced"]

Remove = Callable[[Ints, Ints, Ints, Floats], Ints]
"""The buffer after an arrival: ``(held [D], new [n], label [tape], key [D]) -> held [D]``, oldest first; ``key`` are
random numbers, one for every place of the buffer."""


def remove_random(held: Ints, new: Ints, label: Ints, key: Floats) -> Ints:
    """Those of the old samples leave that have the smallest keys; every one is as likely as any other."""
    stays = np.ones(len(held), dtype=bool)
    stays[np.argsort(key, kind="stable")[: len(new)]] = False
    return np.concatenate([held[stays], new])


def remove_balanced(held: Ints, new: Ints, label: Ints, key: Floats) -> Ints:
    """One after the other, the oldest sample of the class that is most frequent in the buffer with the new sample.

    Of equally frequent classes the one leaves a sample whose oldest is the oldest. Unlabelled samples, with label -1,
    are a class of their own.
    """
    places, classes = held.tolist(), label[held].tolist()
    for place in new.tolist():
        places.append(place)
        classes.append(int(label[place]))
        count = Counter(classes)
        most = max(count.values())
        out = next(i for i, c in enumerate(classes) if count[c] == most)
        del places[out], classes[out]
    return np.asarray(places, dtype=np.int64)


REMOVE: Mapping[Removal, Remove] = {"random": remove_random, "balanced": remove_balanced}
"""Rules beside first in, first out, which needs no list of what is held."""

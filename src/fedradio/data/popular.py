"""Guessing the most popular contents whatever was requested before: accuracy of the m most popular, and its spreads.

By hand: contents 0, 0, 1 were requested in training; two clients request 0, 1 and 1, 2 in two test slots. The most
popular content 0 is right in 1 of 4 cases, in 1/2 and 0 of them by slot (spread 1/4), and by client likewise. The two
most popular are right in 3 of 4, in 1 and 1/2 by slot and by client.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts import Stream, Tapes
from fedradio.data.draw import Ints
from fedradio.data.streams import Pooled, Window

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Popular:
    """Accuracy of guessing the 1, 2, .. ``m`` most popular contents, and its standard deviation ``over_slots``, of the
    mean over clients, and ``over_clients``, of the mean over slots; all ``[m]``."""

    accuracy: Floats
    over_slots: Floats
    over_clients: Floats


def popular(requested: Ints, test: Ints, most: int) -> Popular:
    """Accuracies of the ``most`` most popular contents; popularity is how often a content is in ``requested [n]``.

    ``test [C, T]`` are the contents that the clients request in the test slots. Of equals the first comes first.
    """
    classes = int(max(requested.max(), test.max())) + 1
    order = np.argsort(-np.bincount(requested, minlength=classes), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(classes)
    right = rank[test] < np.arange(1, most + 1)[:, None, None]  # [m, C, T]
    return Popular(right.mean(axis=(1, 2)), right.mean(axis=1).std(axis=1), right.mean(axis=2).std(axis=1))


def popular_of(stream: Stream, most: int) -> Popular | None:
    """Accuracies of the most popular contents of a stream of requests; None for data that is no such stream."""
    tapes = _tapes(stream)
    if tapes is None or "top_popular" not in tapes.reference:
        return None
    _, labels = tapes.test.fetch(tapes.test.index)
    return popular(tapes.label.cpu().numpy(), labels.cpu().numpy().reshape(tapes.test.groups, -1), most)


def _tapes(stream: Stream) -> Tapes | None:
    inner = stream.stream if isinstance(stream, Pooled) else stream
    return inner.tapes if isinstance(inner, Window) else None

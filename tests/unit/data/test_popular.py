"""Guessing the most popular contents, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from fedradio.core.rng import Rng
from fedradio.data.growing import growing
from fedradio.data.popular import popular, popular_of
from fedradio.data.streams import Pooled
from fedradio.data.video import videos


def test_hand_computed_case() -> None:
    """Content 0 was requested twice, 1 once; two clients request 0, 1 and 1, 2."""
    found = popular(np.array([0, 0, 1]), np.array([[0, 1], [1, 2]]), 3)
    assert found.accuracy.tolist() == [0.25, 0.75, 1.0]
    assert found.over_slots.tolist() == [0.25, 0.25, 0.0]
    assert found.over_clients.tolist() == [0.25, 0.25, 0.0]


def test_spreads_are_told_apart() -> None:
    """One client always requests the most popular content, the other never: all of the spread is over clients."""
    found = popular(np.array([3, 3, 0]), np.array([[3, 3, 3], [0, 0, 0]]), 1)
    assert (found.accuracy[0], found.over_slots[0], found.over_clients[0]) == (0.5, 0.0, 0.5)


def test_one_guess_is_the_reference_of_the_stream() -> None:
    tapes = videos(5, Rng(1), requests=50, test_requests=30)
    stream = growing(tapes, Rng(2), history=20)
    for one in (stream, Pooled(stream, Rng(3))):
        found = popular_of(one, 4)
        assert found is not None
        assert found.accuracy[0] == pytest.approx(one.reference(one.start())["top_popular"])
        assert found.accuracy.tolist() == sorted(found.accuracy.tolist())
    unknown = growing(replace(tapes, reference={}), Rng(2), history=20)
    assert popular_of(unknown, 4) is None

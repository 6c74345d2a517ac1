"""Guessing the most popular contents, by hand."""

import numpy as np
import pytest

from fedradio.data.popular import popular, popular_of
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

FEW = ["data.source.test_requests=30", "data.source.requests=260"]


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


@pytest.mark.parametrize("spec", ["rawhfl/quick/z4", "rawhfl/quick/central"])
def test_one_guess_is_the_reference_of_the_stream(spec: str) -> None:
    stream = build(load_spec(spec, [*FEW, "rounds=1"])).stream
    found = popular_of(stream, 4)
    assert found is not None
    assert found.accuracy[0] == pytest.approx(stream.reference(stream.start())["top_popular"])
    assert found.accuracy.tolist() == sorted(found.accuracy.tolist())


def test_images_have_no_popular_contents() -> None:
    assert popular_of(build(load_spec("demo")).stream, 3) is None

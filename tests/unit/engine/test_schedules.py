"""Factors on the learning rate, by hand."""

import pytest

from fedradio.core.errors import SpecError
from fedradio.engine.schedules import constant, cosine, inverse, linear, step


def test_constant() -> None:
    assert [constant()(t, j) for t, j in ((0, 0), (9, 3))] == [1.0, 1.0]


def test_steps() -> None:
    drops = step(at=(2, 5), factor=0.5)
    assert [drops(t, 0) for t in range(7)] == [1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]
    for at in ((5, 2), (2, 2)):
        with pytest.raises(SpecError, match="increase"):
            step(at=at)


def test_linear() -> None:
    assert [linear(rounds=4)(t, 0) for t in (0, 1, 4, 9)] == [1.0, 0.75, 0.0, 0.0]
    assert linear(rounds=2, last=0.5)(1, 0) == 0.75


def test_cosine() -> None:
    """Half a period: 1, 1/2 in the middle, 0 at the end and after it."""
    assert [cosine(rounds=4)(t, 0) for t in (0, 2, 4, 9)] == pytest.approx([1.0, 0.5, 0.0, 0.0])
    assert cosine(rounds=4, last=0.2)(2, 0) == pytest.approx(0.6)


def test_inverse() -> None:
    assert [inverse(decay=0.5)(t, 9) for t in (0, 2)] == [1.0, 0.5]
    assert [inverse(decay=0.5, per="update")(9, j) for j in (0, 2)] == [1.0, 0.5]
    assert inverse(decay=0.0)(1000, 0) == 1.0

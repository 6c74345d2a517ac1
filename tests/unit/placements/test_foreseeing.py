"""Placement by predictions and counts, by hand."""

from __future__ import annotations

import pytest
from support.caches import view_of

from fedradio.placements.kinds import cell_popular, predicted


def test_expected_requests_of_the_cell() -> None:
    """Edge 0: .5 of a client that will ask for file 0, .25 of one for file 1; edge 1: its only client."""
    scores = predicted().scores(view_of())
    assert scores.flatten().tolist() == pytest.approx([0.5, 0.25, 0, 0.2, 0.2, 0.6])
    assert (predicted().needs, predicted().move_cost) == (frozenset({"model"}), 0.001)


def test_half_of_each() -> None:
    view = view_of()
    half = (predicted().scores(view) + cell_popular().scores(view)) / 2
    assert predicted(blend=0.5).scores(view).tolist() == half.tolist()
    assert predicted(blend=0).scores(view).tolist() == cell_popular().scores(view).tolist()
    windowed = view_of(recent=((1, 1), (2, 2)))
    assert predicted(blend=0, window=2).scores(windowed).tolist() == cell_popular(window=2).scores(windowed).tolist()
    assert (predicted(window=2).window, predicted().window) == (2, 0)

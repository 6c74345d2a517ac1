"""Placements by counts, by hand."""

from __future__ import annotations

import pytest
from support.caches import view_of

from fedradio.placements.kinds import cell_popular, popular


def test_shares_of_the_cell_times_its_requests_a_slot() -> None:
    """Edge 0 expects .75 requests a slot, 3 of 4 were for file 0; edge 1 has counted nothing."""
    assert cell_popular().scores(view_of()).tolist() == [[0.5625, 0.1875, 0], [0, 0, 0]]
    assert cell_popular().move_cost is None
    assert not cell_popular().needs


def test_shares_of_all_cells() -> None:
    view = view_of(counts=((3, 1, 0), (0, 0, 4)))
    assert popular().scores(view).tolist() == [[0.75 * 3 / 8, 0.75 / 8, 0.375], [3 / 8, 1 / 8, 0.5]]
    assert popular(name="all").name == "all"


def test_a_window_forgets() -> None:
    view = view_of(recent=((0, 0, 1, 1), (-1, -1, -1, 2)))
    assert cell_popular(window=2).scores(view).tolist() == [[0, 0.75, 0], [0, 0, 1]]
    assert cell_popular(window=4).scores(view).tolist() == [[0.375, 0.375, 0], [0, 0, 1]]
    assert (cell_popular(window=4).window, cell_popular().window) == (4, 0)
    assert popular(window=2).scores(view).tolist()[0] == pytest.approx([0, 0.5, 0.25])

"""What placements see, and the plain facts of a cache."""

from __future__ import annotations

import pytest
import torch
from support.caches import view_of

from fedradio.core.contracts import Cache
from fedradio.placements.kinds import cell_popular, lru, predicted


def test_demand_is_the_sum_over_a_cell() -> None:
    view = view_of()
    assert view.demand("model").flatten().tolist() == pytest.approx([0.5, 0.25, 0, 0.2, 0.2, 0.6])
    assert view.demand("law", torch.ones(3, dtype=torch.float64)).tolist() == [[0, 0, 2], [0, 1, 0]]
    assert view.edge_rate.tolist() == [0.75, 1.0]


def test_counts_of_a_window() -> None:
    view = view_of(recent=((-1, 2, 2), (0, 1, 2)))
    assert view.counted() is view.counts
    assert view.counted(3).tolist() == [[0, 0, 2], [1, 1, 1]]
    assert view.counted(1).tolist() == [[0, 0, 1], [0, 0, 1]]
    assert view.counted(99).tolist() == view.counted(3).tolist()


def test_shelves_sizes_and_reports() -> None:
    one = Cache((predicted(), lru()))
    assert list(one.shelves()) == [("predicted", 0, 8), ("lru", 1, 8)]
    two = Cache((lru(), cell_popular(window=7)), (4, 16), file_bits=torch.tensor([1.0, 2.0]))
    assert [label for label, _, _ in two.shelves()] == ["lru 4", "lru 16", "cell_popular 4", "cell_popular 16"]
    assert (one.window, two.window) == (0, 7)
    assert one.sizes(2).tolist() == [200e6, 200e6]
    assert two.sizes(2).tolist() == [1.0, 2.0]
    assert (one.one_size, two.one_size) == (200e6, None)
    assert one.report_bits(256) == 8192
    assert Cache((lru(),), sharing="top", top=3).report_bits(256) == 432

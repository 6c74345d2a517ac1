"""Topologies and views: who reports to whom."""

import torch

from fedradio.core.contracts import Clock, Topology, View
from fedradio.links.ideal import ideal


def three_tiers() -> Topology:
    """Three clients, two edges, one server."""
    places = tuple(torch.arange(2.0 * n).view(n, 2) for n in (3, 2, 1))
    return Topology((torch.tensor([0, 1, 1]), torch.tensor([0, 0])), places)


def test_tiers_are_counted() -> None:
    found = three_tiers()
    assert (found.hops, found.clients) == (2, 3)
    assert [found.senders(h) for h in (0, 1)] == [3, 2]
    assert [found.receivers(h) for h in (0, 1)] == [2, 1]


def test_flat_keeps_places_and_cells() -> None:
    """Everybody reports to the server, but belongs to the same cell as before."""
    found = three_tiers()
    flat = found.flat()
    assert (flat.hops, flat.receivers(0)) == (1, 1)
    assert flat.parents[0].tolist() == [0, 0, 0]
    assert flat.cells.tolist() == found.cells.tolist() == [0, 1, 1]
    assert torch.equal(flat.positions[0], found.positions[0])
    assert torch.equal(flat.positions[1], found.positions[2])


def test_a_view_counts_its_senders() -> None:
    view = View(Clock(0), torch.tensor([0, 1, 1]), 2, None, ideal(), None, None, None, None, {})
    assert view.senders == 3
    assert view.able is None

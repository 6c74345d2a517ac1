import math

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.network.clusters import clusters, without_edges

LAYOUTS = 60


def test_three_tiers_with_an_edge_in_the_middle_of_each_cluster() -> None:
    topology = clusters(Rng(1), clusters=3, clients_per_cluster=2)
    assert (topology.hops, topology.clients, topology.receivers(0), topology.receivers(1)) == (2, 6, 3, 1)
    assert topology.parents[0].tolist() == [0, 0, 1, 1, 2, 2]
    assert topology.parents[1].tolist() == [0, 0, 0]
    assert topology.positions[2].tolist() == [[0.0, 0.0]]


def test_every_layout_keeps_the_rules() -> None:
    for layout in range(LAYOUTS):
        topology = clusters(Rng(2), layout=layout)
        clients, edges, _ = topology.positions
        to_edge, to_server = (clients - edges[topology.parents[0]]).norm(dim=1), edges.norm(dim=1)
        assert bool(((to_edge >= 0.5 - 1e-12) & (to_edge <= 1.0 + 1e-12)).all())
        assert bool(((to_server >= 0.5 - 1e-12) & (to_server <= 3.0 + 1e-12)).all())
        assert float(torch.pdist(edges).min()) >= 2.0
        assert float(clients.norm(dim=1).min()) >= 0.5


def test_layouts_of_one_seed_differ_and_repeat() -> None:
    first, again, other = (clusters(Rng(3), layout=n).positions[0] for n in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_layouts_as_printed_are_the_first_drawn() -> None:
    """The rules keep 2.56 % of them: none of ten happens to follow both."""
    for layout in range(10):
        printed = clusters(Rng(1), layout=layout, layouts="as_printed")
        bare = clusters(Rng(1), layout=layout, min_edge_spacing=0.0, min_server_distance=0.0)
        assert torch.equal(printed.positions[0], bare.positions[0])
        clients, edges, _ = printed.positions
        assert float(torch.pdist(edges).min()) < 2.0 or float(clients.norm(dim=1).min()) < 0.5


def test_distances_and_angles_are_uniform_without_rules() -> None:
    """Four standard deviations of the mean of U(0.5, 3), of U(0.5, 1) and of the mean direction."""
    n = 4000
    topology = clusters(Rng(4), clusters=200, clients_per_cluster=20, min_edge_spacing=0.0, min_server_distance=0.0)
    around = topology.positions[0] - topology.positions[1][topology.parents[0]]
    distance = around.norm(dim=1)
    assert float(distance.mean()) == pytest.approx(0.75, abs=4 * 0.5 / math.sqrt(12 * n))
    assert float((distance < 0.6).double().mean()) == pytest.approx(0.2, abs=4 * 0.4 / math.sqrt(n))
    assert float((around / distance[:, None]).mean(dim=0).norm()) < 4 / math.sqrt(n)
    assert float(topology.positions[1].norm(dim=1).mean()) == pytest.approx(1.75, abs=4 * 2.5 / math.sqrt(12 * 200))


def _plain(rng: np.random.Generator) -> tuple[float, float]:
    """Rejection as the rule says it, one layout at a time: two clusters of three."""
    while True:
        edge = rng.uniform(0.5, 3, 2) * np.exp(2j * np.pi * rng.random(2))
        client = edge[:, None] + rng.uniform(0.5, 1, (2, 3)) * np.exp(2j * np.pi * rng.random((2, 3)))
        if abs(edge[0] - edge[1]) >= 2 and np.abs(client).min() >= 0.5:
            return float(np.abs(edge).min()), float(np.abs(client).min())


def test_rejection_draws_from_the_rules_own_distribution() -> None:
    """Edges near the server lose more of their layouts; redrawing their clients alone would keep too many of them."""
    rng, n, p_least = Rng(5).numpy(), 300, 0.001
    expected = np.array([_plain(rng) for _ in range(8 * n)])
    drawn = []
    for layout in range(n):
        clients, edges, _ = clusters(Rng(6), clusters=2, clients_per_cluster=3, layout=layout).positions
        drawn.append((float(edges.norm(dim=1).min()), float(clients.norm(dim=1).min())))
    for column in range(2):
        assert ks_2samp(expected[:, column], np.array(drawn)[:, column]).pvalue > p_least / 2
    kept = np.array([_redrawn(rng) for _ in range(8 * n)])
    assert ks_2samp(expected[:, 0], kept).pvalue < 1e-6


def _redrawn(rng: np.random.Generator) -> float:
    """The biased way: keep the edges, redraw clients until they fit."""
    while True:
        edge = rng.uniform(0.5, 3, 2) * np.exp(2j * np.pi * rng.random(2))
        if abs(edge[0] - edge[1]) >= 2:
            return float(np.abs(edge).min())


def test_impossible_layouts_are_refused() -> None:
    with pytest.raises(SpecError, match="20 edges within 3 of the server cannot all be 2 apart"):
        clusters(Rng(0), clusters=20)
    with pytest.raises(SpecError, match=r"no layout of 10 clusters .* in .* tries"):
        clusters(Rng(0), clusters=10)
    with pytest.raises(SpecError, match="no client can be farther than 4") as caught:
        clusters(Rng(0), edge_distance=(3.0, 0.5), client_distance=(1.0, 0.5), min_server_distance=5.0)
    assert len(caught.value.problems) == 3


def test_without_edges_clients_keep_places_and_cells() -> None:
    """Everybody reports to the server, but belongs to the same cell as before."""
    found = clusters(Rng(2), clients_per_cluster=3)
    flat = without_edges(found)
    assert (flat.hops, flat.receivers(0)) == (1, 1)
    assert flat.parents[0].tolist() == [0] * 12
    assert flat.cells.tolist() == found.cells.tolist() == [cell for cell in range(4) for _ in range(3)]
    assert torch.equal(flat.positions[0], found.positions[0])
    assert torch.equal(flat.positions[1], found.positions[2])

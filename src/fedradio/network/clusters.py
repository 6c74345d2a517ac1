"""Topology of random clusters around a server, in normalised units of length (W-HFL)."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from fedradio.core.contracts import Topology
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.network.topology import MOST_CLIENTS

Floats = NDArray[np.float64]
Span = tuple[float, float]
Layouts = Literal["spaced", "as_printed"]

BATCH, BATCHES = 2**14, 1000
"""Pairs of edges, or clients, that are drawn and tested together, and how often: a million layouts of four clusters."""


@register("topology", "clusters", paper="W-HFL, section V")
def clusters(
    rng: Rng,
    /,
    *,
    clusters: Annotated[int, Arg("clusters, one edge in the middle of each", ge=1, le=1000)] = 4,
    clients_per_cluster: Annotated[int, Arg("clients per cluster", ge=1, le=10_000)] = 5,
    edge_distance: Annotated[Span, Arg("smallest and largest distance of an edge from the server", ge=0, le=1e6)] = (
        0.5,
        3.0,
    ),
    client_distance: Annotated[Span, Arg("smallest and largest distance of a client from its edge", ge=0, le=1e6)] = (
        0.5,
        1.0,
    ),
    min_edge_spacing: Annotated[float, Arg("layouts with edges closer than this are rejected", ge=0, le=1e6)] = 2.0,
    min_server_distance: Annotated[
        float, Arg("layouts with a client closer to the server than this are rejected", ge=0, le=1e6)
    ] = 0.5,
    layouts: Annotated[
        Layouts, Arg("spaced: apply the two rejection rules above; as_printed: reject nothing, as in the paper")
    ] = "spaced",
    layout: Annotated[int, Arg("which of the layouts drawn from one seed to use", ge=0, le=2**31)] = 0,
    flat: Annotated[bool, Arg("no edges: the same clients send directly to the server, over one hop")] = False,
) -> Topology:
    """Three tiers in normalised units: clusters of clients around their edges, edges around the server.

    Distances and angles are uniform, so points are not uniform over the area. A layout with two edges closer than
    ``min_edge_spacing`` or a client closer to the server than ``min_server_distance`` is rejected as a whole: moving
    only the offending nodes would change the distribution. These two rules are ours. They accept 2.56 % of the layouts
    that the paper describes; ``layouts: as_printed`` takes the first one drawn.
    """
    if layouts == "as_printed":
        min_edge_spacing = min_server_distance = 0.0
    spans = {"edge_distance": edge_distance, "client_distance": client_distance}
    _check(clusters, clients_per_cluster, spans, min_edge_spacing, min_server_distance)
    rng = rng.child("layout", layout)
    for batch in range(BATCHES):
        edges = _apart(clusters, edge_distance, min_edge_spacing, rng.child("edges", batch))
        edges = edges[: max(1, BATCH // (clusters * clients_per_cluster))]
        offsets = _ring((len(edges), clusters, clients_per_cluster), client_distance, rng.child("clients", batch))
        clients = edges[:, :, None] + offsets  # [layouts, clusters, clients, 2]
        nearest = np.linalg.norm(clients, axis=-1).min(axis=(1, 2), initial=math.inf)
        valid = np.flatnonzero(nearest >= min_server_distance)
        if len(valid):
            topology = _topology(edges[valid[0]], clients[valid[0]])
            return without_edges(topology) if flat else topology
    raise SpecError(
        Problem(
            "topology.min_edge_spacing",
            f"no layout of {clusters} clusters within {edge_distance[1]:g} of the server keeps the edges "
            f"{min_edge_spacing:g} apart and the clients {min_server_distance:g} from the server in "
            f"{BATCHES * _layouts(clusters):,} tries",
            "lower min_edge_spacing or min_server_distance, or widen edge_distance",
            min_edge_spacing,
        )
    )


def without_edges(topology: Topology) -> Topology:
    """The same clients, of the same cells, sending straight to the server."""
    parent = torch.zeros(topology.clients, dtype=torch.long)
    return Topology((parent,), (topology.positions[0], topology.positions[-1]), topology.cells)


def _layouts(clusters: int) -> int:
    """Number of layouts drawn at a time, which bounds memory."""
    return max(1, BATCH // clusters**2)


def _apart(clusters: int, span: Span, spacing: float, rng: Rng) -> Floats:
    """Edges ``[layouts, clusters, 2]`` of the layouts of a batch, in the order drawn, that are ``spacing`` apart."""
    edges: Floats = _ring((_layouts(clusters), clusters), span, rng)
    if clusters == 1 or spacing == 0:
        return edges
    first, second = np.triu_indices(clusters, 1)
    apart: NDArray[np.bool_] = (np.linalg.norm(edges[:, first] - edges[:, second], axis=-1) >= spacing).all(axis=1)
    return edges[apart]


def _ring(shape: tuple[int, ...], span: Span, rng: Rng) -> Floats:
    """Points ``[*shape, 2]`` at uniform distances and angles from the origin."""
    u = rng.numpy().random((*shape, 2))
    r, angle = span[0] + (span[1] - span[0]) * u[..., 0], 2 * math.pi * u[..., 1]
    points: Floats = np.stack((r * np.cos(angle), r * np.sin(angle)), axis=-1)
    return points


def _topology(edges: Floats, clients: Floats) -> Topology:
    cell = torch.arange(clients.shape[0] * clients.shape[1]) // clients.shape[1]
    positions = (torch.from_numpy(clients.reshape(-1, 2)), torch.from_numpy(edges.copy()), torch.zeros(1, 2).double())
    return Topology((cell, torch.zeros(len(edges), dtype=torch.long)), positions)


def _check(clusters: int, each: int, spans: dict[str, Span], spacing: float, server: float) -> None:
    """Refuse settings that no draw can satisfy."""
    problems = []
    if clusters * each > MOST_CLIENTS:
        reason = f"more than {MOST_CLIENTS} clients in total"
        problems.append(Problem("topology.clients_per_cluster", reason, value=clusters * each))
    for name, (low, high) in spans.items():
        if low > high:
            problems.append(
                Problem(f"topology.{name}", "the smaller distance comes first", "swap the two values", (low, high))
            )
    farthest = max(spans["edge_distance"])
    # disjoint discs of radius s/2 around n edges fit into one of radius r + s/2: n (s/2)^2 <= (r + s/2)^2
    if (math.sqrt(clusters) - 1) * spacing > 2 * farthest:
        reason = f"{clusters} edges within {farthest:g} of the server cannot all be {spacing:g} apart"
        problems.append(
            Problem("topology.min_edge_spacing", reason, "use fewer clusters or a smaller spacing", spacing)
        )
    reach = farthest + max(spans["client_distance"])
    if server > reach:
        reason = f"no client can be farther than {reach:g} from the server"
        problems.append(Problem("topology.min_server_distance", reason, f"at most {reach:g}", server))
    if problems:
        raise SpecError(problems)

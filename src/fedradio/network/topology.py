"""Topologies of two and three tiers: positions of the nodes, and each sender's receiver."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Literal

import torch

from fedradio.core.contracts import Topology
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.network.placement import disc, square, square_grid

MOST_CLIENTS = 100_000

Area = Literal["disc", "square"]


@register("topology", "flat")
def flat(
    rng: Rng,
    /,
    *,
    clients: Annotated[int, Arg("number of clients", ge=1, le=MOST_CLIENTS)] = 20,
    radius_m: Annotated[
        float, Arg("radius of the disc, or half the diagonal of the square", unit="m", gt=0, le=1e6)
    ] = 400.0,
    min_distance_m: Annotated[float, Arg("smallest distance of a client from the server", unit="m", ge=0)] = 10.0,
    area: Annotated[
        Area, Arg("area over which clients are uniformly distributed; radius_m reaches its farthest points")
    ] = "disc",
    via: Annotated[
        int | None,
        Arg(
            "cells whose base stations forward every payload to the server; null: clients send directly to it",
            ge=1,
            le=10_000,
        ),
    ] = None,
) -> Topology:
    """Two tiers: every client reports directly to the server at the centre of a disc or square.

    With ``via`` cells, clients are placed as in ``hierarchical`` (the same positions for the same seed) and there are
    two hops: access to the base station of the cell, and a backhaul that forwards every payload received there.
    """
    _check_ring(radius_m, min_distance_m)
    if via is not None:
        return _relayed(rng, clients, via, radius_m, min_distance_m, area)
    if area == "square":
        _check_hole(radius_m, min_distance_m)
    clients_m = {"disc": disc, "square": square}[area](clients, radius_m, min_distance_m, rng.child("clients"))
    positions = (clients_m, torch.zeros(1, 2, dtype=torch.float64))
    return Topology((torch.zeros(clients, dtype=torch.long),), positions)


@register("topology", "hierarchical")
def hierarchical(
    rng: Rng,
    /,
    *,
    edges: Annotated[int, Arg("edge servers, one at the centre of each cell", ge=1, le=10_000)] = 4,
    clients_per_edge: Annotated[int, Arg("clients per cell", ge=1, le=10_000)] = 5,
    radius_m: Annotated[float, Arg("radius of a cell", unit="m", gt=0, le=1e6)] = 400.0,
    min_distance_m: Annotated[float, Arg("smallest distance of a client from its edge", unit="m", ge=0)] = 10.0,
) -> Topology:
    """Three tiers: clients report to the edge of their cell, edges to the server.

    Cells are discs on a square grid that touch without overlapping; the server is at the centre of the grid.
    """
    _check_ring(radius_m, min_distance_m)
    clients = edges * clients_per_edge
    if clients > MOST_CLIENTS:
        raise SpecError(
            Problem("topology.clients_per_edge", f"more than {MOST_CLIENTS} clients in total", value=clients)
        )
    return _cells(rng, edges, clients_per_edge, radius_m, min_distance_m)


def _cells(rng: Rng, edges: int, each: int, radius_m: float, min_distance_m: float) -> Topology:
    """Discs on a square grid with ``each`` clients around every mast."""
    cell = torch.arange(edges * each) // each
    centre = square_grid(edges, 2 * radius_m)
    offsets = disc(edges * each, radius_m, min_distance_m, rng.child("clients"))
    positions = (centre[cell] + offsets, centre, torch.zeros(1, 2, dtype=torch.float64))
    return Topology((cell, torch.zeros(edges, dtype=torch.long)), positions)


def _relayed(rng: Rng, clients: int, via: int, radius_m: float, min_distance_m: float, area: Area) -> Topology:
    """A flat network whose clients reach the server through the masts of ``via`` cells of equal size."""
    problems = []
    if clients % via:
        problems.append(
            Problem("topology.via", f"{clients} clients cannot be divided into cells of equal size", value=via)
        )
    if area != "disc":
        problems.append(Problem("topology.area", "cells are discs", "area: disc, or via: null", area))
    if problems:
        raise SpecError(problems)
    return replace(_cells(rng, via, clients // via, radius_m, min_distance_m), forwards=True)


def _check_ring(radius_m: float, min_distance_m: float) -> None:
    if min_distance_m >= radius_m:
        reason = f"must be smaller than radius_m = {radius_m:g}"
        raise SpecError(Problem("topology.min_distance_m", reason, "lower it or widen the disc", min_distance_m))


def _check_hole(radius_m: float, min_distance_m: float) -> None:
    most = radius_m / math.sqrt(2)
    if min_distance_m > most:
        reason = f"reaches beyond the sides of the square, which are {most:g} m away"
        raise SpecError(Problem("topology.min_distance_m", reason, "lower it or widen the square", min_distance_m))

"""Map of a network in one planned edge round (matplotlib)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from fedradio.core.contracts import Topology
from fedradio.report.figures.axes import COLUMN_IN

PLACES = {"selected": ("#009E73", "o"), "eligible": ("#0072B2", "o"), "out": ("#D55E00", "x")}
"""Colour and marker of a client by its role in the edge round."""


def network_map(topology: Topology, places: Sequence[str], unit: str) -> Figure:
    """Map of edges, server, and clients by their role in an edge round (``selected``, ``eligible``, ``out``)."""
    figure = Figure(figsize=(COLUMN_IN * 1.4, COLUMN_IN * 1.4), layout="constrained")
    axes = figure.subplots()
    clients, edges = topology.positions[0], topology.positions[1]
    for client, edge in zip(clients.tolist(), edges[topology.parents[0]].tolist(), strict=True):
        axes.plot(*zip(client, edge, strict=True), color="0.85", linewidth=0.6, zorder=1)
    for place, (colour, marker) in PLACES.items():
        chosen = clients[[name == place for name in places]]
        x, y = chosen.T.tolist()
        axes.scatter(x, y, s=22, color=colour, marker=marker, label=f"{place} ({len(chosen)})", zorder=2)
    x, y = edges.T.tolist()
    flat = topology.hops == 1
    axes.scatter(x, y, s=60, color="black", marker="s" if flat else "^", label="server" if flat else "edge", zorder=3)
    if not flat:
        x, y = topology.positions[-1].T.tolist()
        axes.scatter(x, y, s=60, color="black", marker="s", label="server", zorder=3)
    axes.set_aspect("equal")
    axes.set_xlabel(f"x ({unit})")
    axes.set_ylabel(f"y ({unit})")
    axes.legend(
        frameon=False,
        fontsize=7,
        ncols=5,
        columnspacing=1.0,
        handletextpad=0.2,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
    )
    return figure

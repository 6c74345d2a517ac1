"""Map of a network: clients, edges and server, with participation, joules and accuracy of every client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedradio.core.units import show, show_percent
from fedradio.report.charts.chart import Absent, Axis, Chart, Plot, Points, Wires
from fedradio.report.style import DASH_DOT, SOLID
from fedradio.report.table import LazyRows, Table
from fedradio.results.run import Floats

WIDE = 100.0
"""Ratio of the largest to the smallest joules above which colours are logarithmic."""


@dataclass(frozen=True)
class ClientNumbers:
    """What is known of every client: ``shares [C]`` of edge rounds in which its payload arrived, ``joules [C]`` and
    ``accuracies [C]`` (NaN: no test samples) if defined."""

    shares: Floats
    joules: Floats | None = None
    accuracies: Floats | None = None


def network(nodes: Mapping[str, Any], clients: ClientNumbers, edge_rounds: int, unit: str = "m") -> Chart | Absent:
    """The map, one view for each of the numbers; ``nodes`` are the ``positions`` per tier and ``parents`` per hop."""
    name, title = "network", "Map"
    why = _missing(nodes, len(clients.shares), edge_rounds)
    if why:
        return Absent(name, title, why)
    x, y = Axis("x", unit), Axis("y", unit)
    places, *tiers = [np.array(tier, dtype=np.float64) for tier in nodes["positions"]]
    wires, stations = _wires([places, *tiers], nodes["parents"]), _stations(tiers)
    texts = [_text(client, nodes, clients) for client in range(len(places))]
    joules = clients.joules if clients.joules is not None and clients.joules.max() > 0 else None
    sizes = None if joules is None else joules / joules.max()
    keys = None if joules is None else {share: f"used {show(share * float(joules.max()), 'J')}" for share in (0.25, 1)}
    plots = {}
    for view, (label, values, scale) in _views(clients).items():
        points = Points("clients", places, "o", texts, values, scale, sizes, keys)
        plots[view] = Plot(x, y, [*wires, points, *stations], label, equal=True)
    numbers = _numbers(nodes, clients)
    return Chart(name, title, _says(nodes, clients, edge_rounds), plots, numbers, "Colour clients by", 580)


def _missing(nodes: Mapping[str, Any], clients: int, edge_rounds: int) -> str:
    """The reason why there is no map; empty if there is one."""
    if not nodes.get("positions"):
        return "network.json, which has the positions of the nodes, is damaged"
    if not edge_rounds:
        return "no edge round is on record"
    if clients == 1:
        return "there is only one client"
    if len(nodes["positions"][0]) != clients:
        return "the positions in network.json do not match the clients on record"
    return ""


def _views(clients: ClientNumbers) -> dict[str, tuple[str, Floats, Axis]]:
    """Of every view its label, the values that the colours show, and their scale."""
    share = Axis("Edge rounds in which the client arrived", "%", low=0)
    views = {"": ("participation", 100 * clients.shares, share)}
    if clients.joules is not None:
        positive = clients.joules[clients.joules > 0]
        wide = len(positive) > 0 and bool(positive.max() >= WIDE * positive.min())
        joules = np.where(clients.joules > 0, clients.joules, np.nan) if wide else clients.joules
        views["joules"] = "energy", joules, Axis("Energy", "J", log=wide)
    if clients.accuracies is not None:
        views["accuracy"] = "accuracy", 100 * clients.accuracies, Axis("Accuracy", "%")
    return views


def _wires(tiers: Sequence[Floats], parents: Sequence[Sequence[int]]) -> list[Wires]:
    """Lines from every sender to its receiver, one layer per hop."""
    looks = [("@grid", SOLID), *[("@soft", DASH_DOT)] * (len(tiers) - 2)]
    return [
        Wires(senders, receivers[np.array(parent)], colour, dash)
        for senders, receivers, parent, (colour, dash) in zip(tiers[:-1], tiers[1:], parents, looks, strict=True)
    ]


def _stations(tiers: Sequence[Floats]) -> list[Points]:
    """Edges, further tiers and the server."""
    stations = []
    for number, places in enumerate(tiers, 1):
        name = "server" if number == len(tiers) else "edge" if len(tiers) == 2 else f"tier {number}"
        texts = [name] if number == len(tiers) else [f"{name} {place}" for place in range(len(places))]
        stations.append(Points(name, places, "s" if number == len(tiers) else "^", texts))
    return stations


def _text(client: int, nodes: Mapping[str, Any], clients: ClientNumbers) -> str:
    edge = f", edge {nodes['parents'][0][client]}" if len(nodes["positions"]) > 2 else ""
    lines = [f"client {client}{edge}", f"took part in {show_percent(float(clients.shares[client]), 0)}"]
    if clients.joules is not None:
        lines.append(show(float(clients.joules[client]), "J"))
    if clients.accuracies is not None and not np.isnan(clients.accuracies[client]):
        lines.append(f"accuracy {show_percent(float(clients.accuracies[client]), 1)}")
    return "\n".join(lines)


def _says(nodes: Mapping[str, Any], clients: ClientNumbers, edge_rounds: int) -> str:
    """Number of clients, who took part most and least, who spent most."""
    shares, joules = clients.shares, clients.joules
    edges = f" in {len(nodes['positions'][1])} cells" if len(nodes["positions"]) > 2 else ""
    most, least = int(shares.argmax()), int(shares.argmin())
    text = f"{len(shares):,} clients{edges}. Over {edge_rounds:,} edge rounds, "
    if shares[most] == shares[least]:
        part = "all" if shares[0] == 1 else show_percent(float(shares[0]), 0)
        text += f"every client took part in {part} of them."
    else:
        text += f"client {most} took part most often ({show_percent(float(shares[most]), 0)}), client {least} least "
        text += f"({show_percent(float(shares[least]), 0)}); the median is {show_percent(float(np.median(shares)), 0)}."
    if joules is not None and joules.max() > 0:
        text += f" Larger markers used more energy; client {int(joules.argmax())} used the most, "
        text += f"{show(float(joules.max()), 'J')}."
    return text


def _numbers(nodes: Mapping[str, Any], clients: ClientNumbers) -> Table:
    """The table of clients."""
    head = ["client", "edge" if len(nodes["positions"]) > 2 else "receiver", "took part"]
    head += ["energy"] * (clients.joules is not None) + ["accuracy"] * (clients.accuracies is not None)

    def row(client: int) -> list[str | None]:
        cells: list[str | None] = [str(client), str(nodes["parents"][0][client])]
        cells.append(show_percent(float(clients.shares[client]), 1))
        if clients.joules is not None:
            cells.append(show(float(clients.joules[client]), "J"))
        if clients.accuracies is not None:
            value = float(clients.accuracies[client])
            cells.append(None if np.isnan(value) else show_percent(value))
        return cells

    return Table("Clients", head, LazyRows(len(clients.shares), row), "clients")

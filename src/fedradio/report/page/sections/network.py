"""Map of a run's network: clients, edges and server, with participation, joules and accuracy of every client."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedradio.report.charts.chart import thinned
from fedradio.report.lengths import length_unit
from fedradio.report.page.chart import (
    Chart,
    ChartView,
    Layout,
    MadeRows,
    Trace,
    axis,
    figure,
    numbers_table,
    plain,
    switch,
)
from fedradio.report.page.html import Html, paragraph, section
from fedradio.report.page.numbers import percent, quantity
from fedradio.report.page.run_data import RunData
from fedradio.results.client_states import Ints
from fedradio.results.run import Floats

SCALE = [[0, "#2a1a5e"], [0.25, "#3b528b"], [0.5, "#21918c"], [0.75, "#5ec962"], [1, "#fde725"]]
"""Colour scale from low (dark) to high (bright), perceptually uniform for colour-blind readers too."""

MOST = 1000
"""Most clients on the map."""

WIDE = 100.0
"""Ratio of the largest to the smallest joules above which colours are logarithmic."""


@dataclass(frozen=True)
class Shown:
    """Clients on the map ``ids [n]``: all, or some of very many; of these the ``places [n, 2]``, receivers ``parent
    [n]``, shares of edge rounds in which they arrived, joules and accuracies (NaN: no samples), and what is shown under
    the mouse."""

    ids: Ints
    places: Floats
    parent: Ints
    shares: Floats
    joules: Floats | None
    accuracies: Floats | None
    hover: list[str]


def shown_clients(data: RunData, shares: Floats, joules: Floats | None, accuracies: Floats | None) -> Shown:
    """The clients that are drawn, evenly spread if there are more than :data:`MOST`."""
    ids = thinned(data.clients, MOST)
    some = Shown(
        ids=ids,
        places=np.array(data.run.network["positions"][0], dtype=np.float64)[ids],
        parent=np.array(data.run.network["parents"][0], dtype=np.int64)[ids],
        shares=shares[ids],
        joules=None if joules is None else joules[ids],
        accuracies=None if accuracies is None else accuracies[ids],
        hover=[],
    )
    return replace(some, hover=[_hover(some, place, _tiers(data) > 2) for place in range(len(ids))])


def network(data: RunData) -> Html:
    """The section of the map, with a switch for what the colours mean."""
    why = _missing(data)
    if why:
        return section("network", "Network", paragraph(why, class_="absent"))
    shares, joules, known = data.states.shares(), data.client_joules(), data.client_accuracies()
    accuracies = None if known is None else np.array(known, dtype=np.float64)
    shown = shown_clients(data, shares, joules, accuracies)
    views = {"share": _view(data, shown, 100 * shown.shares, "took part [%]")}
    options = {"share": "participation"}
    if shown.joules is not None:
        views["joules"] = _joules_view(data, shown, shown.joules)
        options["joules"] = "energy"
    if shown.accuracies is not None:
        views["accuracy"] = _view(data, shown, 100 * shown.accuracies, "accuracy [%]")
        options["accuracy"] = "accuracy"
    says = _sentence(data, shares, joules)
    if len(shown.ids) < data.clients:
        says += f" The map shows {len(shown.ids):,} of them, evenly spaced."
    chart = Chart("map-chart", "Map", says, views, _numbers(data, shares, joules, accuracies), height=580)
    return section(
        "network", "Network", switch("map-colour", "Colour clients by", options, [chart.identity]), figure(chart)
    )


def _missing(data: RunData) -> str:
    """The reason why there is no map; empty if there is one."""
    places = data.run.network.get("positions")
    if not places:
        return "The run folder has no network.json with the positions of the nodes, because an earlier version made it."
    if not data.edge_rounds:
        return "No edge round is on record, so there is nothing to show about the clients."
    if data.clients == 1:
        return "There is only one client, so there is no map to draw."
    if len(places[0]) != data.clients:
        return "The positions in network.json do not match the clients on record."
    return ""


def _sentence(data: RunData, shares: Floats, joules: Floats | None) -> str:
    """What the map shows: number of clients, who took part most and least, who spent most."""
    places = data.run.network["positions"]
    edges = f" in {len(places[1])} cells" if len(places) > 2 else ""
    most, least = int(shares.argmax()), int(shares.argmin())
    text = f"{data.clients:,} clients{edges}. Over {data.edge_rounds:,} edge rounds, "
    if shares[most] == shares[least]:
        text += (
            "every client took part in all of them."
            if shares[0] == 1
            else f"each client took part in {percent(float(shares[0]), 0)} of them."
        )
    else:
        text += f"client {most} took part most often ({percent(float(shares[most]), 0)}), client {least} least "
        text += f"({percent(float(shares[least]), 0)}); the median is {percent(float(np.median(shares)), 0)}."
    if joules is not None and joules.max() > 0:
        text += f" Client {int(joules.argmax())} used the most energy, {quantity(float(joules.max()), 'J')}."
    return text


def _view(data: RunData, shown: Shown, values: Floats, title: str, **bar: Any) -> ChartView:
    """The map with clients coloured and sized by some values."""
    clients = _clients(shown, values, title, bar)
    layout = _layout(data, clients["marker"]["showscale"])
    return ChartView([*_lines(data, shown), clients, *_receivers(data)], layout)


def _joules_view(data: RunData, shown: Shown, joules: Floats) -> ChartView:
    """The map with clients coloured by their joules."""
    positive = joules[joules > 0]
    if not len(positive) or positive.max() < WIDE * positive.min():
        return _view(data, shown, joules, "energy [J]")
    logs = np.log10(np.where(joules > 0, joules, math.nan))
    decades = range(math.floor(np.nanmin(logs)), math.ceil(np.nanmax(logs)) + 1)
    ticks = {"tickvals": list(decades), "ticktext": [f"{10.0**decade:g}" for decade in decades]}
    return _view(data, shown, logs, "energy [J]", **ticks)


def _clients(shown: Shown, values: Floats, title: str, bar: dict[str, Any]) -> Trace:
    """The clients as markers."""
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    share = np.nan_to_num((values - low) / ((high - low) or 1.0), nan=0.0)
    largest = 15 if len(values) <= 200 else 9
    x, y = _xy(shown.places)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "clients",
        "x": x,
        "y": y,
        "text": shown.hover,
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "color": plain(values),
            "showscale": high > low,
            "colorscale": SCALE,
            "cmin": low if high > low else low - 0.5,
            "cmax": high if high > low else high + 0.5,
            "size": plain(largest * (0.55 + 0.45 * share), 2),
            "line": {"color": "@ink", "width": 1},
            "colorbar": {
                "title": {"text": title, "side": "top"},
                "orientation": "h",
                "thickness": 12,
                "len": 0.8,
                "y": -0.14,
            }
            | {"yanchor": "top", "outlinewidth": 0}
            | bar,
        },
    }


def _hover(shown: Shown, place: int, cells: bool) -> str:
    """The hover text of a client."""
    lines = [f"client {shown.ids[place]}" + (f", edge {shown.parent[place]}" if cells else "")]
    lines.append(f"took part in {100 * float(shown.shares[place]):.0f} %")
    if shown.joules is not None:
        lines.append(quantity(float(shown.joules[place]), "J"))
    if shown.accuracies is not None and not math.isnan(shown.accuracies[place]):
        lines.append(f"accuracy {percent(float(shown.accuracies[place]), 1)}")
    return "<br>".join(lines)


def _tiers(data: RunData) -> int:
    return len(data.run.network["positions"])


def _lines(data: RunData, shown: Shown) -> list[Trace]:
    """Lines from every sender to its receiver on every hop, for the clients that are shown."""
    tiers = [np.array(places, dtype=np.float64) for places in data.run.network["positions"][1:]]
    traces = []
    for hop, receivers in enumerate(tiers):
        senders = shown.places if hop == 0 else tiers[hop - 1]
        parent = shown.parent if hop == 0 else np.array(data.run.network["parents"][hop], dtype=np.int64)
        ends = np.stack([senders, receivers[parent], np.full_like(senders, math.nan)], axis=1)  # [S, 3, 2]
        x, y = _xy(ends.reshape(-1, 2))
        look = {"color": "@grid" if hop == 0 else "@soft", "width": 1, "dash": "solid" if hop == 0 else "dot"}
        traces.append(
            {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": look}
            | {"hoverinfo": "skip", "showlegend": False}
        )
    return traces


def _receivers(data: RunData) -> list[Trace]:
    """Edges and server as markers."""
    tiers = data.run.network["positions"][1:]
    traces = []
    for number, places in enumerate(tiers, 1):
        last = number == len(tiers)
        x, y = _xy(places)
        name = "server" if last else "edges" if len(tiers) == 2 else f"tier {number}"
        names = (
            ["server"] if last else [f"{'edge' if len(tiers) == 2 else name} {place}" for place in range(len(places))]
        )
        traces.append(
            {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "text": names}
            | {"hovertemplate": "%{text}<extra></extra>"}
            | {
                "marker": {
                    "color": "@ink",
                    "size": 13,
                    "symbol": "square" if last else "triangle-up",
                    "line": {"color": "@paper", "width": 1.5},
                }
            }
        )
    return traces


def _layout(data: RunData, bar: bool) -> Layout:
    unit = length_unit(data.run.spec)
    return {
        "margin": {
            "l": 70,
            "b": 120 if bar else 50,
        },  # of its own: plotly's search for margins does not end with equal axes
        "xaxis": axis(f"x [{unit}]", constrain="domain", automargin=False),
        "yaxis": axis(f"y [{unit}]", scaleanchor="x", constrain="domain", automargin=False),
        "showlegend": True,
    }


def _xy(places: Sequence[Sequence[float]] | Floats) -> tuple[list[float], list[float]]:
    x, y = np.array(places, dtype=np.float64).T
    return plain(x), plain(y)


def _numbers(data: RunData, shares: Floats, joules: Floats | None, accuracies: Floats | None) -> Html:
    """The table of clients."""
    head = ["client", "edge" if _tiers(data) > 2 else "receiver", "took part"]
    head += ["energy"] * (joules is not None) + ["accuracy"] * (accuracies is not None)

    def row(client: int) -> list[str]:
        cells = [str(client), str(data.run.network["parents"][0][client]), percent(float(shares[client]), 1)]
        cells += [] if joules is None else [quantity(float(joules[client]), "J")]
        known = accuracies is not None and not math.isnan(accuracies[client])
        return cells + ([] if accuracies is None else [percent(float(accuracies[client]) if known else None)])

    return numbers_table("Clients", head, MadeRows(data.clients, row), "clients")

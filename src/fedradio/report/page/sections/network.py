"""Map of a run's network: clients, edges and server, with participation, joules and accuracy of every client."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fedradio.report.page.chart import Chart, ChartView, Layout, Trace, axis, figure, numbers_table, plain, switch
from fedradio.report.page.html import UNDEFINED, Html, paragraph, section
from fedradio.report.page.numbers import percent, quantity
from fedradio.report.page.run_data import RunData
from fedradio.results.run import Floats

SCALE = [[0, "#2a1a5e"], [0.25, "#3b528b"], [0.5, "#21918c"], [0.75, "#5ec962"], [1, "#fde725"]]
"""Colour scale from little (dark) to much (bright), with even steps for colour-blind readers too."""

WIDE = 100.0
"""Ratio of the largest to the smallest joules above which colours are logarithmic."""


def network(data: RunData) -> Html:
    """The section of the map, with a switch of what colours the clients."""
    why = _missing(data)
    if why:
        return section("network", "Network", paragraph(why, class_="absent"))
    shares, joules, accuracies = data.shares(), data.client_joules(), data.client_accuracies()
    views = {"share": _view(data, 100 * shares, "took part [%]")}
    options = {"share": "participation"}
    if joules is not None:
        views["joules"] = _joules_view(data, joules)
        options["joules"] = "energy"
    if accuracies is not None:
        known = np.array([math.nan if value is None else 100 * value for value in accuracies])
        views["accuracy"] = _view(data, known, "accuracy [%]")
        options["accuracy"] = "accuracy"
    chart = Chart(
        "map-chart",
        "Map",
        _sentence(data, shares, joules),
        views,
        _numbers(data, shares, joules, accuracies),
        height=580,
    )
    return section(
        "network", "Network", switch("map-colour", "Colour clients by", options, [chart.identity]), figure(chart)
    )


def _missing(data: RunData) -> str:
    """Why there is no map; empty if there is one."""
    places = data.run.network.get("positions")
    if not places:
        return "The run folder has no network.json with the places of the nodes: an earlier version made it."
    if not data.edge_rounds:
        return "No edge round is on record, so that there is nothing to show of the clients."
    if data.clients == 1:
        return "There is a single client: nothing to draw a map of."
    if len(places[0]) != data.clients:
        return "The places in network.json are not those of the clients on record."
    return ""


def _sentence(data: RunData, shares: Floats, joules: Floats | None) -> str:
    """What the map shows: number of clients, who took part most and least, who spent most."""
    places = data.run.network["positions"]
    edges = f" in {len(places[1])} cells" if len(places) > 2 else ""
    most, least = int(shares.argmax()), int(shares.argmin())
    text = f"{data.clients:,} clients{edges}. In {data.edge_rounds:,} edge rounds "
    if shares[most] == shares[least]:
        text += "everyone took part in all." if shares[0] == 1 else f"each took part in {percent(float(shares[0]), 0)}."
    else:
        text += f"client {most} took part most often ({percent(float(shares[most]), 0)}), client {least} least "
        text += f"({percent(float(shares[least]), 0)}); the median is {percent(float(np.median(shares)), 0)}."
    if joules is not None and joules.max() > 0:
        text += f" Client {int(joules.argmax())} spent most energy, {quantity(float(joules.max()), 'J')}."
    return text


def _view(data: RunData, values: Floats, title: str, **bar: Any) -> ChartView:
    """The map with clients coloured and sized by some values."""
    clients = _clients(data, values, title, bar)
    layout = _layout(data, clients["marker"]["showscale"])
    return ChartView([*_lines(data), clients, *_receivers(data)], layout)


def _joules_view(data: RunData, joules: Floats) -> ChartView:
    """The map with clients coloured by their joules."""
    positive = joules[joules > 0]
    if not len(positive) or positive.max() < WIDE * positive.min():
        return _view(data, joules, "energy [J]")
    logs = np.log10(np.where(joules > 0, joules, math.nan))
    decades = range(math.floor(np.nanmin(logs)), math.ceil(np.nanmax(logs)) + 1)
    ticks = {"tickvals": list(decades), "ticktext": [f"{10.0**decade:g}" for decade in decades]}
    return _view(data, logs, "energy [J]", **ticks)


def _clients(data: RunData, values: Floats, title: str, bar: dict[str, Any]) -> Trace:
    """The clients as markers."""
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    share = np.nan_to_num((values - low) / ((high - low) or 1.0), nan=0.0)
    largest = 15 if data.clients <= 200 else 9
    x, y = _xy(data.run.network["positions"][0])
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "clients",
        "x": x,
        "y": y,
        "text": _hover(data),
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


def _hover(data: RunData) -> list[str]:
    """What is shown of a client under the mouse."""
    shares, joules, accuracies = data.shares(), data.client_joules(), data.client_accuracies()
    texts = []
    for client, edge in enumerate(data.run.network["parents"][0]):
        lines = [f"client {client}" + (f", edge {edge}" if _tiers(data) > 2 else "")]
        lines.append(f"took part in {100 * shares[client]:.0f} %")
        if joules is not None:
            lines.append(quantity(float(joules[client]), "J"))
        if accuracies is not None and (accuracy := accuracies[client]) is not None:
            lines.append(f"accuracy {percent(accuracy, 1)}")
        texts.append("<br>".join(lines))
    return texts


def _tiers(data: RunData) -> int:
    return len(data.run.network["positions"])


def _lines(data: RunData) -> list[Trace]:
    """Lines from every sender to its receiver, on every hop."""
    places, parents = data.run.network["positions"], data.run.network["parents"]
    traces = []
    for hop, parent in enumerate(parents):
        ends = [(places[hop][sender], places[hop + 1][receiver]) for sender, receiver in enumerate(parent)]
        x = [value for start, end in ends for value in (start[0], end[0], None)]
        y = [value for start, end in ends for value in (start[1], end[1], None)]
        look = {"color": "@grid" if hop == 0 else "@soft", "width": 1, "dash": "solid" if hop == 0 else "dot"}
        traces.append(
            {"type": "scatter", "mode": "lines", "x": plain(x), "y": plain(y), "line": look}
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
    normalised = data.run.spec.plain["topology"]["kind"] == "clusters"
    unit = "normalised" if normalised else "m"
    return {
        "margin": {
            "l": 70,
            "b": 120 if bar else 50,
        },  # of its own: plotly's search for margins does not end with equal axes
        "xaxis": axis(f"x [{unit}]", constrain="domain", automargin=False),
        "yaxis": axis(f"y [{unit}]", scaleanchor="x", constrain="domain", automargin=False),
        "showlegend": True,
    }


def _xy(places: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    return plain([place[0] for place in places]), plain([place[1] for place in places])


def _numbers(data: RunData, shares: Floats, joules: Floats | None, accuracies: list[float | None] | None) -> Html:
    """The table of clients."""
    head = ["client", "edge" if _tiers(data) > 2 else "receiver", "took part"]
    head += ["energy"] * (joules is not None) + ["accuracy"] * (accuracies is not None)
    rows = []
    for client, parent in enumerate(data.run.network["parents"][0]):
        row = [str(client), str(parent), percent(float(shares[client]), 1)]
        row += [] if joules is None else [quantity(float(joules[client]), "J")]
        row += [] if accuracies is None else [UNDEFINED if accuracies[client] is None else percent(accuracies[client])]
        rows.append(row)
    return numbers_table("Clients", head, rows, "clients")

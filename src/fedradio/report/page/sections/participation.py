"""Who took part when, and why the others did not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts import Reason
from fedradio.report.page.chart import (
    Chart,
    ChartView,
    Trace,
    axis,
    figure,
    legend,
    numbers_table,
    plain,
    thinned,
    whole,
)
from fedradio.report.page.html import Html, paragraph, section
from fedradio.report.page.numbers import count, percent
from fedradio.report.page.run_data import RunData
from fedradio.results.run import Participation

MOST = 400
"""Most clients, and most edge rounds, of the heat map."""

BINS = 200
"""Most bars of the chart of reasons."""

ARRIVED = "arrived"

OUT = {
    Reason.NOT_SELECTED: ("not selected", "@faint"),
    Reason.ENERGY: ("energy", "@yellow"),
    Reason.DEADLINE: ("deadline", "@orange"),
    Reason.OUTAGE: ("outage", "@red"),
    Reason.NO_DATA: ("no data", "@purple"),
    Reason.NO_NEWS: ("no news", "@sky"),
}
"""Label and colour of every reason why a client was not selected."""

LOST = {
    Reason.DEADLINE: ("selected, but late", "@orange"),
    Reason.OUTAGE: ("selected, but lost on the link", "@red"),
}
"""Label and colour of every reason why a selected client did not arrive."""


def states(participation: Participation) -> tuple[NDArray[np.int64], dict[str, str]]:
    """The state of every client in every edge round ``[E, C]``, as indices into ``label -> colour`` of the states."""
    state = np.full(participation.active.shape, -1, dtype=np.int64)
    colours = {ARRIVED: "@blue"}
    state[participation.arrived] = 0
    for lost in (True, False):
        mask = ~participation.arrived & (participation.active == lost)
        for reason in Reason:
            matches = mask & (participation.reason == reason)
            if matches.any():
                name, colour = _look(reason, lost)
                colours.setdefault(name, colour)
                state[matches] = list(colours).index(name)
    return state, colours


def _look(reason: Reason, lost: bool) -> tuple[str, str]:
    """Label and colour of a state."""
    if lost:
        return LOST.get(reason, ("selected, but not arrived", "@purple"))
    return OUT.get(reason, OUT[Reason.NOT_SELECTED])


def participation(data: RunData) -> Html:
    """The section of participation: a heat map of all clients, and the reasons over time."""
    title = "Participation"
    if not data.edge_rounds:
        return section("participation", title, paragraph("No edge round is on record.", class_="absent"))
    if data.run.participation.arrived.all():
        everyone = f"All {data.clients:,} clients" if data.clients > 1 else "The only client"
        sentence = f"{everyone} took part in each of the {data.edge_rounds:,} edge rounds: nobody was out."
        return section("participation", title, paragraph(sentence, class_="absent"))
    state, colours = states(data.run.participation)
    return section("participation", title, figure(_heat_map(state, colours)), figure(_reasons(state, colours)))


def _heat_map(state: NDArray[np.int64], colours: dict[str, str]) -> Chart:
    """The chart of every client's state in every edge round."""
    rounds, clients = thinned(state.shape[0], MOST), thinned(state.shape[1], MOST)
    shown = state[np.ix_(rounds, clients)]
    trace: Trace = {
        "type": "heatmap",
        "x": (rounds + 1).tolist(),
        "y": clients.tolist(),
        "states": ["".join(map(str, row)) for row in shown.T.tolist()],
        "names": list(colours),
        "zmin": -0.5,
        "zmax": len(colours) - 0.5,
        "colorscale": _steps(list(colours.values())),
        "showscale": False,
        "hovertemplate": "client %{y}, edge round %{x}: %{text}<extra></extra>",
        "xgap": 1 if len(rounds) <= 60 else 0,
        "ygap": 1 if len(clients) <= 60 else 0,
    }
    layout = {
        "xaxis": whole("Edge round", state.shape[0]) | {"showgrid": False},
        "yaxis": axis("Client", showgrid=False, autorange="reversed"),
    }
    share = (state == 0).mean()
    says = f"{percent(float(share), 1)} of all clients' edge rounds ended with a payload that arrived."
    if len(rounds) < state.shape[0] or len(clients) < state.shape[1]:
        says += f" Shown are {len(clients):,} of {state.shape[1]:,} clients and {len(rounds):,} of {state.shape[0]:,} "
        says += "edge rounds, evenly spread."
    height = min(620, max(260, 90 + 11 * len(clients)))
    return Chart(
        "who-chart",
        "Who took part when",
        says,
        {"all": ChartView([trace], layout)},
        _per_client(state, colours),
        legend(colours),
        height,
    )


def _steps(colours: list[str]) -> list[tuple[float, str]]:
    """A colour scale of equal steps."""
    n = len(colours)
    return [(place / n, colour) for number, colour in enumerate(colours) for place in (number, number + 1)]


def _per_client(state: NDArray[np.int64], colours: dict[str, str]) -> Html:
    """The table of the shares of states of every client."""
    shares = [(state == place).mean(axis=0) for place in range(len(colours))]
    rows = [[str(client), *(percent(float(share[client]), 1) for share in shares)] for client in range(state.shape[1])]
    return numbers_table("Share of the edge rounds of each client", ["client", *colours], rows, "clients")


def _reasons(state: NDArray[np.int64], colours: dict[str, str]) -> Chart:
    """The chart of clients by state, as stacked bars; means over neighbours if there are many edge rounds."""
    counts = np.stack([(state == place).sum(axis=1) for place in range(len(colours))], axis=1)  # [E, states]
    parts = np.array_split(np.arange(len(counts)), min(BINS, len(counts)))
    x = plain([float(part.mean()) + 1 for part in parts])
    means = np.stack([counts[part].mean(axis=0) for part in parts])
    width = len(counts) / len(parts)
    traces: list[Trace] = [
        {
            "type": "bar",
            "name": name,
            "x": x,
            "y": plain(means[:, place]),
            "width": width * (0.85 if len(x) <= 60 else 1),
        }
        | {"marker": {"color": colour, "line": {"width": 0}}}
        for place, (name, colour) in enumerate(colours.items())
    ]
    layout = {
        "barmode": "stack",
        "xaxis": whole("Edge round", len(counts)),
        "yaxis": axis("Clients"),
        "showlegend": True,
    }
    ends = ", ".join(f"{name} {count(float(counts[:, place].mean()))}" for place, name in enumerate(colours))
    says = f"Clients of an edge round on average: {ends}."
    if len(parts) < len(counts):
        says += f" Each bar is the mean of about {count(round(width, 1))} edge rounds."
    rows = [[str(number), *(str(value) for value in row)] for number, row in enumerate(counts.tolist(), 1)]
    table = numbers_table("Clients of every edge round", ["edge round", *colours], rows, "edge rounds")
    return Chart("reasons-chart", "Why others were out", says, {"all": ChartView(traces, layout)}, table)

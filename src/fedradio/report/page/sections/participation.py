"""Who took part when, and why the others did not."""

from __future__ import annotations

import numpy as np

from fedradio.core.contracts.reasons import REASON_NAMES, Reason
from fedradio.report.page.chart import (
    Chart,
    ChartView,
    MadeRows,
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
from fedradio.results import client_states
from fedradio.results.client_states import STATES, ClientStates, Ints
from fedradio.results.run import Floats

MOST = 400
"""Most clients, and most edge rounds, on the heat map."""

BINS = 200
"""Most bars of the chart of reasons."""

ARRIVED = "arrived"

OUT = {
    Reason.NOT_SELECTED: ("not selected", "@faint"),
    Reason.ENERGY: ("energy", "@yellow"),
    Reason.DEADLINE: ("deadline", "@orange"),
    Reason.OUTAGE: ("outage", "@red"),
    Reason.NO_DATA: ("no data", "@purple"),
    Reason.NO_NEWS: ("no new data", "@sky"),
    Reason.CRASHED: ("crashed", "@ink"),
}
"""Label and colour of every reason why a client was not selected."""

LOST = {
    Reason.DEADLINE: ("selected, but too late", "@orange"),
    Reason.OUTAGE: ("selected, but lost on the link", "@red"),
    Reason.CRASHED: ("selected, but crashed", "@ink"),
}
"""Label and colour of every reason why a selected client did not arrive."""


def looks(counts: Ints) -> tuple[Ints, dict[str, str]]:
    """The place of every state among those that occur in ``counts [.., STATES]``, and ``label -> colour`` of these."""
    colours = {ARRIVED: "@blue"}
    place = np.zeros(STATES, dtype=np.int64)
    for state in np.flatnonzero(counts.any(axis=0)).tolist():
        name, colour = _look(state)
        colours.setdefault(name, colour)
        place[state] = list(colours).index(name)
    return place, colours


def _look(state: int) -> tuple[str, str]:
    """Label and colour of a state."""
    if state == client_states.ARRIVED:
        return ARRIVED, "@blue"
    for reason in Reason:
        if state == client_states.LOST[REASON_NAMES[reason]]:
            return LOST.get(reason, ("selected, but did not arrive", "@purple"))
        if state == client_states.OUT[REASON_NAMES[reason]]:
            return OUT.get(reason, OUT[Reason.NOT_SELECTED])
    raise ValueError(f"no state {state}")


def participation(data: RunData) -> Html:
    """The section of participation: a heat map of all clients, and the reasons over time."""
    title = "Participation"
    if not data.edge_rounds:
        return section("participation", title, paragraph("No edge round is on record.", class_="absent"))
    counts = data.states.by_edge_round()
    if not counts[:, 1:].any():
        everyone = f"All {data.clients:,} clients" if data.clients > 1 else "The only client"
        sentence = f"{everyone} took part in each of the {data.edge_rounds:,} edge rounds."
        return section("participation", title, paragraph(sentence, class_="absent"))
    place, colours = looks(counts)
    heat_map = _heat_map(data.states, place, colours)
    return section("participation", title, figure(heat_map), figure(_reasons(_merged(counts, place, colours), colours)))


def _merged(counts: Ints, place: Ints, colours: dict[str, str]) -> Ints:
    """Counts by label, ``[.., labels]``, of counts by state."""
    return np.asarray(counts @ (place[:, None] == np.arange(len(colours))))


def _heat_map(states: ClientStates, place: Ints, colours: dict[str, str]) -> Chart:
    """The chart of every client's state in every edge round."""
    rounds, clients = thinned(states.edge_rounds, MOST), thinned(states.clients, MOST)
    shown = place[states.grid(rounds, clients)]
    trace: Trace = {
        "type": "heatmap",
        "x": (rounds + 1).tolist(),
        "y": clients.tolist(),
        "states": [row.tobytes().decode() for row in (shown.T + ord("0")).astype(np.uint8)],  # a digit each
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
        "xaxis": whole("Edge round", states.edge_rounds) | {"showgrid": False},
        "yaxis": axis("Client", showgrid=False, autorange="reversed"),
    }
    says = (
        f"In an average edge round, payloads from {percent(states.arrived / states.clients, 1)} of all clients arrived."
    )
    if len(rounds) < states.edge_rounds or len(clients) < states.clients:
        says += f" The chart shows {len(clients):,} of {states.clients:,} clients and {len(rounds):,} of "
        says += f"{states.edge_rounds:,} edge rounds, evenly spaced."
    height = min(620, max(260, 90 + 11 * len(clients)))
    return Chart(
        "who-chart",
        "Who took part when",
        says,
        {"all": ChartView([trace], layout)},
        _per_client(_merged(states.by_client(), place, colours) / states.edge_rounds, colours),
        legend(colours),
        height,
    )


def _steps(colours: list[str]) -> list[tuple[float, str]]:
    """A colour scale of equal steps."""
    n = len(colours)
    return [(place / n, colour) for number, colour in enumerate(colours) for place in (number, number + 1)]


def _per_client(shares: Floats, colours: dict[str, str]) -> Html:
    """The table of the shares of states of every client, ``[C, labels]``."""
    rows = MadeRows(
        len(shares), lambda client: [str(client), *(percent(share, 1) for share in shares[client].tolist())]
    )
    return numbers_table("Shares of each client's edge rounds", ["client", *colours], rows, "clients")


def _reasons(counts: Ints, colours: dict[str, str]) -> Chart:
    """The chart of clients by state, ``[E, labels]``, as stacked bars; means over neighbours if there are many edge
    rounds."""
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
    says = f"Average number of clients per edge round: {ends}."
    if len(parts) < len(counts):
        says += f" Each bar is the mean over about {count(round(width, 1))} edge rounds."
    rows = MadeRows(len(counts), lambda e: [str(e + 1), *map(str, counts[e].tolist())])
    table = numbers_table("Clients per edge round", ["edge round", *colours], rows, "edge rounds")
    return Chart("reasons-chart", "Why the others were left out", says, {"all": ChartView(traces, layout)}, table)

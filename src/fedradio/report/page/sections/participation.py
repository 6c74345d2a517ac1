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
from fedradio.report.page.run_data import Reading
from fedradio.results.run import Participation

MOST = 400
"""Most clients, and most edge rounds, of the picture of everybody."""

BINS = 200
"""Most bars of the picture of reasons."""

ARRIVED = "arrived"

OUT = {
    Reason.NOT_SELECTED: ("not selected", "@faint"),
    Reason.ENERGY: ("energy", "@yellow"),
    Reason.DEADLINE: ("deadline", "@orange"),
    Reason.OUTAGE: ("outage", "@red"),
    Reason.NO_DATA: ("no data", "@purple"),
    Reason.NO_NEWS: ("no news", "@sky"),
}
"""Why a client that was not selected is out, and its colour."""

LOST = {
    Reason.DEADLINE: ("selected, but late", "@orange"),
    Reason.OUTAGE: ("selected, but lost on the link", "@red"),
}
"""What became of a client that was selected and did not arrive."""


def states(seen: Participation) -> tuple[NDArray[np.int64], dict[str, str]]:
    """Each client's state in each edge round ``[E, C]`` as a place in the list of states, and ``words -> colour`` of
    those that occur."""
    found = np.full(seen.active.shape, -1, dtype=np.int64)
    words = {ARRIVED: "@blue"}
    found[seen.arrived] = 0
    for lost in (True, False):
        mask = ~seen.arrived & (seen.active == lost)
        for reason in Reason:
            here = mask & (seen.reason == reason)
            if here.any():
                name, colour = _words(reason, lost)
                words.setdefault(name, colour)
                found[here] = list(words).index(name)
    return found, words


def _words(reason: Reason, lost: bool) -> tuple[str, str]:
    if lost:
        return LOST.get(reason, ("selected, but not arrived", "@purple"))
    return OUT.get(reason, OUT[Reason.NOT_SELECTED])


def participation(data: Reading) -> Html:
    """The pictures of everybody and of the reasons."""
    title = "Participation"
    if not data.edge_rounds:
        return section("participation", title, paragraph("No edge round is on record.", class_="absent"))
    if data.run.participation.arrived.all():
        everyone = f"All {data.clients:,} clients" if data.clients > 1 else "The only client"
        told = f"{everyone} took part in each of the {data.edge_rounds:,} edge rounds: nobody was out."
        return section("participation", title, paragraph(told, class_="absent"))
    found, words = states(data.run.participation)
    return section("participation", title, figure(_everybody(data, found, words)), figure(_reasons(found, words)))


def _everybody(data: Reading, found: NDArray[np.int64], words: dict[str, str]) -> Chart:
    rounds, clients = thinned(found.shape[0], MOST), thinned(found.shape[1], MOST)
    shown = found[np.ix_(rounds, clients)]
    trace: Trace = {
        "type": "heatmap",
        "x": (rounds + 1).tolist(),
        "y": clients.tolist(),
        "states": ["".join(map(str, row)) for row in shown.T.tolist()],
        "names": list(words),
        "zmin": -0.5,
        "zmax": len(words) - 0.5,
        "colorscale": _steps(list(words.values())),
        "showscale": False,
        "hovertemplate": "client %{y}, edge round %{x}: %{text}<extra></extra>",
        "xgap": 1 if len(rounds) <= 60 else 0,
        "ygap": 1 if len(clients) <= 60 else 0,
    }
    layout = {
        "xaxis": whole("Edge round", found.shape[0]) | {"showgrid": False},
        "yaxis": axis("Client", showgrid=False, autorange="reversed"),
    }
    share = (found == 0).mean()
    says = f"{percent(float(share), 1)} of all clients' edge rounds ended with a payload that arrived."
    if len(rounds) < found.shape[0] or len(clients) < found.shape[1]:
        says += f" Shown are {len(clients):,} of {found.shape[1]:,} clients and {len(rounds):,} of {found.shape[0]:,} "
        says += "edge rounds, evenly spread."
    height = min(620, max(260, 90 + 11 * len(clients)))
    return Chart(
        "who-chart",
        "Who took part when",
        says,
        {"all": ChartView([trace], layout)},
        _per_client(found, words),
        legend(words),
        height,
    )


def _steps(colours: list[str]) -> list[tuple[float, str]]:
    """A colour scale of equal steps."""
    n = len(colours)
    return [(place / n, colour) for number, colour in enumerate(colours) for place in (number, number + 1)]


def _per_client(found: NDArray[np.int64], words: dict[str, str]) -> Html:
    shares = [(found == place).mean(axis=0) for place in range(len(words))]
    rows = [[str(client), *(percent(float(share[client]), 1) for share in shares)] for client in range(found.shape[1])]
    return numbers_table("Share of the edge rounds of each client", ["client", *words], rows, "clients")


def _reasons(found: NDArray[np.int64], words: dict[str, str]) -> Chart:
    """Bars that add up to all clients; means over neighbours where there are too many edge rounds."""
    counts = np.stack([(found == place).sum(axis=1) for place in range(len(words))], axis=1)  # [E, states]
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
        for place, (name, colour) in enumerate(words.items())
    ]
    layout = {
        "barmode": "stack",
        "xaxis": whole("Edge round", len(counts)),
        "yaxis": axis("Clients"),
        "showlegend": True,
    }
    ends = ", ".join(f"{name} {count(float(counts[:, place].mean()))}" for place, name in enumerate(words))
    says = f"Clients of an edge round on average: {ends}."
    if len(parts) < len(counts):
        says += f" Each bar is the mean of about {count(round(width, 1))} edge rounds."
    rows = [[str(number), *(str(value) for value in row)] for number, row in enumerate(counts.tolist(), 1)]
    table = numbers_table("Clients of every edge round", ["edge round", *words], rows, "edge rounds")
    return Chart("reasons-chart", "Why others were out", says, {"all": ChartView(traces, layout)}, table)

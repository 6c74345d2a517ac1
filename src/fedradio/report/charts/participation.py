"""Who took part when, and why the others did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedradio.core.contracts.reasons import REASON_NAMES, Reason
from fedradio.core.units import show_count, show_percent
from fedradio.report.charts.chart import Absent, Axis, Bars, Chart, Grid, Plot, neighbours, thinned
from fedradio.report.table import LazyRows, Table
from fedradio.results import client_states
from fedradio.results.client_states import STATES, ClientStates, Ints

MOST = 400
"""Most clients, and most edge rounds, on the heat map."""

BINS = 200
"""Most bars of the chart of reasons."""

ARRIVED = ("arrived", "@blue")
OUT = {
    Reason.NOT_SELECTED: ("not selected", "@faint"),
    Reason.ENERGY: ("energy", "@yellow"),
    Reason.DEADLINE: ("deadline", "@orange"),
    Reason.OUTAGE: ("outage", "@red"),
    Reason.NO_DATA: ("no data", "@purple"),
    Reason.NO_NEWS: ("no new data", "@sky"),
    Reason.CRASHED: ("crashed", "@ink"),
    Reason.BUSY: ("update in flight", "@green"),
    Reason.NO_MODEL: ("no model", "@soft"),
}
"""Label and colour of every reason why a client was not selected."""

LOST = {
    Reason.DEADLINE: ("selected, but too late", "@orange"),
    Reason.OUTAGE: ("selected, but lost on the link", "@red"),
    Reason.CRASHED: ("selected, but crashed", "@ink"),
}
"""Label and colour of every reason why a selected client did not arrive."""

LOOKS = {client_states.ARRIVED: ARRIVED}
for _reason in Reason:
    LOOKS[client_states.OUT[REASON_NAMES[_reason]]] = OUT.get(_reason, OUT[Reason.NOT_SELECTED])
    LOOKS[client_states.LOST[REASON_NAMES[_reason]]] = LOST.get(_reason, ("selected, but did not arrive", "@purple"))
"""Label and colour of every state of a client."""


def participation(states: ClientStates, parents: Sequence[int] | None = None) -> list[Chart | Absent]:
    """A heat map of all clients, sorted by their edges ``parents``, and the reasons over time."""
    titles = {"selection": "Who took part when", "reasons": "Why the others were left out"}
    counts = states.by_edge_round()
    if not states.edge_rounds:
        return [Absent(name, title, "no edge round is on record") for name, title in titles.items()]
    if not counts[:, 1:].any():
        everyone = f"all {states.clients:,} clients" if states.clients > 1 else "the only client"
        why = f"{everyone} took part in each of the {states.edge_rounds:,} edge rounds"
        return [Absent(name, title, why) for name, title in titles.items()]
    place, colours = looks(counts)
    return [_selection(states, place, colours, parents), _reasons(merged(counts, place, colours), colours)]


def looks(counts: Ints) -> tuple[Ints, dict[str, str]]:
    """The place of every state among those that occur in ``counts [.., STATES]``, and ``label -> colour`` of these."""
    colours = dict([ARRIVED])
    place = np.zeros(STATES, dtype=np.int64)
    for state in np.flatnonzero(counts.any(axis=0)).tolist():
        name, colour = LOOKS[state]
        colours.setdefault(name, colour)
        place[state] = list(colours).index(name)
    return place, colours


def merged(counts: Ints, place: Ints, colours: Mapping[str, str]) -> Ints:
    """Counts by label, ``[.., labels]``, of counts by state."""
    return np.asarray(counts @ (place[:, None] == np.arange(len(colours))))


def _selection(states: ClientStates, place: Ints, colours: dict[str, str], parents: Sequence[int] | None) -> Chart:
    """Every client's state in every edge round."""
    rounds, clients = thinned(states.edge_rounds, MOST), thinned(states.clients, MOST)
    edges = np.zeros(len(clients), dtype=np.int64) if parents is None else np.array(parents)[clients]
    order = np.argsort(edges, kind="stable")
    shown = place[states.grid(rounds, clients)].T
    grid = Grid(shown[order], rounds + 1, clients[order], colours, edges[order])
    says = (
        f"In an average edge round, payloads from {show_percent(states.arrived / states.clients, 1)} of all clients "
        "arrived."
    )
    some = ""
    if len(rounds) < states.edge_rounds or len(clients) < states.clients:
        says += f" The chart shows {len(clients):,} of {states.clients:,} clients and {len(rounds):,} of "
        says += f"{states.edge_rounds:,} edge rounds, evenly spaced."
        some = f" ({len(clients):,} of {states.clients:,})" if len(clients) < states.clients else ""
    shares = merged(states.by_client(), place, colours) / states.edge_rounds

    def row(client: int) -> list[str]:
        return [str(client), *(show_percent(share, 1) for share in shares[client].tolist())]

    numbers = Table("Shares of each client's edge rounds", ["client", *colours], LazyRows(len(shares), row), "clients")
    plot = Plot(Axis("Edge round", whole=True), Axis(f"Client{some}", whole=True), [grid])
    height = min(620, max(260, 90 + 11 * len(clients)))
    return Chart("selection", "Who took part when", says, {"": plot}, numbers, height=height)


def _reasons(counts: Ints, colours: dict[str, str]) -> Chart:
    """Clients by state, ``[E, labels]``, as stacked bars; means over neighbours if there are many edge rounds."""
    bins, x = neighbours(len(counts), BINS)
    means = np.stack([counts[part].mean(axis=0) for part in bins])
    layers = [Bars(name, x, means[:, place], colour) for place, (name, colour) in enumerate(colours.items())]
    ends = ", ".join(f"{name} {show_count(float(counts[:, place].mean()))}" for place, name in enumerate(colours))
    says = f"Average number of clients per edge round: {ends}."
    if len(bins) < len(counts):
        says += f" Each bar is the mean over about {show_count(round(len(counts) / len(bins), 1))} edge rounds."

    def row(e: int) -> list[str]:
        return [str(e + 1), *map(str, counts[e].tolist())]

    numbers = Table("Clients per edge round", ["edge round", *colours], LazyRows(len(counts), row), "edge rounds")
    y = Axis("Clients", low=0, high=float(counts[0].sum()), whole=True)
    return Chart(
        "reasons", "Why the others were left out", says, {"": Plot(Axis("Edge round", whole=True), y, layers)}, numbers
    )

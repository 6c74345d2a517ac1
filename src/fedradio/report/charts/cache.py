"""Caches of a run: hits over rounds, backhaul by cause, and whether learning paid for its own traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fedradio.core.units import show, show_number, show_percent
from fedradio.report.charts.chart import Axis, Bars, Chart, Dot, Layer, Line, Plot
from fedradio.report.charts.learning import COLOURS
from fedradio.report.style import DOT, SHORT, SOLID, Style
from fedradio.report.table import LazyRows, Table
from fedradio.results.caches import CAUSES, Served, ServedRounds
from fedradio.results.run import Floats
from fedradio.runs.cache_summary import CacheSummary, ShelfSummary

GBIT = 1e9

CAUSE_COLOURS = dict(zip(CAUSES, ("@blue", "@orange", "@green", "@purple", "@soft"), strict=True))
"""Colour of every cause of backhaul traffic."""

FEW = 25
"""Most points of a line with markers."""

SWITCH = "Capacity per edge"

Shelves = Mapping[str, Served]


def caches(served: ServedRounds, found: CacheSummary | None) -> list[Chart]:
    """The charts of caches, one view per capacity; ``found`` is the balance of a run that has ended."""
    return [_hits(served), _backhaul(served), _net(served, found), _trade(served)]


def _plots(
    served: ServedRounds, x: Callable[[Shelves], Axis], y: Axis, layers: Callable[[Shelves], Sequence[Layer]]
) -> dict[str, Plot]:
    """One plot per capacity, with the placements of that capacity."""
    capacities = sorted({shelf.capacity for shelf in served.shelves.values()})
    plots = {}
    for capacity in capacities:
        own = {name: shelf for name, shelf in served.shelves.items() if shelf.capacity == capacity}
        view = str(capacity) if len(capacities) > 1 else ""
        plots[view] = Plot(x(own), y, layers(own), f"{capacity} files")
    return plots


def _rounds(_: Shelves) -> Axis:
    return Axis("Round", whole=True)


def _style(place: int, rounds: int, oracle: bool = False) -> Style:
    """The style of a placement: oracles are dashed."""
    colour = ("@blue", *COLOURS[:-1])[place % len(COLOURS)]
    return Style(colour, SHORT if oracle else SOLID, "o" if rounds <= FEW else "")


def _lines(shelves: Shelves, values: Mapping[str, Floats]) -> list[Line]:
    """One line over rounds per placement."""
    return [
        Line(name, np.arange(1.0, len(values[name]) + 1), values[name], _style(place, len(values[name]), shelf.oracle))
        for place, (name, shelf) in enumerate(shelves.items())
    ]


def _hits(served: ServedRounds) -> Chart:
    """Hit ratios; a round without requests has none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = {name: 100 * shelf.hits / served.requests for name, shelf in served.shelves.items()}
    total = served.requests.sum()
    ends = {name: shelf.hits.sum() / total for name, shelf in served.shelves.items()} if total else {}
    best = max((name for name in ends if not served.shelves[name].oracle), key=lambda name: ends[name], default=None)
    says = "Nothing has been requested yet."
    if best is not None:
        says = f"{best} has the most hits: {show_percent(ends[best])} of all requests."
    says += "".join(
        f" {name}, which knows the distribution of the next request, reaches {show_percent(ends[name])} (dashed)."
        for name, shelf in served.shelves.items()
        if shelf.oracle and name in ends
    )

    def row(t: int) -> list[str | None]:
        return [str(t + 1), *(None if np.isnan(v[t]) else show_percent(v[t] / 100) for v in ratio.values())]

    plots = _plots(served, _rounds, Axis("Hit ratio", "%", zero=True), lambda own: _lines(own, ratio))
    numbers = Table("Hit ratio per round", ["round", *ratio], LazyRows(len(served.requests), row), "rounds")
    return Chart("cache-hits", "Hit ratio", says, plots, numbers, SWITCH, 320)


def _backhaul(served: ServedRounds) -> Chart:
    """Backhaul traffic by cause, as stacked bars."""
    sums = {name: {cause: float(b.sum()) for cause, b in shelf.bits.items()} for name, shelf in served.shelves.items()}

    def bars(own: Shelves) -> list[Bars]:
        x = np.arange(len(own), dtype=np.float64)
        return [
            Bars(cause, x, np.array([sums[name][cause] / GBIT for name in own]), CAUSE_COLOURS[cause])
            for cause in CAUSES
            if any(sums[name][cause] != 0 for name in own)
        ]

    total = {name: sum(each.values()) for name, each in sums.items()}
    least = min((name for name in total if total[name] == total[name]), key=lambda name: total[name], default=None)
    says = "Bits on the backhaul are undefined."
    if least is not None:
        says = f"{least} uses the least backhaul, {show(total[least], 'bit')}. A prefetched file travels as far as "
        says += "a missed one; model-based placements also pay for the model's traffic in both directions."
    rows = [[name, *(_text(each[cause], lambda b: show(b, "bit")) for cause in CAUSES)] for name, each in sums.items()]
    numbers = Table("Backhaul by cause", ["placement", *CAUSES], rows, "placements")
    plots = _plots(served, lambda own: Axis("", names=list(own)), Axis("Backhaul", "Gbit", zero=True), bars)
    return Chart("cache-backhaul", "Backhaul by cause", says, plots, numbers, SWITCH, 320)


def _text(value: float, formatted: Callable[[float], str]) -> str | None:
    """The text of a value; None if it is undefined (NaN)."""
    return None if np.isnan(value) else formatted(value)


def _net(served: ServedRounds, found: CacheSummary | None) -> Chart:
    """Net bits over rounds, with the payback rounds marked."""
    net = {name: shelf.net_bits / GBIT for name, shelf in served.shelves.items()}
    learned = {} if found is None else {n: s for n, s in found.shelves.items() if s.knows == "model" and s.rival}

    def layers(own: Shelves) -> list[Line | Dot]:
        marks = []
        for place, name in enumerate(own):
            paid = learned[name].payback if name in learned and learned[name].learning_bits else None
            if paid is not None:
                style = Style(_style(place, 0).colour, SOLID, "*")
                marks.append(Dot(f"{name} has paid back", paid, float(net[name][paid - 1]), style))
        return [*_lines(own, net), *marks]

    says = " ".join(_payback(name, shelf) for name, shelf in learned.items())
    if any(shelf.learning_bits == 0 for shelf in learned.values()):
        says = f"Learning uses no backhaul here, so there is nothing to pay back. {says}"
    says = says or "No model-based placement can be compared with one based on counts or recency here."

    def row(t: int) -> list[str | None]:
        return [str(t + 1), *(_text(values[t], show_number) for values in net.values())]

    numbers = Table("Net backhaul so far, Gbit", ["round", *net], LazyRows(len(served.requests), row), "rounds")
    plots = _plots(served, _rounds, Axis("Net backhaul so far", "Gbit", zero=True), layers)
    return Chart("cache-net", "Does learning pay?", says, plots, numbers, SWITCH, 320)


def _payback(name: str, shelf: ShelfSummary) -> str:
    """Whether learning has paid for its own traffic."""
    if shelf.net_bits is None:
        return f"{name}: the traffic of learning is undefined."
    if not shelf.learning_bits:
        less = "more at the end" if shelf.payback is None else f"no more from round {shelf.payback} on"
        return f"Compared with {shelf.rival}, {name} uses {less}."
    paid = f"by round {shelf.payback}" if shelf.payback is not None else ""
    paid = f"pays for its own traffic {paid}" if paid else "never pays for its own traffic"
    size = "" if shelf.break_even_bits is None else f"; files of {show(shelf.break_even_bits, 'bit')} would break even"
    return f"Compared with {shelf.rival}, {name} {paid}{size}."


def _trade(served: ServedRounds) -> Chart:
    """Hits against files on the backhaul: a line per placement through its capacities."""
    total = max(float(served.requests.sum()), 1.0)
    by_name: dict[str, list[Served]] = {}
    for label, shelf in served.shelves.items():
        by_name.setdefault(label.rpartition(" ")[0] or label, []).append(shelf)
    lines = [
        Line(
            name,
            np.array([shelf.files.sum() / total for shelf in own]),
            np.array([100 * shelf.hits.sum() / total for shelf in own]),
            Style(_style(place, 0).colour, DOT, "D" if any(shelf.oracle for shelf in own) else "o"),
            texts=[f"{shelf.capacity} files" for shelf in own],
        )
        for place, (name, own) in enumerate(by_name.items())
    ]
    says = "Up and to the left is better. Without a cache, every request moves 1 file over the backhaul; above 1, a "
    says += "placement moves more than it saves."
    rows = [
        [name, str(s.capacity), show_percent(s.hits.sum() / total), show_number(s.files.sum() / total)]
        for name, s in served.shelves.items()
    ]
    numbers = Table("Hits and files", ["placement", "capacity", "hits", "files per request"], rows, "placements")
    x = Axis("Files missed or prefetched per request", zero=True)
    plot = Plot(x, Axis("Hit ratio", "%", zero=True), lines)
    return Chart("cache-trade", "Hits against backhaul", says, {"": plot}, numbers, height=320)

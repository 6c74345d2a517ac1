"""Caches of a run: hits over rounds, backhaul by cause, whether learning paid for its own traffic, edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fedradio.report.charts.chart import thinned
from fedradio.report.charts.learning import COLOURS
from fedradio.report.page.chart import (
    Chart,
    ChartView,
    Layout,
    Trace,
    axis,
    figure,
    label,
    line,
    numbers_table,
    plain,
    switch,
    whole,
)
from fedradio.report.page.html import Html, paragraph, section, table, tag
from fedradio.report.page.numbers import number, percent, quantity, seconds
from fedradio.report.page.run_data import RunData
from fedradio.results.caches import CAUSES, Served, ServedRounds, served_rounds, stationary
from fedradio.results.run import Floats
from fedradio.runs.cache_summary import CacheSummary, ShelfSummary

GBIT = 1e9

CAUSE_COLOURS = dict(zip(CAUSES, ("@blue", "@orange", "@green", "@purple", "@soft"), strict=True))
"""Colour of every cause of backhaul traffic."""


def cache(data: RunData) -> Html:
    """The section of caches, or the reason why there is none."""
    served = served_rounds(data.run)
    if served is None:
        return section("cache", "Cache", paragraph(_why_absent(data), class_="absent"))
    found = data.run.cache
    charts = [_hits(served), _backhaul(served), _net(served, found), _trade(served)]
    capacities = {str(capacity): f"{capacity} files" for capacity in _capacities(served)}
    drawn = [chart.identity for chart in charts[:3]]
    return section(
        "cache",
        "Cache",
        paragraph(_first_sentence(data, served, found)),
        switch("capacity", "Capacity per edge", capacities, drawn),
        tag("div", *map(figure, charts[:2]), class_="pair"),
        tag("div", *map(figure, charts[2:]), class_="pair"),
        _balance(found),
        _edges(served),
    )


def _why_absent(data: RunData) -> str:
    if data.run.spec.plain.get("cache") is not None:
        return "No edge round is on record yet, so nothing has been cached."
    return "This spec has no caches. If its data are requests, add them with cache={}; learning is not affected."


def _first_sentence(data: RunData, served: ServedRounds, found: CacheSummary | None) -> str:
    catalogue = "" if found is None else f" of {found.catalogue}"
    text = f"Clients requested {served.files}{catalogue} files, in {int(served.requests.sum()):,} requests. "
    text += "All placements saw the same requests."
    if stationary(data.run.spec):
        text += " Their distribution never changes in this world, which favours counting."
    if data.run.spec.plain["cache"]["every"] != "slot" and any(shelf.oracle for shelf in served.shelves.values()):
        text += (
            " An oracle knows the distribution of the next slot; when it places for several slots, it can be beaten."
        )
    return text


def _capacities(served: ServedRounds) -> list[int]:
    return sorted({shelf.capacity for shelf in served.shelves.values()})


def _views(
    served: ServedRounds, traces: Callable[[Mapping[str, Served]], Sequence[Trace]], layout: Layout
) -> dict[str, ChartView]:
    """One view per capacity, with the shelves of that capacity."""
    views = {}
    for capacity in _capacities(served):
        own = {name: shelf for name, shelf in served.shelves.items() if shelf.capacity == capacity}
        views[str(capacity)] = ChartView(traces(own), layout | {"showlegend": True})
    return views


def _colour(place: int) -> str:
    return ("@blue", *COLOURS[:-1])[place % len(COLOURS)]


def _lines(shelves: Mapping[str, Served], values: Mapping[str, Floats]) -> list[Trace]:
    """One line over rounds per shelf; the oracle's is dashed."""
    traces = []
    for place, (name, shelf) in enumerate(shelves.items()):
        chosen = thinned(len(values[name]))
        look = {"dash": "dash" if shelf.oracle else "solid"}
        traces.append(line(name, plain(chosen + 1.0), plain(values[name][chosen]), _colour(place), line=look))
    return traces


def _rounds(served: ServedRounds) -> Layout:
    return whole("Round", len(served.requests)) | {"rangemode": "tozero"}


def _hits(served: ServedRounds) -> Chart:
    """The chart of hit ratios; a round without requests has none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = {name: 100 * shelf.hits / served.requests for name, shelf in served.shelves.items()}
    layout = {"xaxis": _rounds(served), "yaxis": axis("Hit ratio [%]", rangemode="tozero")}
    total = served.requests.sum()
    ends = {name: shelf.hits.sum() / total for name, shelf in served.shelves.items()} if total else {}
    best = max((name for name in ends if not served.shelves[name].oracle), key=lambda name: ends[name], default=None)
    says = (
        "Nothing has been requested yet."
        if best is None
        else f"{best} has the most hits: {percent(ends[best])} of all requests."
    )
    known = [name for name, shelf in served.shelves.items() if shelf.oracle and name in ends]
    says += "".join(
        f" {name}, which knows the distribution of the next request, reaches {percent(ends[name])} (dashed)."
        for name in known
    )
    rows = [
        [str(t + 1), *(percent(None if np.isnan(v[t]) else v[t] / 100) for v in ratio.values())]
        for t in range(len(served.requests))
    ]
    numbers = numbers_table("Hit ratio per round", ["round", *ratio], rows, "rounds")
    return Chart(
        "cache-hits", "Hit ratio", says, _views(served, lambda own: _lines(own, ratio), layout), numbers, height=320
    )


def _backhaul(served: ServedRounds) -> Chart:
    """The chart of backhaul traffic by cause, as stacked bars."""
    sums = {name: {cause: float(b.sum()) for cause, b in shelf.bits.items()} for name, shelf in served.shelves.items()}

    def traces(own: Mapping[str, Served]) -> list[Trace]:
        return [
            {"type": "bar", "name": cause, "x": [label(name) for name in own]}
            | {"y": plain([sums[name][cause] / GBIT for name in own]), "marker": {"color": CAUSE_COLOURS[cause]}}
            for cause in CAUSES
            if any(sums[name][cause] != 0 for name in own)
        ]

    layout = {"barmode": "stack", "xaxis": axis("", type="category"), "yaxis": axis("Backhaul [Gbit]")}
    total = {name: sum(each.values()) for name, each in sums.items()}
    least = min((name for name in total if total[name] == total[name]), key=lambda name: total[name], default=None)
    says = "Bits on the backhaul are undefined."
    if least is not None:
        says = f"{least} uses the least backhaul, {quantity(total[least], 'bit')}. A prefetched file travels as far as "
        says += "a missed one; model-based placements also pay for the model's traffic in both directions."
    rows = [[name, *(quantity(_known(each[cause]), "bit") for cause in CAUSES)] for name, each in sums.items()]
    numbers = numbers_table("Backhaul by cause", ["placement", *CAUSES], rows, "placements")
    return Chart("cache-backhaul", "Backhaul by cause", says, _views(served, traces, layout), numbers, height=320)


def _known(value: float) -> float | None:
    return None if value != value else value


def _net(served: ServedRounds, found: CacheSummary | None) -> Chart:
    """The chart of net bits over rounds, with the payback rounds marked."""
    net = {name: shelf.net_bits / GBIT for name, shelf in served.shelves.items()}
    told = {} if found is None else {n: s for n, s in found.shelves.items() if s.knows == "model" and s.rival}

    def traces(own: Mapping[str, Served]) -> list[Trace]:
        marks = [
            {"type": "scatter", "mode": "markers", "name": label(f"{name} has paid back"), "x": [told[name].payback]}
            | {"y": plain([net[name][int(told[name].payback or 1) - 1]])}
            | {"marker": {"color": _colour(place), "size": 13, "symbol": "star"}}
            for place, name in enumerate(own)
            if name in told and told[name].payback is not None and told[name].learning_bits
        ]
        return [*_lines(own, net), *marks]

    layout = {"xaxis": _rounds(served), "yaxis": axis("Net backhaul so far [Gbit]", rangemode="tozero")}
    says = " ".join(_payback_words(name, shelf) for name, shelf in told.items())
    if any(shelf.learning_bits == 0 for shelf in told.values()):
        says = f"Learning uses no backhaul here, so there is nothing to pay back. {says}"
    says = says or "No model-based placement can be compared with one based on counts or recency here."
    rows = [[str(t + 1), *(number(_known(v[t])) for v in net.values())] for t in range(len(served.requests))]
    numbers = numbers_table("Net backhaul so far, Gbit", ["round", *net], rows, "rounds")
    return Chart("cache-net", "Does learning pay?", says, _views(served, traces, layout), numbers, height=320)


def _payback_words(name: str, shelf: ShelfSummary) -> str:
    if shelf.net_bits is None:
        return f"{name}: the traffic of learning is undefined."
    if not shelf.learning_bits:
        less = "more at the end" if shelf.payback is None else f"no more from round {shelf.payback} on"
        return f"Compared with {shelf.rival}, {name} uses {less}."
    paid = (
        "never pays for its own traffic"
        if shelf.payback is None
        else f"pays for its own traffic by round {shelf.payback}"
    )
    size = (
        "" if shelf.break_even_bits is None else f"; files of {quantity(shelf.break_even_bits, 'bit')} would break even"
    )
    return f"Compared with {shelf.rival}, {name} {paid}{size}."


def _trade(served: ServedRounds) -> Chart:
    """The chart of hits against files on the backhaul, one dot per placement and capacity."""
    total = max(float(served.requests.sum()), 1.0)
    names = list(dict.fromkeys(name.rpartition(" ")[0] or name for name in served.shelves))
    traces: list[Trace] = []
    for place, name in enumerate(names):
        own = {n: shelf for n, shelf in served.shelves.items() if (n.rpartition(" ")[0] or n) == name}
        traces.append(
            line(
                name,
                plain([shelf.files.sum() / total for shelf in own.values()]),
                plain([100 * shelf.hits.sum() / total for shelf in own.values()]),
                _colour(place),
                line={"width": 1, "dash": "dot"},
                marker={"size": 11, "symbol": "diamond" if any(s.oracle for s in own.values()) else "circle"},
                text=[f"{shelf.capacity} files" for shelf in own.values()],
            )
        )
    layout = {
        "xaxis": axis("Files missed or prefetched per request", rangemode="tozero"),
        "yaxis": axis("Hit ratio [%]", rangemode="tozero"),
        "showlegend": True,
    }
    says = "Up and to the left is better. Without a cache, every request moves 1 file over the backhaul; above 1, a "
    says += "placement moves more than it saves."
    rows = [
        [name, str(s.capacity), percent(s.hits.sum() / total), number(s.files.sum() / total)]
        for name, s in served.shelves.items()
    ]
    numbers = numbers_table(
        "Hits and files", ["placement", "capacity", "hits", "files per request"], rows, "placements"
    )
    return Chart("cache-trade", "Hits against backhaul", says, {"all": ChartView(traces, layout)}, numbers, height=320)


def _balance(found: CacheSummary | None) -> Html | None:
    """The table of the overall balance, from the summary."""
    if found is None:
        return None
    priced = any(shelf.revenue is not None for shelf in found.shelves.values())
    head = ["placement", "hits", "expected", "net backhaul", "delivery", "reports", "payback", "break-even"]
    rows = []
    for name, s in found.shelves.items():
        told = s.knows == "model" and s.rival is not None and s.net_bits is not None
        paid = "" if not told else "never" if s.payback is None else f"round {s.payback}"
        size = "" if s.break_even_bits is None else quantity(s.break_even_bits, "bit")
        cells = [name, percent(s.hit_ratio), percent(s.expected), quantity(s.net_bits, "bit"), seconds(s.seconds)]
        rows.append([*cells, quantity(s.report_bits, "bit"), paid, size, *([number(s.revenue)] if priced else [])])
    return table("Balance of each placement over the run", [*head, *(["revenue"] if priced else [])], rows)


def _edges(served: ServedRounds) -> Html:
    """The table of hits per edge."""
    rows = [
        [str(b), f"{asked:,}", *(percent(s.edges[b] / asked if asked else None) for s in served.shelves.values())]
        for b, asked in enumerate(served.edges)
    ]
    return table("Hits per edge over the run", ["edge", "requests", *served.shelves], rows)

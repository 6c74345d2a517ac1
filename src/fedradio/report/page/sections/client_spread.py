"""Spread of accuracies over clients, if each has its own test set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedradio.core.contracts.records import EvaluationRecord
from fedradio.report.page.chart import (
    Chart,
    ChartView,
    Trace,
    absent,
    axis,
    cdf_points,
    figure,
    line,
    numbers_table,
    plain,
    shade,
    switch,
    thinned,
    whole,
)
from fedradio.report.page.html import Html, paragraph, section, tag
from fedradio.report.page.numbers import percent
from fedradio.report.page.run_data import RunData
from fedradio.results.quantities import entry
from fedradio.results.run import Floats

Groups = dict[int, Floats]
"""Accuracies of the clients that have test samples, by the number of rounds done."""


def spread(data: RunData, colour: str) -> Html:
    """The section of the spread: first and last evaluation, and quantiles over the rounds."""
    title = "Clients' accuracies"
    records = [record for record in data.run.evaluations if record.groups]
    if not records:
        return section("spread", title, paragraph(_why(data), class_="absent"))
    groups = {name: by_round for name in records[-1].groups if (by_round := _groups(records, name))}
    if not groups:
        return section("spread", title, paragraph("No client has its own test samples.", class_="absent"))
    options = {name: entry(name).title for name in groups}
    distribution = _distribution(groups, colour)
    charts = [distribution.identity]
    over = absent(
        "Over the rounds", "There is only one evaluation on record, so there is nothing to compare it with yet."
    )
    if len(records) > 1:
        fan = _fan(groups, colour)
        charts.append(fan.identity)
        over = figure(fan)
    return section(
        "spread",
        title,
        switch("spread-of", "Accuracy of", options, charts),
        tag("div", figure(distribution), over, class_="pair"),
    )


def _why(data: RunData) -> str:
    """The reason why a run has no accuracies per client."""
    if not data.run.evaluations:
        return "No evaluation is on record."
    return "All clients share one test set, so there are no accuracies per client (data.test=client provides them)."


def _groups(records: Sequence[EvaluationRecord], name: str) -> Groups:
    """The values of a metric per client at every evaluation."""
    known = {record.round: [value for value in record.groups.get(name, []) if value is not None] for record in records}
    return {at: np.array(values, dtype=np.float64) for at, values in known.items() if values}


def _distribution(groups: dict[str, Groups], colour: str) -> Chart:
    """The chart of the distributions at the first and the last evaluation."""
    views = {}
    for name, by_round in groups.items():
        first, last = min(by_round), max(by_round)
        traces: list[Trace] = []
        if first != last:
            traces.append(_cdf(by_round[first], f"round {first}", "@soft", "dot"))
        traces.append(_cdf(by_round[last], f"round {last}", colour, "solid"))
        layout = {
            "xaxis": axis("Accuracy [%]", range=[0, 101]),
            "yaxis": axis("Share of clients", range=[0, 1.02]),
            "showlegend": True,
        }
        views[name] = ChartView(traces, layout)
    main = groups[next(iter(groups))]
    values = main[max(main)]
    says = (
        f"After round {max(main)} the worst of {len(values):,} clients has {percent(float(values.min()))}, "
        f"the median {percent(float(np.median(values)))}, the best {percent(float(values.max()))}; "
        f"the standard deviation is {percent(float(values.std()))}."
    )
    return Chart("spread-chart", "First and last evaluation", says, views, _numbers(groups))


def _cdf(values: Floats, name: str, colour: str, dash: str) -> Trace:
    """The line of an empirical distribution."""
    x, y = cdf_points(100 * values)
    return line(name, x, y, colour, line={"dash": dash, "shape": "hv"}) | {"mode": "lines"}


def _fan(groups: dict[str, Groups], colour: str) -> Chart:
    """The chart of the median, the middle 80 % and the worst client over the rounds."""
    views = {}
    for name, by_round in groups.items():
        at = [sorted(by_round)[place] for place in thinned(len(by_round)).tolist()]
        low, middle, high = (plain([100 * float(np.quantile(by_round[t], q)) for t in at]) for q in (0.1, 0.5, 0.9))
        worst = plain([100 * float(by_round[t].min()) for t in at])
        traces = [
            *shade(at, low, high, colour),
            line("median", at, middle, colour),
            line("worst client", at, worst, "@soft", line={"dash": "dot"}) | {"mode": "lines"},
        ]
        layout = {
            "xaxis": whole("Rounds", max(by_round)),
            "yaxis": axis("Accuracy [%]", rangemode="tozero"),
            "showlegend": True,
        }
        views[name] = ChartView(traces, layout)
    main = groups[next(iter(groups))]
    first, last = main[min(main)], main[max(main)]
    says = (
        f"The standard deviation over clients changes from {percent(float(first.std()))} after round {min(main)} to "
        f"{percent(float(last.std()))} after round {max(main)}. The band contains the middle 80 % of the clients."
    )
    return Chart("fan-chart", "Over the rounds", says, views, _quantiles(groups))


def _numbers(groups: dict[str, Groups]) -> Html:
    """The table of quantiles at the first and the last evaluation."""
    names = {"worst": 0.0, "10 %": 0.1, "25 %": 0.25, "median": 0.5, "75 %": 0.75}
    names |= {"90 %": 0.9, "best": 1.0}
    columns = [(name, at) for name, by_round in groups.items() for at in sorted({min(by_round), max(by_round)})]
    rows = [
        [label, *(percent(float(np.quantile(groups[name][at], q))) for name, at in columns)]
        for label, q in names.items()
    ]
    head = ["clients", *(f"{entry(name).title}, round {at}" for name, at in columns)]
    return numbers_table("Quantiles of the clients' accuracies", head, rows, "quantiles")


def _quantiles(groups: dict[str, Groups]) -> Html:
    """The table of quantiles at every evaluation."""
    name, by_round = next(iter(groups.items()))
    rows = [
        [
            str(at),
            *(percent(float(np.quantile(values, q))) for q in (0.0, 0.1, 0.5, 0.9, 1.0)),
            percent(float(values.std())),
        ]
        for at, values in sorted(by_round.items())
    ]
    head = ["rounds", "worst", "10 %", "median", "90 %", "best", "deviation"]
    return numbers_table(f"{entry(name).heading} of the clients", head, rows, "evaluations")

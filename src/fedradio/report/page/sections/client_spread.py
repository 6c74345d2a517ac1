"""How accuracies differ between clients, where each has a test set of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedradio.report.page.chart import (
    Chart,
    ChartView,
    Trace,
    absent,
    axis,
    figure,
    line,
    numbers_table,
    plain,
    rises,
    shade,
    switch,
    thinned,
    whole,
)
from fedradio.report.page.html import Html, paragraph, section, tag
from fedradio.report.page.numbers import metric_words, percent
from fedradio.report.page.run_data import Reading
from fedradio.results.run import Floats

Groups = dict[int, Floats]
"""Accuracies of the clients that have test samples, by the number of rounds done."""


def spread(data: Reading, colour: str) -> Html:
    """First and last evaluation beside each other, and how the spread moves."""
    title = "Clients' accuracies"
    rows = [row for row in data.run.evaluations if row.get("groups")]
    if not rows:
        return section("spread", title, paragraph(_why(data), class_="absent"))
    groups = {name: found for name in rows[-1]["groups"] if (found := _groups(rows, name))}
    if not groups:
        return section("spread", title, paragraph("No client has test samples of its own.", class_="absent"))
    options = {name: metric_words(name) for name in groups}
    distribution = _distribution(groups, colour)
    charts = [distribution.identity]
    over = absent("Over the rounds", "One evaluation is on record: there is nothing yet to compare it with.")
    if len(rows) > 1:
        fan = _fan(groups, colour)
        charts.append(fan.identity)
        over = figure(fan)
    return section(
        "spread",
        title,
        switch("spread-of", "Accuracy of", options, charts),
        tag("div", figure(distribution), over, class_="pair"),
    )


def _why(data: Reading) -> str:
    if not data.run.evaluations:
        return "No evaluation is on record."
    if "groups" not in data.run.evaluations[-1]:
        return "The records hold no accuracies per client: an earlier version made them."
    return "All clients share one test set, so that none has an accuracy of its own (data.test=client gives it one)."


def _groups(rows: list[dict[str, Any]], name: str) -> Groups:
    known = {row["rounds"]: [one for one in row["groups"].get(name) or [] if one is not None] for row in rows}
    return {at: np.array(values, dtype=np.float64) for at, values in known.items() if values}


def _distribution(groups: dict[str, Groups], colour: str) -> Chart:
    views = {}
    for name, found in groups.items():
        first, last = min(found), max(found)
        traces: list[Trace] = []
        if first != last:
            traces.append(_rising(found[first], f"round {first}", "@soft", "dot"))
        traces.append(_rising(found[last], f"round {last}", colour, "solid"))
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


def _rising(values: Floats, name: str, colour: str, dash: str) -> Trace:
    x, y = rises(100 * values)
    return line(name, x, y, colour, line={"dash": dash, "shape": "hv"}) | {"mode": "lines"}


def _fan(groups: dict[str, Groups], colour: str) -> Chart:
    """Median, middle eight tenths, and the worst client, over the rounds."""
    views = {}
    for name, found in groups.items():
        at = [sorted(found)[place] for place in thinned(len(found)).tolist()]
        low, middle, high = (plain([100 * float(np.quantile(found[t], q)) for t in at]) for q in (0.1, 0.5, 0.9))
        worst = plain([100 * float(found[t].min()) for t in at])
        traces = [
            *shade(at, low, high, colour),
            line("median", at, middle, colour),
            line("worst client", at, worst, "@soft", line={"dash": "dot"}) | {"mode": "lines"},
        ]
        layout = {
            "xaxis": whole("Rounds", max(found)),
            "yaxis": axis("Accuracy [%]", rangemode="tozero"),
            "showlegend": True,
        }
        views[name] = ChartView(traces, layout)
    main = groups[next(iter(groups))]
    first, last = main[min(main)], main[max(main)]
    says = (
        f"The standard deviation over clients goes from {percent(float(first.std()))} after round {min(main)} to "
        f"{percent(float(last.std()))} after round {max(main)}. The band holds the middle eight tenths of the clients."
    )
    return Chart("fan-chart", "Over the rounds", says, views, _quantiles(groups))


def _numbers(groups: dict[str, Groups]) -> Html:
    names = {"worst": 0.0, "a tenth": 0.1, "a quarter": 0.25, "median": 0.5, "three quarters": 0.75}
    names |= {"nine tenths": 0.9, "best": 1.0}
    columns = [(name, at) for name, found in groups.items() for at in sorted({min(found), max(found)})]
    rows = [
        [words, *(percent(float(np.quantile(groups[name][at], q))) for name, at in columns)]
        for words, q in names.items()
    ]
    head = ["clients", *(f"{metric_words(name)}, round {at}" for name, at in columns)]
    return numbers_table("Accuracies of the clients, quantiles", head, rows, "quantiles")


def _quantiles(groups: dict[str, Groups]) -> Html:
    name, found = next(iter(groups.items()))
    rows = [
        [
            str(at),
            *(percent(float(np.quantile(values, q))) for q in (0.0, 0.1, 0.5, 0.9, 1.0)),
            percent(float(values.std())),
        ]
        for at, values in sorted(found.items())
    ]
    head = ["rounds", "worst", "a tenth", "median", "nine tenths", "best", "deviation"]
    return numbers_table(f"{metric_words(name).capitalize()} of the clients", head, rows, "evaluations")

"""Learning curves of a run: accuracies and losses against rounds, simulated time, energy and bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedradio.core.contracts.records import EvaluationRecord
from fedradio.report.charts.chart import thinned
from fedradio.report.page.chart import (
    COLOURS,
    DASHES,
    Chart,
    ChartView,
    Layout,
    Trace,
    axis,
    figure,
    line,
    numbers_table,
    plain,
    switch,
    whole,
)
from fedradio.report.page.html import Html, paragraph, section, tag
from fedradio.report.page.numbers import axis_title, number, percent, text_of
from fedradio.report.page.run_data import RunData
from fedradio.results.quantities import QUANTITIES, axes, entry, references
from fedradio.results.run import Curve, Run

TOPS = tuple(f"top_{m}_accuracy" for m in (2, 3, 5, 10, 20, 50, 100))
"""Top-m accuracies that are drawn as lines."""


def accuracies(names: Sequence[str]) -> list[str]:
    """The accuracies among some metrics that get a line."""
    lines = [name for name in names if name.endswith("accuracy")]
    return [name for name in lines if not name.startswith("top_") or name in TOPS]


def losses(names: Sequence[str]) -> list[str]:
    """The losses among some metrics."""
    return [name for name in names if name.endswith("loss")]


def other_metrics(names: Sequence[str]) -> list[str]:
    """The metrics that are neither accuracies, losses nor references, each with its own axis."""
    return [name for name in names if not name.endswith(("accuracy", "loss")) and not entry(name).reference]


def curve(data: RunData, name: str, against: str) -> Curve | None:
    """The curve of a metric at every evaluation against a cost; ``train_loss`` at every round."""
    x, rows = data.totals.get(against), _rows(data.run, name)
    if x is None or not rows:
        return None
    return x[[t for t, _ in rows]], np.array([value for _, value in rows], dtype=np.float64)


def _rows(run: Run, name: str) -> list[tuple[int, float]]:
    """Rounds, from 0, and values of a metric."""
    if name == "train_loss":
        return [(record.t, record.train_loss) for record in run.rounds if record.train_loss is not None]
    return [(record.round - 1, record.metrics[name]) for record in run.evaluations if name in record.metrics]


def learning(data: RunData, colour: str) -> Html:
    """The section of learning curves, with a switch for their axis."""
    if not data.run.evaluations:
        why = f"No evaluation is on record: the spec evaluates every {data.run.spec.eval_every} rounds and at the end."
        return section("learning", "Learning", paragraph(why, class_="absent"))
    options = {name: QUANTITIES[name].title for name in data.totals}
    missing = [each.absent for each in axes() if each.absent and each.name not in data.totals]
    charts = [_accuracy_chart(data, colour), _loss_chart(data, colour)]
    return section(
        "learning",
        "Learning",
        switch("against", "Plot against", options, [chart.identity for chart in charts]),
        paragraph(" ".join(missing), class_="aside") if missing else None,
        tag("div", *map(figure, charts), class_="pair"),
    )


def _traces(
    data: RunData, names: Sequence[str], against: str, looks: Mapping[str, tuple[str, str]], scale: float
) -> list[Trace]:
    """The lines of some metrics."""
    traces = []
    for name in names:
        points = curve(data, name, against)
        if points is None:
            continue
        chosen = thinned(len(points[0]))
        x, y = plain(points[0][chosen]), plain(scale * points[1][chosen])
        colour, dash = looks[name]
        bare = {"mode": "lines"} if len(x) > 1 and (entry(name).reference or name == "train_loss") else {}
        traces.append(line(entry(name).title, x, y, colour, line={"dash": dash}) | bare)
    return traces


def _x(data: RunData, against: str) -> Layout:
    title = axis_title(QUANTITIES[against])
    layout = whole(title, len(data.run.rounds)) if against == "rounds" else axis(title)
    return layout | {"rangemode": "tozero"}


def _looks(names: Sequence[str], first: str) -> dict[str, tuple[str, str]]:
    """Colour and dash of every metric: ``first`` for the first, others for the rest; references are dotted."""
    looks = {name: ("@soft", "dot") for name in names if entry(name).reference}
    for place, name in enumerate(name for name in names if not entry(name).reference):
        other = (COLOURS[(place - 1) % len(COLOURS)], DASHES[(place - 1) % len(DASHES)])
        looks[name] = (first, "solid") if place == 0 else other
    return looks


def _accuracy_chart(data: RunData, colour: str) -> Chart:
    known = data.run.metrics()
    names = [*accuracies(known), *(each.name for each in references() if each.name in known)]
    views = {
        against: ChartView(
            _traces(data, names, against, _looks(names, colour), 100.0),
            {
                "xaxis": _x(data, against),
                "yaxis": axis("Accuracy [%]", rangemode="tozero"),
                "showlegend": len(names) > 1,
            },
        )
        for against in data.totals
    }
    return Chart("accuracy-chart", "Accuracy", _accuracy_sentence(data), views, _numbers(data, names))


def _accuracy_sentence(data: RunData) -> str:
    records, best = data.run.evaluations, data.run.best
    first, last = records[0], records[-1]
    text = f"Accuracy is {_accuracy(last)}"
    if best is not None and len(records) > 1:
        text = f"Accuracy goes from {_accuracy(first)} to {_accuracy(last)}; the best is {_accuracy(best)}"
    known = [each for each in references() if each.name in last.metrics]
    lines = " and ".join(f"{each.title} {each.text(last.metrics[each.name])}" for each in known)
    return f"{text}. Dotted lines, for reference: {lines}." if known else f"{text}."


def _accuracy(record: EvaluationRecord) -> str:
    return f"{percent(record.metrics['accuracy'])} after round {record.round}"


def _loss_chart(data: RunData, colour: str) -> Chart:
    names = [*losses(data.run.metrics()), "train_loss"]
    names = [name for name in names if curve(data, name, "rounds") is not None]
    views = {
        against: ChartView(
            _traces(data, names, against, _looks(names, colour), 1.0),
            {"xaxis": _x(data, against), "yaxis": axis("Loss [nat]", rangemode="tozero"), "showlegend": True},
        )
        for against in data.totals
    }
    ends = [(entry(name).title, _rows(data.run, name)[-1][1]) for name in names]
    listed = ", ".join(f"{name} {number(value)}" for name, value in ends)
    says = f"Final values: {listed}. Losses are cross entropies in nats."
    return Chart("loss-chart", "Loss", says, views, _numbers(data, names))


def _numbers(data: RunData, names: Sequence[str]) -> Html:
    """The table of evaluations: cumulative costs and metrics."""
    train = dict(_rows(data.run, "train_loss"))
    rows = []
    for record in data.run.evaluations:
        t = record.round - 1
        values = [QUANTITIES[against].text(float(totals[t])) for against, totals in data.totals.items()]
        known = record.metrics | ({"train_loss": train[t]} if t in train else {})
        rows.append([*values, *(text_of(entry(name), known.get(name)) for name in names)])
    head = [entry(name).title for name in (*data.totals, *names)]
    return numbers_table("Evaluations", head, rows, "evaluations")

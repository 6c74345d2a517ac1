"""Further records of a run: notes of policies, links, data and algorithms, and metrics of other kinds."""

from __future__ import annotations

from dataclasses import dataclass

from fedradio.report.charts.chart import thinned
from fedradio.report.charts.learning import other_metrics
from fedradio.report.page.chart import (
    Chart,
    ChartView,
    axis,
    figure,
    label,
    line,
    plain,
    shade,
    switch,
    whole,
)
from fedradio.report.page.html import Html, Piece, paragraph, section, table
from fedradio.report.page.numbers import number
from fedradio.report.page.run_data import RunData
from fedradio.results.digest import NoteSeries
from fedradio.results.quantities import entry

MEANINGS = {
    "eligible": "clients in a cell that could have taken part",
    "short": "how many clients a cell is short of the number it wanted to select",
    "relaxed": "whether a cell had to select clients from the last edge round again",
    "iterations": "iterations of the policy's solver",
    "p_sc": "probability, over the fading, that a payload arrives before the deadline",
    "full_power_steps": "local steps that would fit at full CPU frequency and power",
    "fresh": "new samples since the previous exchange",
    "label_drift": "total variation distance between a client's label shares now and at the previous exchange",
    "label_shift": "total variation distance between a client's label shares now and at the start",
    "top_labels": "current share of the two labels that a client had most often at the start",
    "least_labels": "current share of the two labels that a client had least often at the start",
    "staleness": "exchanges since a client's payload last arrived; clients that never arrived are left out",
    "weight": "coefficient of a client's last update in the sum",
    "score": "how well a client's last update agrees with the mean",
    "pseudo_accuracy": "share of a client's pseudo-labels that are correct; clients without any are left out",
    "bias": "over-the-air error: unequal shares of the senders",
    "fading": "over-the-air error: fading that does not average out",
    "intra": "over-the-air error: interference between senders of the same receiver",
    "inter": "over-the-air error: interference from senders of other receivers",
    "noise": "over-the-air error: receiver noise",
    "tx_power": "mean power per symbol, over the clients that sent",
    "tx_power_vector": "mean power of the whole vector, over the clients that sent",
}
"""Meanings of the notes made by fedradio's own parts."""


@dataclass(frozen=True)
class Series:
    """A quantity over exchanges or rounds, with its unit if it has one; ``at`` is the title of that axis."""

    title: str
    meaning: str
    at: str
    note: NoteSeries
    unit: str = ""


def notes(data: RunData) -> Html:
    """The section of further records: one chart with a switch for the quantity."""
    every = _series(data)
    if not every:
        why = "The parts of this run recorded nothing beyond accuracies, losses, time, energy and bits."
        return section("notes", "Further records", paragraph(why, class_="absent"))
    views = {key: _view(series) for key, series in every.items()}
    first = next(iter(every.values()))
    title = first.title.capitalize() if len(every) == 1 else "Over time"
    chart = Chart("notes-chart", title, _sentence(first), views, _numbers(every))
    options = {key: series.title for key, series in every.items()}
    return section("notes", "Further records", switch("note", "Show", options, [chart.identity]), figure(chart))


def _series(data: RunData) -> dict[str, Series]:
    """All notes and further metrics of a run, by the name of their view."""
    every = {}
    hops = {hop for hop, _ in data.exchanges.notes}
    for place, ((hop, name), note) in enumerate(sorted(data.exchanges.notes.items(), key=lambda item: item[0][0])):
        title = name.replace("_", " ") + (f", hop {hop}" if len(hops) > 1 else "")
        meaning = MEANINGS.get(name, f"mean over {note.each}")
        every[f"note-{place}"] = Series(title, meaning, "Edge round" if hop == 0 else f"Exchange of hop {hop}", note)
    for place, name in enumerate(other_metrics(data.run.metrics())):
        points = data.exchanges.curve(name)
        if points is not None:
            values = points[1].tolist()
            note = NoteSeries([int(at) for at in points[0]], values, values, values)
            metric = entry(name, [data.run])
            meaning = "metric of the evaluations" + ("; lower is better" if metric.better == "less" else "")
            every[f"metric-{place}"] = Series(metric.title, meaning, "Rounds", note, metric.unit)
    return every


def _view(series: Series) -> ChartView:
    """The view of a series: its mean and a band over all values."""
    note, chosen = series.note, thinned(len(series.note.at)).tolist()
    x = [note.at[place] for place in chosen]
    low, mean, high = (plain([values[place] for place in chosen]) for values in (note.low, note.mean, note.high))
    band = shade(x, low, high, "@blue") if low != high else []
    layout = {"xaxis": whole(series.at, max(x)), "yaxis": axis(_axis_title(series), rangemode="tozero")}
    return ChartView([*band, line("mean", x, mean, "@blue")], layout, _sentence(series))


def _axis_title(series: Series) -> str:
    return label(f"{series.title} [{series.unit}]" if series.unit else series.title)


def _sentence(series: Series) -> str:
    """A sentence on what a series shows and how its mean changes."""
    first, last = series.note.mean[0], series.note.mean[-1]
    change = f"is {number(last)}" if first == last else f"goes from {number(first)} to {number(last)}"
    band = f"; the band spans all {series.note.each}" if series.note.low != series.note.high else ""
    return f"{series.title[0].upper()}{series.title[1:]}: {series.meaning}. Its mean {change}{band}."


def _numbers(every: dict[str, Series]) -> Html:
    """The table of all series."""
    rows: list[list[Piece]] = []
    for series in every.values():
        note = series.note
        values = (note.mean[0], note.mean[-1], min(note.low), max(note.high))
        rows.append([series.title, str(len(note.at)), *map(number, values), series.meaning])
    head = ["quantity", "values", "first mean", "last mean", "minimum", "maximum", "meaning"]
    return table("Further records, minimum and maximum over all senders or receivers", head, rows, numbers=False)

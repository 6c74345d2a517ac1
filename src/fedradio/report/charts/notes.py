"""Further records of a run: notes of policies, links, data and algorithms, and metrics of other kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedradio.core.units import show_number
from fedradio.report.charts.chart import Absent, Area, Axis, Chart, Line, Plot, capital
from fedradio.report.charts.learning import other_metrics
from fedradio.report.style import SOLID, Style
from fedradio.report.table import Table
from fedradio.results.digest import NoteSeries
from fedradio.results.quantities import entry
from fedradio.results.run import Run

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


def notes(run: Run) -> Chart | Absent:
    """One view for each note and further metric: its mean, and a band over all senders or receivers."""
    every = series_of(run)
    if not every:
        why = "the parts of this run recorded nothing beyond accuracies, losses, time, energy and bits"
        return Absent("notes", "Further records", why)
    plots = {view: _plot(series) for view, series in every.items()}
    first = next(iter(every.values()))
    title = capital(first.title) if len(every) == 1 else "Over time"
    return Chart("notes", title, _says(first), plots, _numbers(every), "Show")


def series_of(run: Run) -> dict[str, Series]:
    """All notes and further metrics of a run, by the name of their view."""
    every = {}
    hops = {hop for hop, _ in run.digest.notes}
    for (hop, name), note in sorted(run.digest.notes.items(), key=lambda item: item[0][0]):
        several = len(hops) > 1
        title = name.replace("_", " ") + (f", hop {hop}" if several else "")
        meaning = MEANINGS.get(name, f"mean over {note.each}")
        at = "Edge round" if hop == 0 else f"Exchange of hop {hop}"
        every[f"{name}-hop{hop}" if several else name] = Series(title, meaning, at, note)
    for name in other_metrics(run.metrics()):
        points = run.digest.curve(name)
        if points is not None:
            metric = entry(name, [run])
            values = (metric.scale * points[1]).tolist()
            meaning = "metric of the evaluations" + ("; lower is better" if metric.better == "less" else "")
            note = NoteSeries([int(at) for at in points[0]], values, values, values)
            every[f"metric-{name}"] = Series(metric.title, meaning, "Round", note, metric.unit)
    return every


def _plot(series: Series) -> Plot:
    """The mean of a series, and a band over all values."""
    x, mean, low, high = (
        np.array(values, dtype=np.float64)
        for values in (series.note.at, series.note.mean, series.note.low, series.note.high)
    )
    band = [Area(f"all {series.note.each}", x, low, high, "@blue")] if series.note.low != series.note.high else []
    line = Line("mean", x, mean, Style("@blue", SOLID, "o" if len(x) <= FEW else ""))
    y = Axis(capital(series.title), series.unit, zero=bool(low.min() >= 0))
    return Plot(Axis(series.at, whole=True), y, [*band, line], series.title, _says(series))


FEW = 25
"""Most points of a line with markers."""


def _says(series: Series) -> str:
    """What a series shows, and how its mean changes."""
    first, last = series.note.mean[0], series.note.mean[-1]
    unit = f" {series.unit}" if series.unit else ""
    to = f"{show_number(last)}{unit}"
    change = f"is {to}" if first == last else f"goes from {show_number(first)} to {to}"
    band = f"; the band spans all {series.note.each}" if series.note.low != series.note.high else ""
    return f"{capital(series.title)}: {series.meaning}. Its mean {change}{band}."


def _numbers(every: Mapping[str, Series]) -> Table:
    """The table of all series."""
    rows = []
    for series in every.values():
        note = series.note
        values = (note.mean[0], note.mean[-1], min(note.low), max(note.high))
        title = f"{series.title} [{series.unit}]" if series.unit else series.title
        rows.append([title, str(len(note.at)), *map(show_number, values), series.meaning])
    head = ["quantity", "values", "first mean", "last mean", "minimum", "maximum", "meaning"]
    return Table("Further records, minimum and maximum over all senders or receivers", head, rows)

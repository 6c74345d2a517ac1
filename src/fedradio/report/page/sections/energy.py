"""Energy of a run: joules over rounds, clients and edge rounds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedradio.report.page.chart import (
    Chart,
    ChartView,
    Layout,
    Trace,
    absent,
    axis,
    cdf_points,
    figure,
    line,
    numbers_table,
    plain,
    whole,
)
from fedradio.report.page.html import Html, paragraph, section, tag
from fedradio.report.page.numbers import percent, quantity
from fedradio.report.page.run_data import RunData
from fedradio.results.run import Floats

BARS = 300
"""Most bars of a chart; further rounds are averaged with their neighbours."""

LOOKS = {"total": ("@ink", "solid"), "computing": ("@blue", "dash"), "sending": ("@orange", "dot")}
"""Colour and dash of every kind of energy."""

WIDE = 50.0
"""Ratio of the largest to the smallest joules above which the axis is logarithmic."""


def energy(data: RunData) -> Html:
    """The section of energy, or the reason why it is undefined."""
    if not data.edge_rounds:
        return section("energy", "Energy", paragraph("No edge round is on record.", class_="absent"))
    if not data.joules:
        why = "Energy is undefined in this run: hop 0 has no fleet that uses energy for computing or sending."
        return section("energy", "Energy", paragraph(why, class_="absent"))
    partial = None
    if len(data.joules) < 2:
        known, unknown = ("sending", "computing") if "sending" in data.joules else ("computing", "sending")
        partial = paragraph(f"Only the energy of {known} is defined here; that of {unknown} is not.", class_="aside")
    clients = {name: values.clients for name, values in data.joules.items()}
    edge_rounds = {name: values.edge_rounds for name, values in data.joules.items()}
    return section(
        "energy",
        "Energy",
        partial,
        tag(
            "div",
            figure(cdf_chart("client-energy", "Per client, whole run", "clients", clients)),
            figure(cdf_chart("slot-energy", "Per edge round, all clients", "edge rounds", edge_rounds)),
            class_="pair",
        ),
        _over_rounds(data),
    )


def with_total(parts: Mapping[str, Floats]) -> dict[str, Floats]:
    """The kinds of energy, preceded by their sum if there are several."""
    return dict(parts) if len(parts) < 2 else {"total": np.sum(list(parts.values()), axis=0), **parts}


def energy_axis(values: Floats) -> Layout:
    """The axis of joules: linear, or logarithmic if values differ widely."""
    positive = values[values > 0]
    wide = len(positive) > 0 and bool(positive.max() > WIDE * positive.min())
    if not wide:
        return axis("Energy [J]", rangemode="tozero")
    return axis(
        "Energy [J], logarithmic",
        type="log",
        tickformat="~s",
        dtick=1 if positive.max() < 1e8 * positive.min() else None,
    )


def cdf_chart(identity: str, title: str, what: str, parts: Mapping[str, Floats]) -> Chart:
    """The chart of the distributions of joules over clients or edge rounds."""
    kinds = {name: values for name, values in with_total(parts).items() if values.any()}
    kinds = kinds or with_total(parts)
    traces: list[Trace] = []
    for name, values in kinds.items():
        colour, dash = LOOKS[name]
        traces.append(line(name, *cdf_points(values), colour, line={"dash": dash, "shape": "hv"}) | {"mode": "lines"})
    layout = {
        "xaxis": energy_axis(np.concatenate(list(kinds.values()))),
        "yaxis": axis(f"Share of {what}", range=[0, 1.02]),
        "showlegend": len(traces) > 1,
    }
    first = next(iter(with_total(parts).values()))
    middle, nine, most = (quantity(float(np.quantile(first, q)), "J") for q in (0.5, 0.9, 1.0))
    says = (
        f"Over {len(first):,} {what}, the median energy is {middle}, the 90 % quantile {nine} and the maximum {most}."
    )
    if len(parts) == 2 and first.sum() > 0:
        says += f" Computing accounts for {percent(float(parts['computing'].sum() / first.sum()), 1)} of the total."
    return Chart(
        identity, title, says, {"all": ChartView(traces, layout)}, _quantiles(with_total(parts), what), height=300
    )


def _quantiles(kinds: Mapping[str, Floats], what: str) -> Html:
    """The table of quantiles of every kind of energy."""
    names = {"minimum": 0.0, "10 %": 0.1, "25 %": 0.25, "median": 0.5, "75 %": 0.75}
    names |= {"90 %": 0.9, "maximum": 1.0}
    rows = [
        [name, *(quantity(float(np.quantile(values, q)), "J") for values in kinds.values())]
        for name, q in names.items()
    ]
    return numbers_table(f"Quantiles of energy over {what}", ["quantile", *kinds], rows, "quantiles")


def _over_rounds(data: RunData) -> Html:
    """The chart of joules per round by kind and hop."""
    title, rows = "Per round", data.run.rounds
    parts: dict[str, Floats] = {}
    if rows and all(record.compute_j is not None for record in rows):
        parts["computing"] = np.array([record.compute_j for record in rows])
    for hop in range(len(rows[0].tx_j) if rows else 0):
        if all(record.tx_j[hop] is not None for record in rows):
            parts[f"sending, hop {hop}"] = np.array([record.tx_j[hop] for record in rows])
    parts = {name: values for name, values in parts.items() if values.any()}
    if not parts:
        return absent(title, "The energy of every round is undefined.")
    bins = np.array_split(np.arange(len(rows)), min(BARS, len(rows)))
    x = plain([float(rounds.mean()) + 1 for rounds in bins])
    colours = ["@blue", "@orange", "@green", "@red", "@purple"]
    traces: list[Trace] = [
        {"type": "bar", "name": name, "x": x, "y": plain([float(values[rounds].mean()) for rounds in bins])}
        | {"marker": {"color": colours[place % len(colours)], "line": {"width": 0}}}
        for place, (name, values) in enumerate(parts.items())
    ]
    layout = {"barmode": "stack", "xaxis": whole("Round", len(rows)), "yaxis": axis("Energy [J]"), "showlegend": True}
    total = np.sum(list(parts.values()), axis=0)
    says = f"A round uses {quantity(float(total.mean()), 'J')} on average, "
    says += f"from {quantity(float(total.min()), 'J')} to {quantity(float(total.max()), 'J')}."
    lines = [[str(t + 1), *(quantity(float(values[t]), "J") for values in parts.values())] for t in range(len(rows))]
    table = numbers_table("Energy per round", ["round", *parts], lines, "rounds")
    return figure(Chart("round-energy", title, says, {"all": ChartView(traces, layout)}, table, height=300))

"""Energy: joules over clients, uploads and edge rounds, and in every round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedradio.core.contracts.records import RoundRecord
from fedradio.core.units import show, show_percent
from fedradio.report.charts.chart import (
    Absent,
    Axis,
    Bars,
    Chart,
    Group,
    Plot,
    Samples,
    capital,
    distribution,
    neighbours,
    quantiles,
)
from fedradio.report.style import DOT, LONG, SHORT, SOLID, Style
from fedradio.report.table import LazyRows, Table
from fedradio.results.run import Floats

DISTRIBUTIONS = {
    "energy-clients": ("Per client, whole run", "client", "clients"),
    "energy-uploads": ("Per client and edge round", "upload", "uploads"),
    "energy-edge-rounds": ("Per edge round, all clients", "edge round", "edge_rounds"),
}
"""Distributions of joules: title, what is counted, field of :class:`fedradio.results.digest.Joules`."""

LOOKS = {
    "total": Style("@ink", SOLID, ""),
    "computing": Style("@blue", SHORT, ""),
    "sending": Style("@orange", DOT, ""),
    "waiting": Style("@green", LONG, ""),
}
COLOURS = ("@blue", "@orange", "@green", "@red", "@purple")

WHY = "hop 0 has no fleet that uses energy for computing or sending"
WIDE = 50.0
"""Ratio of the largest to the smallest joules above which the axis is logarithmic."""

BARS = 300
"""Most bars of a chart; further rounds are averaged with their neighbours."""


def energy(groups: Sequence[Group]) -> list[Chart | Absent]:
    """Distributions of joules: of one group by kind, of several groups their totals."""
    known = [group for group in groups if group.runs and all(run.joules for run in group.runs)]
    if not known:
        return [Absent(name, title, WHY) for name, (title, _, _) in DISTRIBUTIONS.items()]
    return [_distribution(name, known, len(groups) > 1) for name in DISTRIBUTIONS]


def with_total(parts: Mapping[str, Floats]) -> dict[str, Floats]:
    """The kinds of energy, preceded by their sum if there are several."""
    return dict(parts) if len(parts) < 2 else {"total": np.sum(list(parts.values()), axis=0), **parts}


def _distribution(name: str, groups: Sequence[Group], several: bool) -> Chart:
    title, one, field = DISTRIBUTIONS[name]
    what = f"{one}s"
    kinds = [_pooled(group, field) for group in groups]
    totals = {group.label: next(iter(parts.values())) for group, parts in zip(groups, kinds, strict=True)}
    samples: Samples = {kind: (LOOKS[kind], values) for kind, values in kinds[0].items() if values.any()}
    if several or not samples:
        samples = {group.label: (group.style, totals[group.label]) for group in groups}
    says = _medians(totals, what) if several else _shares(kinds[0], what)
    x = energy_axis(np.concatenate([values for _, values in samples.values()]), f"Energy per {one}")
    numbers = quantiles(samples, f"Quantiles of energy over {what}", lambda joules: show(joules, "J"))
    return Chart(name, title, says, {"": distribution(samples, x, what)}, numbers, height=300)


def _pooled(group: Group, field: str) -> dict[str, Floats]:
    """Joules of all runs of a group, by kind."""
    kinds = group.runs[0].joules
    return with_total(
        {kind: np.concatenate([getattr(run.joules[kind], field) for run in group.runs]) for kind in kinds}
    )


def energy_axis(values: Floats, title: str = "Energy") -> Axis:
    """The axis of joules: linear, or logarithmic if values differ widely."""
    positive = values[values > 0]
    wide = len(positive) > 0 and bool(positive.max() > WIDE * positive.min())
    return Axis(title, "J", log=wide, zero=not wide)


def _shares(kinds: Mapping[str, Floats], what: str) -> str:
    first = next(iter(kinds.values()))
    middle, nine, most = (show(float(np.quantile(first, q)), "J") for q in (0.5, 0.9, 1.0))
    says = (
        f"Over {len(first):,} {what}, the median energy is {middle}, the 90 % quantile {nine} and the maximum {most}."
    )
    if "total" in kinds and first.sum() > 0:
        share = show_percent(float(kinds["computing"].sum() / first.sum()), 1)
        says += f" Computing accounts for {share} of the total."
    return says


def _medians(joules: Mapping[str, Floats], what: str) -> str:
    """The lowest and the highest median, with the labels of their variants."""
    medians = {label: float(np.median(values)) for label, values in joules.items()}
    low, high = min(medians, key=lambda label: medians[label]), max(medians, key=lambda label: medians[label])
    least, most = (show(medians[label], "J") for label in (low, high))
    text = f"lowest in {low} ({least}) and highest in {high} ({most})"
    same = f"the same in all variants ({least})" if len(medians) > 1 else least
    return f"{capital(what)} of all runs of each variant. The median is {same if least == most else text}."


def energy_of_rounds(records: Sequence[RoundRecord]) -> Chart | Absent:
    """Joules per round by kind and hop, as stacked bars."""
    name, title = "energy-rounds", "Per round"
    by_kind = {"computing": [record.compute_j for record in records]}
    hops = range(len(records[0].tx_j) if records else 0)
    by_kind |= {f"sending, hop {hop}": [record.tx_j[hop] for record in records] for hop in hops}
    waits = [[0.0] * len(hops) if record.wait_j is None else record.wait_j for record in records]
    by_kind |= {f"waiting, hop {hop}": [wait[hop] for wait in waits] for hop in hops}
    known = {kind: np.array(values, dtype=np.float64) for kind, values in by_kind.items() if None not in values}
    parts = {kind: values for kind, values in known.items() if values.any()}
    if not parts:
        return Absent(name, title, "the energy of every round is undefined")
    bins, x = neighbours(len(records), BARS)
    layers = [
        Bars(kind, x, np.array([values[part].mean() for part in bins]), COLOURS[place % len(COLOURS)])
        for place, (kind, values) in enumerate(parts.items())
    ]
    total = np.sum(list(parts.values()), axis=0)
    mean, least, most = (show(float(value), "J") for value in (total.mean(), total.min(), total.max()))
    says = f"A round uses {mean} on average, from {least} to {most}."

    def row(t: int) -> list[str]:
        return [str(t + 1), *(show(float(values[t]), "J") for values in parts.values())]

    numbers = Table("Energy per round", ["round", *parts], LazyRows(len(records), row), "rounds")
    plot = Plot(Axis("Round", whole=True), Axis("Energy", "J", zero=True), layers)
    return Chart(name, title, says, {"": plot}, numbers, height=300)

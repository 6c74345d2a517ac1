"""Section of a sweep's page: accuracy against cost, and the cost of reaching a target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedradio.core.units import show_percent
from fedradio.report.charts.learning import fitted, unlike
from fedradio.report.page.chart import (
    VISIBLE,
    Chart,
    ChartView,
    Layout,
    Trace,
    absent,
    axis,
    figure,
    label,
    line,
    numbers_table,
    plain,
    switch,
)
from fedradio.report.page.html import UNDEFINED, Html, Piece, section, table, tag
from fedradio.report.page.numbers import axis_title, plus_minus
from fedradio.report.page.sections.sweep_charts import chart_height, hidden
from fedradio.report.page.sweep_data import SweptRun, SweptVariant
from fedradio.results.quantities import QUANTITIES, axes, entry
from fedradio.results.quantity import Quantity
from fedradio.results.statistics import Interval, interval

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99)
"""Accuracies that can be a target."""

Reached = tuple[int, dict[str, Interval | None]]
"""How many seeds reached a target, and what it took them on average, by quantity."""


def costs(variants: Sequence[SweptVariant]) -> Html:
    """The section of costs; a sentence where no run is complete or none has reached any target."""
    known = _telling([each for each in axes() if any(variant.values(each.name) for variant in variants)], variants)
    best = max((curve[1].max() for curve in _accuracies(variants)), default=0.0)
    levels = [level for level in LEVELS if level <= best]
    if not levels or not known:
        why = f"No complete run has reached {show_percent(LEVELS[0], 0)} accuracy."
        return section("cost", "Cost", absent("Accuracy against cost", why))
    charts = [_ends(variants, known), _targets(variants, known, levels)]
    options = {each.name: each.title for each in known}
    names = [chart.identity for chart in charts]
    pictures = tag("div", *map(figure, charts), class_="pair")
    return section(
        "cost", "Cost", switch("cost-of", "Cost in", options, names), pictures, _until(variants, known, levels)
    )


def _telling(known: Sequence[Quantity], variants: Sequence[SweptVariant]) -> list[Quantity]:
    """Quantities by which variants differ at the end come first."""
    means = {each.name: [mean.mean for variant in variants if (mean := variant.mean(each.name))] for each in known}
    return sorted(known, key=lambda each: len({f"{mean:.6g}" for mean in means[each.name]}) < 2)


def reached(variant: SweptVariant, target: float, known: Sequence[Quantity]) -> Reached:
    """The seeds of a variant that reached an accuracy, and what they had spent by then: means over these seeds."""
    spent = [found for run in variant.complete().values() if (found := _spent(run, target, known)) is not None]
    means: dict[str, Interval | None] = {}
    for each in known:
        amounts = [amount for one in spent if (amount := one[each.name]) is not None]
        means[each.name] = interval(amounts) if amounts and len(amounts) == len(spent) else None
    return len(spent), means


def _spent(run: SweptRun, target: float, known: Sequence[Quantity]) -> dict[str, float | None] | None:
    """The cost of a run up to its first evaluation that reaches the target; None if there is none."""
    curves = {each.name: run.digest.curve("accuracy", each.name) for each in known}
    rounds = run.digest.curve("accuracy")
    hits = np.flatnonzero(rounds[1] >= target) if rounds is not None else np.zeros(0)
    if not len(hits):
        return None
    return {name: None if curve is None else float(curve[0][hits[0]]) for name, curve in curves.items()}


def _accuracies(variants: Sequence[SweptVariant]) -> list[tuple[np.ndarray, np.ndarray]]:
    runs = [run for variant in variants for run in variant.complete().values()]
    return [curve for run in runs if (curve := run.digest.curve("accuracy")) is not None]


def _ends(variants: Sequence[SweptVariant], known: Sequence[Quantity]) -> Chart:
    """The chart of final accuracies against total costs: one marker per variant, with its intervals."""
    views = {}
    for each in known:
        traces: list[Trace] = []
        points: list[tuple[float, Interval]] = []
        for place, variant in enumerate(variants):
            accuracy, cost = variant.mean("accuracy"), variant.mean(each.name)
            if accuracy is not None and cost is not None:
                points.append((cost.mean, accuracy))
                trace = _marker(variant, cost, accuracy)
                traces.append(trace if place < VISIBLE else trace | {"visible": "legendonly"})
        x = axis(axis_title(each)) | _scale([cost for cost, _ in points])
        bars = [100 * end for _, mean in points for end in (mean.low, mean.high) if end is not None]
        limits = fitted(entry("accuracy"), [100 * mean.mean for _, mean in points], bars, room=1.0)
        y = axis(axis_title(entry("accuracy")), range=list(limits))
        views[each.name] = ChartView(traces, {"xaxis": x, "yaxis": y, "showlegend": True})
    rows = [
        [variant.label, *(plus_minus(variant.mean(name), QUANTITIES[name].text) for name in ("accuracy", *names))]
        for names in [[each.name for each in known]]
        for variant in variants
    ]
    head = ["variant", "accuracy", *(each.title for each in known)]
    says = "Means over seeds at the end of the runs; bars are 95 % confidence intervals. The upper left corner is best."
    numbers = numbers_table("Accuracy and cost at the end", head, rows, "variants")
    return Chart(
        "cost-chart", "Accuracy against cost", says + hidden(variants), views, numbers, None, chart_height(variants)
    )


def _marker(variant: SweptVariant, cost: Interval, accuracy: Interval) -> Trace:
    """A variant as one marker with its intervals."""
    bars = {"error_x": cost.half, "error_y": None if accuracy.half is None else 100 * accuracy.half}
    shown = {
        name: {"type": "data", "array": plain([half]), "color": variant.colour, "thickness": 1}
        for name, half in bars.items()
        if half
    }
    return {
        "type": "scatter",
        "mode": "markers",
        "name": label(variant.label),
        "x": plain([cost.mean]),
        "y": plain([100 * accuracy.mean]),
        "marker": {"color": variant.colour, "size": 10, "symbol": variant.style.plotly_marker},
    } | shown


def _scale(amounts: Sequence[float]) -> Layout:
    """A logarithmic axis if the costs differ widely in size, otherwise one that starts at 0."""
    return {"type": "log"} if unlike(amounts) else {"rangemode": "tozero"}


def _targets(variants: Sequence[SweptVariant], known: Sequence[Quantity], levels: Sequence[float]) -> Chart:
    """The chart of the cost until a target, for every target that all seeds of a variant reached."""
    curves = [curve[1] for curve in _accuracies(variants)]
    first = np.floor(100 * min(curve[0] for curve in curves)) / 100
    grid = np.arange(first, max(curve.max() for curve in curves) + 1e-9, 0.01).tolist()
    found = {variant.identity: [(level, reached(variant, level, known)) for level in grid] for variant in variants}
    views = {}
    for each in known:
        traces: list[Trace] = []
        amounts: list[float] = []
        for place, variant in enumerate(variants):
            means = [
                (level, mean[each.name]) for level, (seeds, mean) in found[variant.identity] if _all(variant, seeds)
            ]
            points = [(level, mean.mean) for level, mean in means if mean is not None]
            if points:
                amounts.append(points[-1][1])
                trace = _target_line(variant, points)
                traces.append(trace if place < VISIBLE else trace | {"visible": "legendonly"})
        y = axis(axis_title(each)) | _scale(amounts)
        views[each.name] = ChartView(traces, {"xaxis": axis("Target accuracy [%]"), "yaxis": y, "showlegend": True})
    rows = _target_rows(variants, known, levels)
    head = ["variant", "target", "seeds", *(each.title for each in known)]
    says = (
        "Cost when the accuracy first reached a target, as means over seeds. "
        "A line ends at the last target that all seeds reached."
    )
    numbers = numbers_table("Cost of reaching a target", head, rows, "rows")
    return Chart(
        "target-chart",
        "Cost of reaching a target",
        says + hidden(variants),
        views,
        numbers,
        None,
        chart_height(variants),
    )


def _all(variant: SweptVariant, seeds: int) -> bool:
    return seeds == len(variant.complete()) > 0


def _target_line(variant: SweptVariant, points: Sequence[tuple[float, float]]) -> Trace:
    x, y = plain([100 * level for level, _ in points]), plain([amount for _, amount in points])
    return line(variant.label, x, y, variant.colour, line={"dash": variant.style.plotly_dash, "shape": "hv"}) | {
        "mode": "lines" if len(points) > 1 else "markers"
    }


def _target_rows(
    variants: Sequence[SweptVariant], known: Sequence[Quantity], levels: Sequence[float]
) -> list[list[str | None]]:
    """Rows of numbers: every variant at the last few targets."""
    rows: list[list[str | None]] = []
    for variant in variants:
        for level in levels[-5:]:
            seeds, means = reached(variant, level, known)
            texts = [plus_minus(means[each.name], each.text) for each in known]
            rows.append([variant.label, show_percent(level, 0), f"{seeds} of {len(variant.complete())}", *texts])
    return rows


def _until(variants: Sequence[SweptVariant], known: Sequence[Quantity], levels: Sequence[float]) -> Html:
    """The table of costs until one target: the highest that every complete run reached, else the highest of all."""
    runs = [curve[1].max() for curve in _accuracies(variants)]
    common = [level for level in levels if level <= min(runs)]
    target = common[-1] if common else levels[-1]
    rows: list[list[Piece]] = []
    for variant in variants:
        seeds, means = reached(variant, target, known)
        name = tag("a", variant.label, href=f"#{variant.identity}")
        values = [plus_minus(means[each.name], each.text) if seeds else UNDEFINED for each in known]
        rows.append([name, f"{seeds} of {len(variant.complete())}", *values])
    which = "which every complete run reached" if common else "over the seeds that reached it"
    caption = f"Cost of reaching {show_percent(target, 0)} accuracy, {which}: mean ± 95 % confidence interval"
    return table(caption, ["variant", "seeds", *(each.title for each in known)], rows)

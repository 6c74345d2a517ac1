"""The data of a reproduced figure as plain data: our series, and the published points.

Every picture is ``{"show": kind, "series": [...]}`` with one series for each row that has something to show; further
keys of a series belong to its kind, see :data:`KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fedradio.papers.collect import Result
from fedradio.results.run import Curve, Run
from fedradio.results.statistics import band, interval

Series = dict[str, Any]
"""What one row shows."""

MEDIANS = ("median", "median_j")
"""What studies call the median of their samples."""

POINTS = 400
"""Largest number of quantiles by which a distribution is stored."""


def picture(result: Result, shows: Callable[[Result, int], Series | None] | None = None) -> dict[str, Any] | None:
    """The data of an item's picture; None for tables. Rows without data are left out.

    ``shows`` gives what a row shows, if it does not follow from its runs and studies.
    """
    item = result.item
    if item.show == "table":
        return None
    show = shows or KINDS[item.show]
    series = [
        {"label": _label(result, number), "algorithm": row.scaled.row.algorithm, "row": number, **shown}
        for number, row in enumerate(result.rows)
        if (shown := show(result, number)) is not None
    ]
    axes = {"x": item.axes.x, "y": item.axes.y} if item.axes else {}
    return {"show": item.show, "title": item.title, **axes, "series": series}


def _label(result: Result, row: int) -> str:
    """The label of a row, with its mean number in the column of the legend if there is one."""
    axes, label = result.item.axes, result.rows[row].label
    entry = result.entries[row].get(axes.legend or "") if axes else None
    return label if entry is None or entry.ours is None else f"{label} ({entry.ours.mean:.{entry.column.digits}f})"


def _curves(result: Result, row: int) -> Series | None:
    """A mean curve over ``seeds``: ``x``, ``mean``, ``low``, ``high``; ``points`` and ``level`` were published."""
    axes = result.item.axes
    assert axes is not None
    by_seed = {seed: curve(run, axes.y, axes.x) for seed, run in result.rows[row].runs.items()}
    curves = {seed: xy for seed, xy in by_seed.items() if xy is not None}
    if not curves:
        return None
    mean = band(list(curves.values()))
    points, level = [], None
    for entry in result.entries[row].values():
        name, _, at = entry.column.measure.partition("@")
        if entry.published is None or name != axes.y or entry.column.study is not None:
            continue
        if at.isdecimal() and axes.x == "rounds":
            points.append([float(at), entry.published[0]])
        elif not at:
            level = entry.published[0]
    return {
        "seeds": list(curves),
        **{key: getattr(mean, key).tolist() for key in ("x", "mean", "low", "high")},
        "points": points,
        "level": level,
    }


def curve(run: Run, y: str, x: str) -> Curve | None:
    """The curve of a metric against what was spent; ``energy_j`` are the joules of all rounds until then."""
    if x == "edge_rounds":
        xy = curve(run, y, "rounds")
        return None if xy is None else (run.spec.edge_rounds * xy[0], xy[1])
    if y != "energy_j":
        return run.curve(y, x)
    spent, joules = run.totals(x), run.totals("joules")
    return None if spent is None or joules is None else (spent, joules)


def _cdf(result: Result, row: int) -> Series | None:
    """A distribution over all seeds: ``samples [n]`` in ``unit``, its quantiles 1/n to 1, of ``count`` samples.

    ``median`` was published.
    """
    unit: str = "J"
    samples: list[float] = []
    if result.item.picture is None:
        for run in result.rows[row].runs.values():
            took = run.participation
            samples += [] if took.joules is None else took.joules[took.active].tolist()
    else:
        for finding in _findings(result, row):
            unit = finding.get("unit", unit)
            samples += finding["samples"]
    if not samples:
        return None
    medians = [
        entry.published[0]
        for entry in result.entries[row].values()
        if entry.published and entry.column.measure in MEDIANS
    ]
    return {
        "unit": unit,
        "samples": _quantiles(samples),
        "count": len(samples),
        "median": next(iter(medians), None),
    }


def _quantiles(samples: Sequence[float]) -> list[float]:
    """At most :data:`POINTS` quantiles of the samples."""
    points = min(len(samples), POINTS)
    quantiles = np.quantile(samples, np.arange(1, points + 1) / points, method="inverted_cdf")
    return [float(value) for value in quantiles]


def _counts(result: Result, row: int) -> Series | None:
    """Edge rounds in which every client was ``eligible`` and ``selected``, ``[C]``, of the first seed."""
    return _first(result, row, "eligible", "selected")


def _map(result: Result, row: int) -> Series | None:
    """The positions and parents of all nodes, ``network``, of the first seed."""
    return _first(result, row, "network")


def _labels(result: Result, row: int) -> Series | None:
    """The ``shares`` of the labels at the rounds ``at``, of the first seed."""
    return _first(result, row, "shares", "at")


def _bound(result: Result, row: int) -> Series | None:
    """The bound ``y`` at ``x``, the mean over seeds."""
    curves = [(np.array(finding["x"], float), np.array(finding["y"], float)) for finding in _findings(result, row)]
    if not curves:
        return None
    mean = band(curves)
    return {"x": mean.x.tolist(), "y": mean.mean.tolist()}


def _bars(result: Result, row: int) -> Series | None:
    """Bars by column, ``bars``: ours with its half interval beside the published value; None if undefined."""
    bars = {}
    for key, entry in result.entries[row].items():
        ours = entry.ours
        bars[key] = {
            "title": entry.column.title,
            "unit": entry.column.unit,
            "mean": None if ours is None else ours.mean,
            "half": None if ours is None else ours.half,
            "published": None if entry.published is None else entry.published[0],
        }
    return {"bars": bars} if any(bar["mean"] is not None for bar in bars.values()) else None


def _top(result: Result, row: int) -> Series | None:
    """Top-1, 2, ... accuracy at the end: ``mean``, ``low``, ``high`` over ``seeds``; ``spread`` over clients.

    A row without runs shows what its study found without training.
    """
    if not result.rows[row].scaled.runs:
        return _top_known(result, row)
    last = {seed: run.evaluations[-1].metrics for seed, run in result.rows[row].runs.items() if run.evaluations}
    if not last:
        return None
    names = ["accuracy"]
    while all(f"top_{len(names) + 1}_accuracy" in metrics for metrics in last.values()):
        names.append(f"top_{len(names) + 1}_accuracy")
    by_name = [[metrics[name] for metrics in last.values()] for name in names]
    spreads = [[metrics[f"{n}_spread"] for metrics in last.values() if f"{n}_spread" in metrics] for n in names]
    return {"seeds": list(last), **_means(by_name, spreads)}


def _top_known(result: Result, row: int) -> Series | None:
    """The accuracies of the 1, 2, ... most popular files, known without training."""
    findings = result.rows[row].studies.get("reference", {})
    known = {seed: finding for seed, finding in findings.items() if finding.get("top")}
    if not known:
        return None
    by_number = list(zip(*(finding["top"] for finding in known.values()), strict=True))
    spreads = list(zip(*(finding["top_spread"] for finding in known.values()), strict=True))
    return {"seeds": list(known), **_means(by_number, spreads)}


def _means(values: Sequence[Sequence[float]], spreads: Sequence[Sequence[float]]) -> Series:
    """Means over seeds with their intervals, and mean spreads, one for each number of guesses."""
    means = [interval(list(by_seed)) for by_seed in values]
    return {
        "mean": [mean.mean for mean in means],
        "low": [mean.mean if mean.low is None else mean.low for mean in means],
        "high": [mean.mean if mean.high is None else mean.high for mean in means],
        "spread": [float(np.mean(spread)) if spread else None for spread in spreads],
    }


def _findings(result: Result, row: int) -> Sequence[Mapping[str, Any]]:
    """The findings of the picture's study for a row, one per seed."""
    return list(result.rows[row].studies.get(str(result.item.picture), {}).values())


def _first(result: Result, row: int, *keys: str) -> Series | None:
    """These keys of the finding of the first seed."""
    findings = _findings(result, row)
    return {key: findings[0][key] for key in keys} if findings else None


KINDS: dict[str, Callable[[Result, int], Series | None]] = {
    "curves": _curves,
    "cdf": _cdf,
    "counts": _counts,
    "map": _map,
    "labels": _labels,
    "bars": _bars,
    "bound": _bound,
    "top": _top,
}
"""The function that gives a row's series for each kind of picture."""

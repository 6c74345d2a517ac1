"""What the picture of a published figure is drawn from, as plain data: ours, and the published points.

Every picture is ``{"show": kind, "series": [...]}`` with one entry a row that has something to show; further
keys of a series belong to its kind, see :data:`KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from fedradio.papers.collect import Found, Result
from fedradio.results.run import Curve, PastRun
from fedradio.results.statistics import band, interval

Series = dict[str, Any]

MEDIANS = ("median", "median_j")
"""What studies call the median of their samples."""

POINTS = 400
"""A distribution is kept by so many quantiles."""


def picture(result: Result) -> dict[str, Any] | None:
    """The data of an item's picture; None for tables. Rows without data are left out."""
    item = result.item
    if item.show == "table":
        return None
    series = [
        {"label": one.label, "algorithm": one.line.row.algorithm, "row": number, **found}
        for number, one in enumerate(result.found)
        if (found := KINDS[item.show](result, number)) is not None
    ]
    axes = {"x": item.axes.x, "y": item.axes.y} if item.axes else {}
    return {"show": item.show, "title": item.title, **axes, "series": series}


def _curves(result: Result, row: int) -> Series | None:
    """``x``, ``mean``, ``low``, ``high``: a mean curve over ``seeds``; ``points`` and ``level`` were published."""
    axes = result.item.axes
    assert axes is not None
    drawn = {seed: curve(run, axes.y, axes.x) for seed, run in result.found[row].runs.items()}
    curves = {seed: one for seed, one in drawn.items() if one is not None}
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


def curve(run: PastRun, y: str, x: str) -> Curve | None:
    """A metric against what was spent; ``energy_j`` is what all rounds until then took."""
    if x == "edge_rounds":
        found = curve(run, y, "rounds")
        each = prod(hop["period"] for hop in run.spec.plain["hops"])
        return None if found is None else (each * found[0], found[1])
    if y != "energy_j":
        return run.curve(y, x)
    spent, joules = run.totals(x), run.totals("joules")
    return None if spent is None or joules is None else (spent, joules)


def _cdf(result: Result, row: int) -> Series | None:
    """``samples [n]`` in ``unit`` of all seeds: the quantiles of ``1/n, 2/n, ..., 1``; ``median`` was published."""
    found = result.found[row]
    unit: str = "J"
    samples: list[float] = []
    if result.item.picture is None:
        for run in found.runs.values():
            took = run.participation
            samples += [] if took.joules is None else took.joules[took.active].tolist()
    else:
        for one in _studied(result, found):
            unit = one.get("unit", unit)
            samples += one["samples"]
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
        "median": next(iter(medians), None),
    }


def _quantiles(samples: Sequence[float]) -> list[float]:
    points = min(len(samples), POINTS)
    found = np.quantile(samples, np.arange(1, points + 1) / points, method="inverted_cdf")
    return [float(value) for value in found]


def _counts(result: Result, row: int) -> Series | None:
    """``eligible`` and ``selected [C]``: edge rounds of every client, of the first seed."""
    return _first(result, row, "eligible", "selected")


def _map(result: Result, row: int) -> Series | None:
    """``network``: who stands where and belongs to whom, of the first seed."""
    return _first(result, row, "network")


def _labels(result: Result, row: int) -> Series | None:
    """``shares`` of the labels at the rounds ``at``, of the first seed."""
    return _first(result, row, "shares", "at")


def _bound(result: Result, row: int) -> Series | None:
    """``x`` and ``y``, the mean over seeds."""
    curves = [(np.array(one["x"], float), np.array(one["y"], float)) for one in _studied(result, result.found[row])]
    if not curves:
        return None
    mean = band(curves)
    return {"x": mean.x.tolist(), "y": mean.mean.tolist()}


def _bars(result: Result, row: int) -> Series | None:
    """``bars``: ours with its half interval beside the published value, by column; None where there is none."""
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
    """``mean``, ``low``, ``high`` of top-1, 2, ... accuracy at the end over ``seeds``; ``spread`` over clients."""
    last = {seed: run.evaluations[-1] for seed, run in result.found[row].runs.items() if run.evaluations}
    if not last:
        return None
    names = ["accuracy"]
    while all(f"top_{len(names) + 1}_accuracy" in one for one in last.values()):
        names.append(f"top_{len(names) + 1}_accuracy")
    means = [interval([one[name] for one in last.values()]) for name in names]
    spread = [[one[f"{name}_spread"] for one in last.values() if f"{name}_spread" in one] for name in names]
    return {
        "seeds": list(last),
        "mean": [one.mean for one in means],
        "low": [one.mean if one.low is None else one.low for one in means],
        "high": [one.mean if one.high is None else one.high for one in means],
        "spread": [float(np.mean(one)) if one else None for one in spread],
    }


def _studied(result: Result, found: Found) -> Sequence[Mapping[str, Any]]:
    return list(found.studies.get(str(result.item.picture), {}).values())


def _first(result: Result, row: int, *keys: str) -> Series | None:
    """Some of what a study found with the first seed."""
    kept = _studied(result, result.found[row])
    return {key: kept[0][key] for key in keys} if kept else None


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
"""What a row gives to each kind of picture."""

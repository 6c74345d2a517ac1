"""Unites shipped results of an item: seeds and rows that were made at different times, in different folders.

Pictures are united from their *parts*: what a row shows of one seed, or of several seeds in files that keep their mean
and interval alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedradio.papers.absence import Reason
from fedradio.papers.items import Item
from fedradio.papers.pairs import differences, ratios
from fedradio.papers.plan import group, plan_reproduction
from fedradio.papers.series import Series
from fedradio.papers.shipped import NOWHERE, Made, Numbers, ShippedResult, fingerprints
from fedradio.papers.tuning import measured
from fedradio.results.statistics import Band, pooled

POINTS = 60
"""Largest number of points of a curve, or of quantiles of a distribution, that ships."""

SAME = 1e-6
"""Largest relative difference of two numbers of the same run: machines round differently."""

OWN = {
    "curves": ("x", "mean", "low", "high"),
    "bound": ("x", "y"),
    "cdf": ("samples", "count"),
    "top": ("mean", "low", "high", "spread"),
}
"""What belongs to the seeds of a series, by the kind of the picture; the rest is the same for all seeds."""

Status = float | Reason | None
"""A number, why there is none, or None: its run has ended, but the number is undefined."""


@dataclass(frozen=True)
class Part:
    """What a row shows of these seeds."""

    seeds: tuple[int, ...]
    shown: Series


Parts = Mapping[str, Sequence[Part]]
"""Parts by the label of the row."""


def made_pairs(shipped: ShippedResult | None) -> set[tuple[str, int]]:
    """Labels and seeds of all runs and studies of a result."""
    return set() if shipped is None else {(made.label, seed) for made in shipped.made for seed in made.seeds}


def conflicts(item: Item, old: ShippedResult, new: ShippedResult) -> Iterator[str]:
    """Why two results of an item cannot be united, as sentences."""
    if old.superseded:
        yield f"the file is marked as superseded: {old.superseded}"
    today = fingerprints(plan_reproduction(item, old.scale, old.seeds, NOWHERE).units)
    for made in old.made:
        if made.label in today and today[made.label] != made.spec_sha256:
            yield f"the file holds {made.label} with another spec than today's"
    tuned = {row.label for row in item.rows if row.best_of}  # they follow from other rows
    for label, row in old.rows.items():
        for key in row if label not in tuned else ():
            for seed in sorted(set(old.seeds) & set(new.seeds)):
                one, other = status(old, label, key, seed), status(new, label, key, seed)
                if not _is_lost(one) and not _is_lost(other) and not _same(one, other):
                    yield f"{label}, {key}, seed {seed}: {_word(one)} in the file, {_word(other)} in the runs"


def status(shipped: ShippedResult, label: str, key: str, seed: int) -> Status:
    """What a result says about a number of one seed."""
    numbers = shipped.rows.get(label, {}).get(key)
    if numbers is None or seed not in shipped.seeds:
        return Reason.NOT_RUN
    return numbers.values.get(str(seed), numbers.lost.get(str(seed)))


def _is_lost(found: Status) -> bool:
    """Whether the run has to be made (again)."""
    return isinstance(found, Reason) and found is not Reason.DIVERGED


def _same(one: Status, other: Status) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= SAME * max(abs(one), abs(other))
    return one == other


def _word(found: Status) -> str:
    return "undefined" if found is None else f"{found:.6g}" if isinstance(found, float) else str(found)


def united(item: Item, old: ShippedResult, new: ShippedResult) -> ShippedResult:
    """Two results of an item as one, without claims and picture, which follow from it.

    The first one's numbers stay; costs of ``new`` are those of the runs and studies that ``old`` does not have.
    """
    seeds = tuple(sorted({*old.seeds, *new.seeds}))
    labels = {group(unit) for unit in plan_reproduction(item, old.scale, seeds, NOWHERE).units}
    made = [one for one in _made(old.made, new.made) if one.label in labels]
    whole = {one.label for one in made if one.seeds == seeds}
    rows = {row.label: {key: _numbers(old, new, row.label, key, seeds) for key in item.columns} for row in item.rows}
    packages = dict.fromkeys((*old.packages, *new.packages))
    return new.model_copy(
        update={
            "seeds": seeds,
            "fedradio": _each(old.fedradio, new.fedradio),
            "commits": _each(old.commits, new.commits),
            "python": _each(old.python, new.python),
            "packages": {name: _each(old.packages.get(name, ()), new.packages.get(name, ())) for name in packages},
            "machines": _each(old.machines, new.machines),
            "made": tuple(made),
            "left": tuple(label for label in _each((*old.left, *new.left), sorted(labels)) if label in labels - whole),
            "rows": _compared(item, rows),
        }
    )


def _each(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _made(old: Sequence[Made], new: Sequence[Made]) -> list[Made]:
    """The runs and studies of both by label: seeds united, seconds added."""
    found = {one.label: one for one in old}
    for one in new:
        if (first := found.get(one.label)) is None:
            found[one.label] = one
            continue
        cpu_s = None if first.cpu_s is None or one.cpu_s is None else round(first.cpu_s + one.cpu_s, 3)
        seeds, wall_s = tuple(sorted({*first.seeds, *one.seeds})), round(first.wall_s + one.wall_s, 3)
        found[one.label] = first.model_copy(update={"seeds": seeds, "wall_s": wall_s, "cpu_s": cpu_s})
    return list(found.values())


def _numbers(old: ShippedResult, new: ShippedResult, label: str, key: str, seeds: Sequence[int]) -> Numbers:
    """A number by seed, that of ``old`` where it has one, or has ended without one."""
    values, lost = {}, {}
    for seed in seeds:
        first, second = (status(one, label, key, seed) for one in (old, new))
        found = second if _is_lost(first) and second is not Reason.NOT_RUN else first
        if isinstance(found, Reason):
            lost[str(seed)] = found
        elif found is not None:
            values[str(seed)] = found
    return Numbers(values=values, lost=lost)


def _compared(item: Item, rows: dict[str, dict[str, Numbers]]) -> dict[str, dict[str, Numbers]]:
    """The same with ratios and differences of rows that were made at different times."""
    for key, column in item.columns.items():
        base = measured(item, column)
        pairs = [(row.label, row.other(key, column)) for row in item.rows if column.of is not None and base]
        for label, other in pairs:
            if base is None or other is None:
                continue
            take = ratios if column.measure == "ratio" else differences
            found = take(_by_seed(rows[label][base]), _by_seed(rows[other][base]))
            has = rows[label][key]
            values = {str(seed): value for seed, value in found.items()} | has.values
            lost = {seed: reason for seed, reason in has.lost.items() if seed not in values}
            rows[label][key] = Numbers(values=dict(sorted(values.items(), key=lambda pair: int(pair[0]))), lost=lost)
    return rows


def _by_seed(numbers: Numbers) -> dict[int, float]:
    return {int(seed): value for seed, value in numbers.values.items()}


def stored_parts(shipped: ShippedResult) -> dict[str, list[Part]]:
    """The parts of a result's picture; a series without parts is its own only part."""
    labels, found = list(shipped.rows), dict[str, list[Part]]()
    for series in (shipped.picture or {}).get("series", ()):
        whole = {key: value for key, value in series.items() if key not in ("label", "algorithm", "row", "parts")}
        seeds = series.get("seeds", shipped.seeds)
        found[labels[series["row"]]] = [
            _part(tuple(part["seeds"]), whole | part) for part in series.get("parts", [{"seeds": seeds}])
        ]
    return found


def _part(seeds: tuple[int, ...], shown: Series) -> Part:
    """A part; the ends of the interval of one seed are its value."""
    if len(seeds) == 1 and "low" in shown:
        shown = shown | {"low": shown["mean"], "high": shown["mean"]}
    return Part(seeds, {key: value for key, value in shown.items() if key != "seeds"})


def united_parts(old: Sequence[Part], new: Sequence[Part]) -> list[Part]:
    """Parts of both: all of ``old``, and those of ``new`` with further seeds."""
    taken = {seed for part in old for seed in part.seeds}
    return sorted([*old, *(part for part in new if not taken & set(part.seeds))], key=lambda part: part.seeds)


def joined(show: str, parts: Sequence[Part]) -> Series:
    """The series of several parts, which it keeps if there are several: see :mod:`fedradio.papers.series`."""
    first = parts[0]
    seeds = [seed for part in parts for seed in part.seeds]
    if show not in OWN:  # of the first seed alone
        return {"seeds": list(first.seeds), **first.shown}
    series = {"seeds": sorted(seeds), **first.shown, **JOIN[show](parts)}
    return series if len(parts) == 1 else series | {"parts": [_kept(show, part, series) for part in parts]}


def _kept(show: str, part: Part, series: Series) -> Series:
    """What a series keeps of a part: what is not the same for all seeds."""
    ends = ("low", "high") if len(part.seeds) == 1 else ()
    own = {key: part.shown[key] for key in OWN[show] if key in part.shown and key not in ends}
    return {"seeds": list(part.seeds)} | {key: value for key, value in own.items() if value != series[key]}


def _join_curves(parts: Sequence[Part]) -> Series:
    found = pooled([_band(part.shown, part.seeds) for part in parts])
    return {key: getattr(found, key).tolist() for key in ("x", "mean", "low", "high")}


def _band(shown: Series, seeds: Sequence[int]) -> Band:
    x = shown.get("x", range(len(shown["mean"])))
    mean, low, high = (np.array(shown[key], float) for key in ("mean", "low", "high"))
    return Band(np.array(x, float), mean, low, high, len(seeds))


def _join_bounds(parts: Sequence[Part]) -> Series:
    found = pooled([_band({"x": p.shown["x"], **dict.fromkeys(("mean", "low", "high"), p.shown["y"])}, p.seeds)
                    for p in parts])  # fmt: skip
    return {"x": found.x.tolist(), "y": found.mean.tolist()}


def _join_distributions(parts: Sequence[Part]) -> Series:
    """Quantiles of all samples; parts count by their samples, or by their seeds if a part does not know its samples."""
    if len(parts) == 1:
        return {}
    known = all("count" in part.shown for part in parts)
    sizes = [part.shown["count"] if known else len(part.seeds) for part in parts]
    samples = np.concatenate([part.shown["samples"] for part in parts])
    weights = np.concatenate(
        [np.full(len(p.shown["samples"]), size / len(p.shown["samples"])) for p, size in zip(parts, sizes, strict=True)]
    )
    points = min(len(samples), POINTS)
    quantiles = np.quantile(samples, np.arange(1, points + 1) / points, method="inverted_cdf", weights=weights)
    return {"samples": quantiles.tolist(), **({"count": sum(sizes)} if known else {})}


def _join_tops(parts: Sequence[Part]) -> Series:
    found = _join_curves(parts)
    spreads = [part.shown["spread"] for part in parts]
    sizes = [len(part.seeds) for part in parts]
    spread = [
        None if any(one is None for one in values) else float(np.average(values, weights=sizes))
        for values in zip(*spreads, strict=True)
    ]
    return {key: found[key] for key in ("mean", "low", "high")} | {"spread": spread}


JOIN: dict[str, Callable[[Sequence[Part]], dict[str, Any]]] = {
    "curves": _join_curves,
    "bound": _join_bounds,
    "cdf": _join_distributions,
    "top": _join_tops,
}
"""The function that joins the parts of each kind of picture that has parts."""

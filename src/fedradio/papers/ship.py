"""Makes shipped results of stored runs and studies: small, and with all that they were made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fedradio.core.errors import StoreError
from fedradio.papers.collect import Entry, collect
from fedradio.papers.form import Scale
from fedradio.papers.items import Item
from fedradio.papers.judge import JudgedClaim, JudgedTest, judge
from fedradio.papers.make import Trouble, load_specs, outdated
from fedradio.papers.plan import (
    OUT,
    Reproduction,
    Unit,
    plan_reproduction,
    reproduce_command,
    stored_seeds,
    stored_study,
)
from fedradio.papers.series import picture
from fedradio.papers.shipped import FORMAT, FoundClaim, FoundTest, Made, Numbers, ShippedResult, fingerprints, group
from fedradio.runs.stored import read_environment, read_summary

SCALES: tuple[Scale, ...] = ("paper", "quick")
"""Scales, in the order in which they ship."""

POINTS = 60
"""Largest number of points of a curve, or of quantiles of a distribution, that ships."""

DIGITS = 5
"""Significant digits of what is drawn."""

ALONG = {"curves": ("x", "mean", "low", "high"), "bound": ("x", "y"), "cdf": ("samples",)}
"""What is thinned out in a series, by the kind of the picture."""


def stored_reproduction(item: Item, out: Path) -> Reproduction | None:
    """The reproduction of an item that is stored, at paper scale if it can be; None if nothing that ships is stored.

    Its seeds are those of which everything is there. Without such seeds at either scale, they are all that are stored,
    and the rows that have been made for all of them count.
    """
    seeds = {scale: _seeds(item, scale, out) for scale in SCALES}
    for scale, (_, whole) in seeds.items():
        if whole:
            return plan_reproduction(item, scale, whole, out)
    for scale, (some, _) in seeds.items():
        if some and _ended(plan := plan_reproduction(item, scale, some, out)):
            return plan
    return None


def _seeds(item: Item, scale: Scale, out: Path) -> tuple[tuple[int, ...], list[int]]:
    """All stored seeds of an item, and those of which everything is there."""
    some = stored_seeds(item, scale, out)
    units = {seed: plan_reproduction(item, scale, (seed,), out).units for seed in some}
    return some, [seed for seed, of in units.items() if of and all(unit.settled() for unit in of)]


def _ended(reproduction: Reproduction) -> list[Unit]:
    """The units that have ended for all seeds: a row with a few of the seeds tells nothing before the others are there.

    Else verdicts would depend on when somebody looked.
    """
    settled = [unit for unit in reproduction.units if unit.settled()]
    groups = [group(unit) for unit in settled]
    return [unit for unit in settled if groups.count(group(unit)) == len(reproduction.seeds)]


def shipped(reproduction: Reproduction) -> ShippedResult:
    """The result of a reproduction as it ships; nothing is run.

    What was made from other specs is left out, and so is what has not ended for all seeds.
    """
    wrong = outdated(reproduction, load_specs(reproduction.units))
    ended = [unit for unit in _ended(reproduction) if unit.path not in wrong]
    paths = {unit.path for unit in ended}
    waiting = {unit.path: Trouble("not run", 1) for unit in reproduction.units if unit.path not in paths}
    result = collect(reproduction, waiting | wrong)
    machines = [environment(unit) for unit in ended]
    drawn = picture(result)
    labels = [group(unit) for unit in ended]
    return ShippedResult(
        format=FORMAT,
        paper=result.item.paper,
        item=result.item.name,
        scale=reproduction.scale,
        seeds=reproduction.seeds,
        command=reproduce_command(replace(reproduction, out=OUT)),
        fedradio=_each(machine["fedradio"] for machine in machines),
        commits=_each(machine["commit"] for machine in machines),
        python=_each(machine["python"] for machine in machines),
        packages=_packages([machine["packages"] for machine in machines]),
        machines=_each(machine["machine"] for machine in machines),
        made=_made(reproduction.units, ended),
        left=_each(group(unit) for unit in reproduction.units if group(unit) not in labels),
        rows={
            row.label: {key: _numbers(entry) for key, entry in entries.items()}
            for row, entries in zip(result.rows, result.entries, strict=True)
        },
        claims=tuple(_claim(one) for one in judge(result)),
        picture=None if drawn is None else compact(drawn),
    )


def environment(unit: Unit) -> dict[str, Any]:
    """Versions and machine that made a unit; studies keep the version and the commit alone."""
    if unit.study is not None:
        study = stored_study(unit.path)
        if study is None:
            raise StoreError(f"{unit.path} is gone")
        return {"fedradio": study.fedradio, "commit": study.commit, "python": None, "packages": {}, "machine": None}
    known = read_environment(unit.path)
    wanted = ("fedradio", "commit", "python", "machine")
    return {key: known.get(key) for key in wanted} | {"packages": known.get("packages", {})}


def cpu_seconds(unit: Unit) -> float | None:
    """CPU seconds of a unit that has ended; None if it did not count them."""
    if unit.study is not None:
        study = stored_study(unit.path)
        return None if study is None else study.cpu_s
    counted: float | None = read_summary(unit.path).get("cpu_s")
    return counted


def _made(units: list[Unit], ended: Sequence[Unit]) -> tuple[Made, ...]:
    """The units that have ended, by spec and study."""
    specs = fingerprints(units)
    groups: dict[str, list[Unit]] = {}
    for unit in ended:
        groups.setdefault(group(unit), []).append(unit)
    made = []
    for label, alike in groups.items():
        wall = sum(stored.wall_s for unit in alike if (stored := unit.stored()))
        counted = [seconds for unit in alike if (seconds := cpu_seconds(unit)) is not None]
        cpu = round(sum(counted), 3) if len(counted) == len(alike) else None
        seeds = tuple(unit.seed for unit in alike)
        made.append(Made(label=label, spec_sha256=specs[label], seeds=seeds, wall_s=round(wall, 3), cpu_s=cpu))
    return tuple(made)


def _numbers(entry: Entry) -> Numbers:
    return Numbers(
        values={str(seed): value for seed, value in entry.values.items()},
        lost={str(seed): why for seed, why in entry.lost.items()},
    )


def _claim(judged: JudgedClaim) -> FoundClaim:
    return FoundClaim(id=judged.claim.id, verdict=judged.judgement, tests=tuple(map(_test, judged.tests)))


def _test(judged: JudgedTest) -> FoundTest:
    found, wide = judged.found, judged.wide
    return FoundTest(
        mean=None if found is None else found.mean,
        interval=None if found is None or found.low is None or found.high is None else (found.low, found.high),
        corrected_interval=None if wide is None or wide.low is None or wide.high is None else (wide.low, wide.high),
        seeds=len(judged.values),
        verdict=judged.judgement,
    )


def _each(values: Iterable[str | None]) -> tuple[str, ...]:
    """Every known value once, in order of first use."""
    return tuple(dict.fromkeys(value for value in values if value is not None))


def _packages(found: Sequence[dict[str, str | None]]) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys(name for packages in found for name in packages)
    return {name: _each(packages.get(name) for packages in found) for name in names}


def compact(drawn: dict[str, Any]) -> dict[str, Any]:
    """What is drawn with few digits, long curves thinned out to :data:`POINTS` with both of their ends."""
    keys = ALONG.get(drawn["show"], ())
    series = [{key: _thinned(value) if key in keys else value for key, value in one.items()} for one in drawn["series"]]
    short: dict[str, Any] = _short(drawn | {"series": series})
    return short


def _thinned(values: Sequence[float]) -> list[float]:
    if len(values) <= POINTS:
        return list(values)
    chosen = np.unique(np.linspace(0, len(values) - 1, POINTS).round().astype(int))
    return [values[index] for index in chosen]


def _short(data: Any) -> Any:
    """Plain data with numbers of :data:`DIGITS` digits."""
    if isinstance(data, dict):
        return {key: _short(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_short(value) for value in data]
    if isinstance(data, float):
        return int(data) if data.is_integer() and abs(data) < 1e9 else float(f"{data:.{DIGITS}g}")
    return data

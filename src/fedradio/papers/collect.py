"""Collects the result of a reproduction: for every entry of the published table our values by seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fedradio._version import __version__
from fedradio.core.errors import StoreError
from fedradio.papers.absence import Absence, Reason
from fedradio.papers.items import Column, Item
from fedradio.papers.pairs import differences, ratios
from fedradio.papers.plan import Reproduction, ScaledRow, read_study
from fedradio.papers.tuning import tuned_entries
from fedradio.results.measures import is_first_round, measure, paired_measure
from fedradio.results.run import Run, damage_words, open_run
from fedradio.results.statistics import Interval, interval
from fedradio.runs.folder import is_run


@dataclass(frozen=True)
class Entry:
    """An entry of a table, a row's number in a column: the published value (and its deviation), and ours by seed.

    ``lost`` says why seeds have no number; ``note`` is a footnote. ``bounds``: seeds whose number is a round that their
    run did not reach, with its last round: the number is larger.
    """

    column: Column
    published: tuple[float, ...] | None
    values: Mapping[int, float]
    lost: Mapping[int, Absence]
    note: str | None = None
    bounds: Mapping[int, float] = field(default_factory=dict)

    @property
    def ours(self) -> Interval | None:
        """Our mean over seeds; None without any, or if it is only known to be larger than :attr:`least`."""
        return interval(list(self.values.values())) if self.values and not self.bounds else None

    @property
    def least(self) -> float | None:
        """What the mean over seeds exceeds, from the bounds of those that have one; None without bounds.

        By hand: rounds 94 and 98, and one seed that did not get there in 100, have a mean above 97 1/3.
        """
        numbers = [*self.values.values(), *self.bounds.values()]
        return sum(numbers) / len(numbers) if self.bounds else None

    @property
    def deviation(self) -> float | None:
        """Our standard deviation over seeds; None for fewer than two, or with bounds."""
        whole = len(self.values) > 1 and not self.bounds
        return float(np.std(list(self.values.values()), ddof=1)) if whole else None

    @property
    def difference(self) -> float | None:
        """Our mean less the published value; None if either is missing."""
        return None if self.ours is None or self.published is None else self.ours.mean - self.published[0]

    @property
    def agrees(self) -> bool | None:
        """Whether ours is within the column's tolerance; None if there is nothing to compare, or a bound is below."""
        if self.published is not None and self.least is not None:
            far = self.least > self.published[0] and not self.column.agrees(self.least, self.published[0])
            return False if far else None
        if self.ours is None or self.published is None:
            return None
        return self.column.agrees(self.ours.mean, self.published[0])


@dataclass(frozen=True)
class RowResult:
    """What a row has: complete runs by seed, findings of studies by name and seed; ``lost``: why units are missing."""

    scaled: ScaledRow
    runs: Mapping[int, Run]
    studies: Mapping[str, Mapping[int, Mapping[str, Any]]]
    lost: Mapping[Path, Absence]

    @property
    def label(self) -> str:
        return self.scaled.row.label


@dataclass(frozen=True)
class Result:
    """The result of a reproduction, complete or not: for every row what it has, and its entries by column."""

    reproduction: Reproduction
    rows: tuple[RowResult, ...]
    entries: tuple[Mapping[str, Entry], ...]

    @property
    def item(self) -> Item:
        return self.reproduction.item

    @property
    def wall_s(self) -> float:
        """Wall seconds of all its runs and studies."""
        return sum((stored.wall_s for unit in self.reproduction.units if (stored := unit.stored())), 0.0)

    @property
    def compared(self) -> list[Entry]:
        """The entries that have both numbers."""
        return [entry for row in self.entries for entry in row.values() if entry.agrees is not None]


def collect(reproduction: Reproduction, absent: Mapping[Path, Absence] | None = None) -> Result:
    """Read all stored runs and studies of an item, but those that are known to be ``absent``."""
    rows = tuple(_row(scaled, absent or {}) for scaled in reproduction.rows)
    columns, by_label = reproduction.item.columns, {row.label: row for row in rows}
    entries = {
        label: {key: _entry(by_label, label, key, column) for key, column in columns.items()} for label in by_label
    }
    return Result(reproduction, rows, tuple(tuned_entries(reproduction.item, entries).values()))


def _row(scaled: ScaledRow, absent: Mapping[Path, Absence]) -> RowResult:
    """The stored runs and studies of a row."""
    runs, lost = {}, {}
    for seed, unit in scaled.runs.items():
        found = absent.get(unit.path) or _open(unit.path)
        if isinstance(found, Absence):
            lost[unit.path] = found
        else:
            runs[seed] = found
    studies: dict[str, dict[int, Mapping[str, Any]]] = {}
    for name, units in scaled.studies.items():
        studies[name] = {seed: finding for seed, unit in units.items() if (finding := read_study(unit)) is not None}
        lost |= {
            unit.path: absent.get(unit.path, Absence(Reason.NOT_RUN))
            for seed, unit in units.items()
            if seed not in studies[name]
        }
    return RowResult(scaled, runs, studies, lost)


def _open(path: Path) -> Run | Absence:
    """A complete run, or why there is none."""
    if not is_run(path):
        return Absence(Reason.NOT_RUN)
    try:
        run = open_run(path)
    except StoreError as error:
        return Absence(Reason.DAMAGED, str(error))
    return run if run.status == "complete" else Absence(Reason(run.status), damage_words(run.damage))


def _entry(rows: Mapping[str, RowResult], label: str, key: str, column: Column) -> Entry:
    """A row's entry in a column; a number that is undefined is in neither ``values`` nor ``lost``."""
    result = rows[label]
    row = result.scaled.row
    published, note = row.published.get(key), row.notes.get(key)
    if not column.paired:
        values = _numbers(result, column, column.measure)
        bounds = _bounds(column, values, result.runs) if column.study is None else {}
        return Entry(column, published, values, _lost(result, column), note, bounds)
    other = row.other(key, column)
    if other is None:
        return Entry(column, published, {}, {}, note)
    lost = {seed: absence.of_row(other) for seed, absence in _lost(rows[other], column).items()} | _lost(result, column)
    if column.of is not None:
        ours, theirs = (_numbers(one, column, column.of) for one in (result, rows[other]))
        compared = ratios(ours, theirs) if column.measure == "ratio" else differences(ours, theirs)
        return Entry(column, published, compared, lost, note)
    take, runs = paired_measure(column.measure), rows[other].runs
    both = {seed: run for seed, run in result.runs.items() if seed in runs}
    met = _known({seed: take(run, runs[seed]) for seed, run in both.items()})
    return Entry(column, published, met, lost, note, _bounds(column, met, both))


def _bounds(column: Column, values: Mapping[int, float], runs: Mapping[int, Run]) -> dict[int, float]:
    """The last rounds of runs that did not reach what the column is the first round of."""
    missing = [seed for seed in runs if seed not in values] if is_first_round(column.measure) else []
    return {seed: float(runs[seed].spec.rounds) for seed in missing}


def _numbers(result: RowResult, column: Column, name: str) -> dict[int, float]:
    """A row's numbers by seed: a measure of its runs, or a key of its findings."""
    if column.study is None:
        return _known({seed: measure(name)(run) for seed, run in result.runs.items()})
    return _known({seed: finding.get(name) for seed, finding in result.studies.get(column.study, {}).items()})


def _known(numbers: Mapping[int, Any]) -> dict[int, float]:
    return {seed: float(value) for seed, value in numbers.items() if value is not None}


def _lost(result: RowResult, column: Column) -> dict[int, Absence]:
    """Why a row has no number in a column, by seed."""
    units = result.scaled.runs if column.study is None else result.scaled.studies.get(column.study, {})
    return {seed: result.lost[unit.path] for seed, unit in units.items() if unit.path in result.lost}


def plain_result(result: Result, picture: Mapping[str, Any] | None) -> dict[str, Any]:
    """A result as plain data for JSON: every number with its seeds, undefined ones None."""
    reproduction, item = result.reproduction, result.item
    return {
        "paper": item.paper,
        "item": item.name,
        "title": item.title,
        "source": item.source,
        "scale": reproduction.scale,
        "about": item.size(reproduction.scale).about,
        "seeds": list(reproduction.seeds),
        "world_seed": reproduction.world,
        "fedradio": __version__,
        "wall_s": result.wall_s,
        "columns": {key: column.model_dump() for key, column in item.columns.items()},
        "rows": [_plain_row(reproduction, *pair) for pair in zip(result.rows, result.entries, strict=True)],
        "footnotes": list(item.footnotes),
        "picture": picture,
    }


def _plain_row(reproduction: Reproduction, row: RowResult, entries: Mapping[str, Entry]) -> dict[str, Any]:
    source, folder = row.scaled.source, reproduction.folder
    return {
        "label": row.label,
        "algorithm": row.scaled.row.algorithm,
        "spec": source.spec,
        "set": list(source.set),
        "skipped": source.skip,
        "runs": {str(seed): str(unit.path.relative_to(folder)) for seed, unit in row.scaled.runs.items()},
        "cells": {key: _plain_entry(entry) for key, entry in entries.items()},
    }


def _plain_entry(entry: Entry) -> dict[str, Any]:
    ours = entry.ours
    return {
        "published": None if entry.published is None else list(entry.published),
        "values": {str(seed): value for seed, value in entry.values.items()},
        "above": {str(seed): bound for seed, bound in entry.bounds.items()},
        "mean": None if ours is None else ours.mean,
        "half": None if ours is None else ours.half,
        "deviation": entry.deviation,
        "difference": entry.difference,
        "agrees": entry.agrees,
        "lost": {str(seed): str(absence) for seed, absence in entry.lost.items()},
        "note": entry.note,
    }

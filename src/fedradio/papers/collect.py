"""Ours beside what was published: every entry with its seeds, and what a picture is drawn from, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedradio._version import __version__
from fedradio.papers.items import Column, Item
from fedradio.papers.make import Trouble
from fedradio.papers.plan import Line, Reproduction, read_study
from fedradio.results.measures import measure
from fedradio.results.run import PastRun, is_run, open_run
from fedradio.results.statistics import Interval, interval


@dataclass(frozen=True)
class Compared:
    """A row's number in a column: the published value (and its deviation), and ours by seed.

    ``lost`` says for each seed without a number why there is none; ``note`` is a footnote.
    """

    column: Column
    published: tuple[float, ...] | None
    values: Mapping[int, float]
    lost: Mapping[int, str]
    note: str | None = None

    @property
    def ours(self) -> Interval | None:
        return interval(list(self.values.values())) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation over seeds; None of fewer than two."""
        return float(np.std(list(self.values.values()), ddof=1)) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        return None if self.ours is None or self.published is None else self.ours.mean - self.published[0]

    @property
    def agrees(self) -> bool | None:
        """None where there is nothing to compare."""
        if self.ours is None or self.published is None:
            return None
        return self.column.agrees(self.ours.mean, self.published[0])


@dataclass(frozen=True)
class Found:
    """What there is of a row: complete runs by seed, what studies found by name and seed, why others are not there."""

    line: Line
    runs: Mapping[int, PastRun]
    studies: Mapping[str, Mapping[int, Mapping[str, Any]]]
    lost: Mapping[Path, str]

    @property
    def label(self) -> str:
        return self.line.row.label


@dataclass(frozen=True)
class Result:
    """An item at a scale, as far as it is there. ``entries`` has one mapping of columns a row."""

    plan: Reproduction
    found: tuple[Found, ...]
    entries: tuple[Mapping[str, Compared], ...]

    @property
    def item(self) -> Item:
        return self.plan.item

    @property
    def wall_s(self) -> float:
        """Wall seconds of all runs and studies that it rests on."""
        return sum((stored.wall_s for unit in self.plan.units if (stored := unit.stored())), 0.0)

    @property
    def compared(self) -> list[Compared]:
        """Entries that can be compared."""
        return [entry for row in self.entries for entry in row.values() if entry.agrees is not None]


def collect(plan: Reproduction, trouble: Mapping[Path, Trouble] | None = None) -> Result:
    """Read all there is of an item; ``trouble`` says why units are not there, where that is known."""
    found = tuple(_found(line, plan, trouble or {}) for line in plan.lines)
    entries = tuple({key: _entry(one, key, column) for key, column in plan.item.columns.items()} for one in found)
    return Result(plan, found, entries)


def _found(line: Line, plan: Reproduction, trouble: Mapping[Path, Trouble]) -> Found:
    runs, lost = {}, {}
    for seed, unit in line.runs.items():
        stored = unit.stored()
        if unit.path in trouble:
            lost[unit.path] = trouble[unit.path].why
        elif stored is not None and stored.status == "complete" and is_run(unit.path):
            runs[seed] = open_run(unit.path)
        else:
            lost[unit.path] = stored.status if stored else "unfinished" if is_run(unit.path) else "not run"
    studies: dict[str, dict[int, Mapping[str, Any]]] = {}
    for name, units in line.studies.items():
        studies[name] = {seed: kept for seed, unit in units.items() if (kept := read_study(unit)) is not None}
        lost |= {
            unit.path: trouble[unit.path].why if unit.path in trouble else "not made"
            for seed, unit in units.items()
            if seed not in studies[name]
        }
    return Found(line, runs, studies, lost)


def _entry(found: Found, key: str, column: Column) -> Compared:
    """A number that is undefined is in neither ``values`` nor ``lost``."""
    row, values = found.line.row, {}
    if column.study is None:
        units = found.line.runs
        measured = {seed: measure(column.measure)(run) for seed, run in found.runs.items()}
    else:
        units = found.line.studies.get(column.study, {})
        kept = found.studies.get(column.study, {})
        measured = {seed: one.get(column.measure) for seed, one in kept.items()}
    values = {seed: float(value) for seed, value in measured.items() if value is not None}
    lost = {seed: found.lost[unit.path] for seed, unit in units.items() if unit.path in found.lost}
    return Compared(column, row.published.get(key), values, lost, row.notes.get(key))


def plain_result(result: Result, picture: Mapping[str, Any] | None) -> dict[str, Any]:
    """All of it as plain data: every number with its seeds, undefined ones None."""
    plan, item = result.plan, result.item
    return {
        "paper": item.paper,
        "item": item.name,
        "title": item.title,
        "source": item.source,
        "scale": plan.scale,
        "about": item.size(plan.scale).about,
        "seeds": list(plan.seeds),
        "fedradio": __version__,
        "wall_s": result.wall_s,
        "columns": {key: column.model_dump() for key, column in item.columns.items()},
        "rows": [_plain_row(plan, *pair) for pair in zip(result.found, result.entries, strict=True)],
        "footnotes": list(item.footnotes),
        "picture": picture,
    }


def _plain_row(plan: Reproduction, found: Found, entries: Mapping[str, Compared]) -> dict[str, Any]:
    source = found.line.source
    return {
        "label": found.label,
        "algorithm": found.line.row.algorithm,
        "spec": source.spec,
        "set": list(source.set),
        "skipped": source.skip,
        "runs": {str(seed): str(unit.path.relative_to(plan.folder)) for seed, unit in found.line.runs.items()},
        "cells": {key: _plain_entry(entry) for key, entry in entries.items()},
    }


def _plain_entry(entry: Compared) -> dict[str, Any]:
    ours = entry.ours
    return {
        "published": None if entry.published is None else list(entry.published),
        "values": {str(seed): value for seed, value in entry.values.items()},
        "mean": None if ours is None else ours.mean,
        "half": None if ours is None else ours.half,
        "deviation": entry.deviation,
        "difference": entry.difference,
        "agrees": entry.agrees,
        "lost": {str(seed): why for seed, why in entry.lost.items()},
        "note": entry.note,
    }

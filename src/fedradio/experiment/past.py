"""Runs that were made: read a run folder, find those of a sweep, group them by what differs.

Everything that looks at results (compare, report, export, reproduce) reads them through here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts import Reason
from fedradio.core.errors import StoreError
from fedradio.experiment import store
from fedradio.experiment.spec import Spec, load_spec

AXES = {"rounds": "rounds", "seconds": "time_s", "joules": "energy_j", "bits": "bits"}
"""What a curve can be drawn against, and the field of a round's record that is summed for it."""

MARKER = "sweep.json"
"""The file that makes a folder a sweep; its runs lie in ``runs/`` beside it."""

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
"""``x`` and ``y`` of the same length, ``x`` rising."""


@dataclass(frozen=True)
class Participation:
    """What hop 0 did, one row per edge round: ``[E, C]`` each; joules (computing and sending) where they are defined.

    ``reason`` holds :class:`~fedradio.core.contracts.Reason` numbers: why a client's payload did not count.
    """

    active: NDArray[np.bool_]
    arrived: NDArray[np.bool_]
    reason: NDArray[np.int64]
    steps: NDArray[np.int64]
    joules: Floats | None

    def reasons(self) -> dict[str, NDArray[np.int64]]:
        """How many clients were out for which reason in every edge round, ``name -> [E]``; absent ones left out."""
        counts = {one.name.lower(): (self.reason == one).sum(axis=1) for one in Reason if one != Reason.NONE}
        return {name.replace("_", " "): count for name, count in counts.items() if count.any()}


@dataclass(frozen=True)
class PastRun:
    """A run folder, read when asked. ``summary`` is None where the process was killed before it wrote one."""

    folder: Path
    spec: Spec
    summary: Mapping[str, Any] | None

    @property
    def status(self) -> str:
        return "unfinished" if self.summary is None else str(self.summary["status"])

    @property
    def algorithm(self) -> str:
        return str(self.spec.plain["algorithm"]["kind"])

    @cached_property
    def rounds(self) -> list[dict[str, Any]]:
        return list(self.records("round"))

    @cached_property
    def evaluations(self) -> list[dict[str, Any]]:
        return list(self.records("eval"))

    @cached_property
    def environment(self) -> dict[str, Any]:
        return _json(self.folder / store.ENVIRONMENT)

    @cached_property
    def network(self) -> dict[str, Any]:
        """``parents`` per hop and ``positions`` per tier; empty for runs of versions that did not keep it."""
        return _json(self.folder / store.NETWORK)

    @cached_property
    def participation(self) -> Participation:
        rows = [row for row in self.records("exchange") if row["hop"] == 0]
        joules = None
        if rows and all(row["compute_j"] is not None or row["tx_j"] is not None for row in rows):
            joules = np.array([_plus(row["compute_j"], row["tx_j"]) for row in rows], dtype=np.float64)
        return Participation(
            active=np.array([row["active"] for row in rows], dtype=np.bool_),
            arrived=np.array([row["arrived"] for row in rows], dtype=np.bool_),
            reason=np.array([row["reason"] for row in rows], dtype=np.int64),
            steps=np.array([row["steps"] for row in rows], dtype=np.int64),
            joules=joules,
        )

    def records(self, kind: str | None = None) -> Iterator[dict[str, Any]]:
        return store.read_records(self.folder, kind)

    def metrics(self) -> list[str]:
        """Names of the numbers that every evaluation has."""
        if not self.evaluations:
            return []
        return [name for name, value in self.evaluations[-1].items() if isinstance(value, float)]

    def totals(self, against: str) -> Floats | None:
        """Rounds, simulated seconds, joules or bits spent after each round, ``[rounds]``; None where undefined."""
        if against == "rounds":
            return np.arange(1, len(self.rounds) + 1, dtype=np.float64)
        spent = [_total(row[AXES[against]]) for row in self.rounds]
        return None if not spent or None in spent else np.cumsum(np.array(spent, dtype=np.float64))

    def curve(self, metric: str = "accuracy", against: str = "rounds") -> Curve | None:
        """A metric at every evaluation against what had been spent by then; None where either is undefined."""
        totals = self.totals(against)
        rows = [row for row in self.evaluations if row.get(metric) is not None]
        if totals is None or not rows:
            return None
        at = np.array([row["t"] for row in rows])
        return totals[at], np.array([row[metric] for row in rows], dtype=np.float64)


@dataclass(frozen=True)
class Cell:
    """Runs that differ in their seed alone, by seed. ``label`` tells them from the other cells."""

    label: str
    algorithm: str
    runs: Mapping[int, PastRun]


def is_run(folder: Path) -> bool:
    return (folder / store.SPEC).is_file() and (folder / store.RECORDS).is_file()


def open_run(folder: Path | str) -> PastRun:
    """A run folder; a run need not be complete."""
    folder = Path(folder)
    if not is_run(folder):
        raise StoreError(f"{folder} is not a run folder: no {store.SPEC} with {store.RECORDS} beside it")
    summary = store.read_summary(folder) if (folder / store.SUMMARY).is_file() else None
    return PastRun(folder, load_spec(folder / store.SPEC), summary)


def open_runs(*folders: Path | str) -> list[PastRun]:
    """Runs of run folders and of sweeps, in that order, each once."""
    found: dict[Path, PastRun] = {}
    for folder in map(Path, folders):
        inside = sorted((folder / "runs").glob("*/")) if (folder / MARKER).is_file() else [folder]
        runs = [open_run(one) for one in inside if len(inside) == 1 or is_run(one)]
        found |= {run.folder.resolve(): run for run in runs}
    return list(found.values())


def cells(runs: Sequence[PastRun]) -> list[Cell]:
    """Group runs by everything but their seed. Labels are names where these tell cells apart, else what differs."""
    groups: dict[str, list[PastRun]] = {}
    for run in runs:
        plain = {key: value for key, value in run.spec.plain.items() if key not in ("seed", "about")}
        groups.setdefault(json.dumps(plain, sort_keys=True), []).append(run)
    found = []
    for label, group in zip(_labels([group[0] for group in groups.values()]), groups.values(), strict=True):
        seeds = [run.spec.seed for run in group]
        if len(set(seeds)) < len(seeds):
            twice = next(run for run in group if seeds.count(run.spec.seed) > 1)
            raise StoreError(f"two runs have the same spec and seed {twice.spec.seed}: {_where(group, twice)}")
        found.append(Cell(label, group[0].algorithm, dict(sorted(zip(seeds, group, strict=True)))))
    return found


def _labels(runs: Sequence[PastRun]) -> list[str]:
    names = [run.spec.name for run in runs]
    if len(set(names)) == len(names):
        return names
    flat = [dict(flatten(run.spec.plain)) for run in runs]
    keys = {key: None for one in flat for key in one if key not in ("seed", "about", "name")}
    differ = [key for key in keys if len({json.dumps(one.get(key)) for one in flat}) > 1]
    words = [", ".join(f"{key}={_short(one[key])}" for key in differ if key in one) for one in flat]
    return words if len(set(names)) == 1 else [f"{n}: {w}" if w else n for n, w in zip(names, words, strict=True)]


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested plain data with their dotted path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flatten(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for number, inner in enumerate(value):
            yield from flatten(inner, f"{path}.{number}")
    else:
        yield path, value


def _where(group: Sequence[PastRun], twice: PastRun) -> str:
    return ", ".join(str(run.folder) for run in group if run.spec.seed == twice.spec.seed)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else json.dumps(value).strip('"')


def _total(value: float | list[float | None] | None) -> float | None:
    """A number, or the sum over hops; undefined where any of it is."""
    if not isinstance(value, list):
        return value
    known = [one for one in value if one is not None]
    return sum(known) if len(known) == len(value) else None


def _plus(one: Sequence[float] | None, other: Sequence[float] | None) -> Sequence[float]:
    if one is None or other is None:
        return one or other or []
    return [a + b for a, b in zip(one, other, strict=True)]


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found

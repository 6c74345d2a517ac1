"""Runs that were made: read a run folder, find those of a sweep, group them by what differs.

Everything that looks at results (compare, report, export, reproduce) reads them through here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts import Reason
from fedradio.core.errors import SpecError, StoreError
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
    """What hop 0 did, one row per edge round: ``[E, C]`` each; joules where those of computing and sending are defined.

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
        return store.read_plain(self.folder / store.ENVIRONMENT)

    @cached_property
    def network(self) -> dict[str, Any]:
        """``parents`` per hop and ``positions`` per tier; empty for runs of versions that did not keep it."""
        return store.read_plain(self.folder / store.NETWORK)

    @cached_property
    def participation(self) -> Participation:
        rows = [row for row in self.records("exchange") if row["hop"] == 0]
        joules = None
        if rows and all(row["compute_j"] is not None and row["tx_j"] is not None for row in rows):
            joules = np.array([np.add(row["compute_j"], row["tx_j"]) for row in rows], dtype=np.float64)
        return Participation(
            active=np.array([row["active"] for row in rows], dtype=np.bool_),
            arrived=np.array([row["arrived"] for row in rows], dtype=np.bool_),
            reason=np.array([row["reason"] for row in rows], dtype=np.int64),
            steps=np.array([row["steps"] for row in rows], dtype=np.int64),
            joules=joules,
        )

    def records(self, kind: str | None = None) -> Iterator[dict[str, Any]]:
        return store.read_records(self.folder, kind)

    def read(self, participation: bool = False) -> int:
        """Read rounds, evaluations and if asked hop 0 now, which takes time for large runs; how many records."""
        return len(self.rounds) + len(self.evaluations) + (len(self.participation.active) if participation else 0)

    def metrics(self) -> list[str]:
        """Names of the numbers that every evaluation has."""
        rows = self.evaluations
        return [name for name in rows[-1] if all(isinstance(row.get(name), float) for row in rows)] if rows else []

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
        raise StoreError(_no_run(folder))
    summary = store.read_summary(folder) if (folder / store.SUMMARY).is_file() else None
    try:
        return PastRun(folder, load_spec(folder / store.SPEC), summary)
    except SpecError as error:
        raise SpecError(replace(one, path=f"{folder / store.SPEC}: {one.path}") for one in error.problems) from None


def open_runs(*folders: Path | str) -> list[PastRun]:
    """Runs of run folders and of sweeps, in that order, each once. All folders that are neither are named at once."""
    found: dict[Path, PastRun] = {}
    wrong: list[str] = []
    for folder in map(Path, folders):
        inside = list(_listed(folder)) if (folder / MARKER).is_file() else None
        if inside is None and not is_run(folder):
            wrong.append(_no_run(folder))
            continue
        for one in [folder] if inside is None else filter(is_run, inside):
            found.setdefault(one.resolve(), open_run(one))
    if wrong:
        raise StoreError("\n".join(wrong))
    return list(found.values())


def unbegun(*folders: Path | str) -> list[tuple[str, int, Path]]:
    """Runs that sweeps among the folders will have and do not have yet: label of the cell, seed, folder."""
    sweeps = [folder for folder in map(Path, folders) if (folder / MARKER).is_file()]
    return [(*what, run) for folder in sweeps for run, what in _listed(folder).items() if not is_run(run)]


def _listed(folder: Path) -> dict[Path, tuple[str, int]]:
    """The run folders that a sweep lists, in its order, with the labels of their cells and their seeds."""
    try:
        document = json.loads((folder / MARKER).read_bytes())
        return {
            folder / "runs" / name: (str(cell["label"]), int(seed))
            for cell in document["cells"]
            for seed, name in cell["runs"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{folder} is not a sweep: no readable {MARKER} ({type(error).__name__})") from None


def _no_run(folder: Path) -> str:
    """Why a folder is not that of a run, and what may have been meant."""
    if not folder.is_dir():
        return f"{folder} is not a run folder: {'it is a file' if folder.exists() else 'it does not exist'}"
    inside = sum(is_run(one) for one in folder.glob("*/"))
    held = f"; {inside} of the folders in it are: write {folder / '*'}" if inside else ""
    return f"{folder} is not a run folder: no {store.SPEC} with {store.RECORDS} beside it{held}"


def cells(runs: Sequence[PastRun]) -> list[Cell]:
    """Group runs by everything but their seed. Labels are names where these tell cells apart, else what differs."""
    groups: dict[str, list[PastRun]] = {}
    for run in runs:
        plain = {key: value for key, value in run.spec.plain.items() if key not in ("seed", "about")}
        groups.setdefault(json.dumps(plain, sort_keys=True), []).append(run)
    _refuse_twins(groups.values())
    words = labels([group[0].spec for group in groups.values()])
    return [
        Cell(label, group[0].algorithm, {run.spec.seed: run for run in sorted(group, key=lambda run: run.spec.seed)})
        for label, group in zip(words, groups.values(), strict=True)
    ]


def _refuse_twins(groups: Iterable[Sequence[PastRun]]) -> None:
    """Runs of one spec and seed are the same run: in a mean it would count twice."""
    twins = []
    for group in groups:
        by_seed: dict[int, list[str]] = {}
        for run in group:
            by_seed.setdefault(run.spec.seed, []).append(str(run.folder))
        twins += [(seed, ", ".join(names)) for seed, names in by_seed.items() if len(names) > 1]
    if twins:
        raise StoreError("\n".join(f"runs of the same spec and seed {seed}, leave one: {them}" for seed, them in twins))


def labels(specs: Sequence[Spec]) -> list[str]:
    """Words that tell specs apart, whatever their seeds: their names, where these are the same what differs.

    Keywords of a part are told where they differ among parts of the same kind; otherwise the kind says enough.
    """
    groups: dict[str, list[int]] = {}
    for number, spec in enumerate(specs):
        groups.setdefault(spec.name, []).append(number)
    found = [spec.name for spec in specs]
    for name, group in groups.items():
        if len(group) > 1:
            for number, words in zip(group, _differences([specs[one] for one in group]), strict=True):
                found[number] = words if len(groups) == 1 else f"{name}: {words}"
    return found


def _differences(specs: Sequence[Spec]) -> list[str]:
    flat = [dict(flatten(spec.plain)) for spec in specs]
    seen: dict[tuple[str, Any], set[str]] = {}
    keys = {key: None for one in flat for key in one if key not in ("seed", "about", "name")}
    for one in flat:
        for key in keys:
            seen.setdefault((key, _kind(one, key)), set()).add(json.dumps(one[key]) if key in one else "")
    told = [[key for key in keys if key in one and len(seen[key, _kind(one, key)]) > 1] for one in flat]
    return [
        ", ".join(f"{key.removesuffix('.kind')}={_short(one[key])}" for key in some)
        for one, some in zip(flat, told, strict=True)
    ]


def _kind(flat: Mapping[str, Any], key: str) -> Any:
    """The kind of the part whose keyword this is; None for kinds themselves and for what is no part's."""
    part, _, last = key.rpartition(".")
    return None if last == "kind" else flat.get(f"{part}.kind")


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


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return json.dumps(value).strip('"')


def _total(value: float | list[float | None] | None) -> float | None:
    """A number, or the sum over hops; undefined where any of it is."""
    if not isinstance(value, list):
        return value
    known = [one for one in value if one is not None]
    return sum(known) if len(known) == len(value) else None

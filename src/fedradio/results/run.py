"""Finished and unfinished runs, read from their folders, and the runs of a sweep.

Everything that looks at results (compare, report, export, figures, reproduce) reads them here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts import Reason
from fedradio.core.errors import StoreError
from fedradio.core.files import read_json
from fedradio.runs.folder import (
    DESCRIPTION_FILE,
    ENVIRONMENT_FILE,
    NETWORK_FILE,
    RECORDS_FILE,
    SPEC_FILE,
    SUMMARY_FILE,
    read_summary,
)
from fedradio.runs.records import read_records
from fedradio.spec.spec import Spec, stored_spec
from fedradio.spec.yaml import Plain

AXES = {"rounds": "rounds", "seconds": "time_s", "joules": "energy_j", "bits": "bits"}
"""What a curve can be drawn against, and the field of a round's record that is summed for it."""

MARKER = "sweep.json"
"""The file that makes a folder a sweep; its runs lie in ``runs/`` beside it."""

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
"""``x`` and ``y`` of the same length, ``x`` rising."""


@dataclass(frozen=True)
class Participation:
    """Participation of clients on hop 0, ``[E, C]``: one row per edge round; ``joules`` of computing and sending.

    ``reason`` holds :class:`~fedradio.core.contracts.Reason` numbers: why a client's payload did not count.
    """

    active: NDArray[np.bool_]
    arrived: NDArray[np.bool_]
    reason: NDArray[np.int64]
    steps: NDArray[np.int64]
    joules: Floats | None

    def reasons(self) -> dict[str, NDArray[np.int64]]:
        """Clients out for every reason in every edge round, ``name -> [E]``; reasons that never occur are left out."""
        reasons = [reason for reason in Reason if reason != Reason.NONE]
        counts = {reason.name.lower(): (self.reason == reason).sum(axis=1) for reason in reasons}
        return {name.replace("_", " "): count for name, count in counts.items() if count.any()}


@dataclass(frozen=True)
class PastRun:
    """A stored run, read from its folder when asked; ``summary`` is None if the process was killed before it."""

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
        return read_json(self.folder / ENVIRONMENT_FILE)

    @cached_property
    def network(self) -> dict[str, Any]:
        """``parents`` per hop and ``positions`` per tier; empty for runs of versions that did not keep it."""
        return read_json(self.folder / NETWORK_FILE)

    @cached_property
    def description(self) -> Plain:
        """What the values of the spec mean; of runs of version 0.1 as the parts that are installed here say it."""
        stored = read_json(self.folder / DESCRIPTION_FILE)
        if stored:
            return stored
        from fedradio.spec.description import describe  # slow: it needs the parts

        return describe(self.spec)

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
        return read_records(self.folder, kind)

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


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run."""
    return (folder / SPEC_FILE).is_file() and (folder / RECORDS_FILE).is_file()


def open_run(folder: Path | str) -> PastRun:
    """The run of a folder; it need not be complete."""
    folder = Path(folder)
    if not is_run(folder):
        raise StoreError(_no_run(folder))
    summary = read_summary(folder) if (folder / SUMMARY_FILE).is_file() else None
    return PastRun(folder, stored_spec(folder / SPEC_FILE), summary)


def open_runs(*folders: Path | str) -> list[PastRun]:
    """The runs of run folders and of sweeps, in that order, each once; all other folders are refused together."""
    runs: dict[Path, PastRun] = {}
    wrong: list[str] = []
    for folder in map(Path, folders):
        inside = list(_listed(folder)) if (folder / MARKER).is_file() else None
        if inside is None and not is_run(folder):
            wrong.append(_no_run(folder))
            continue
        for run_folder in [folder] if inside is None else filter(is_run, inside):
            runs.setdefault(run_folder.resolve(), open_run(run_folder))
    if wrong:
        raise StoreError("\n".join(wrong))
    return list(runs.values())


def unbegun(*folders: Path | str) -> list[tuple[str, int, Path]]:
    """Runs that sweeps list but that have not begun: label of the variant, seed, folder."""
    sweeps = [folder for folder in map(Path, folders) if (folder / MARKER).is_file()]
    return [(*what, run) for folder in sweeps for run, what in _listed(folder).items() if not is_run(run)]


def _listed(folder: Path) -> dict[Path, tuple[str, int]]:
    """The run folders that a sweep lists, in its order, with the labels of their variants and their seeds."""
    try:
        document = json.loads((folder / MARKER).read_bytes())
        return {
            folder / "runs" / name: (str(variant["label"]), int(seed))
            for variant in document["cells"]
            for seed, name in variant["runs"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{folder} is not a sweep: no readable {MARKER} ({type(error).__name__})") from None


def _no_run(folder: Path) -> str:
    """Why a folder is not that of a run, and what may have been meant."""
    if not folder.is_dir():
        return f"{folder} is not a run folder: {'it is a file' if folder.exists() else 'it does not exist'}"
    inside = sum(map(is_run, folder.glob("*/")))
    hint = f"; {inside} of the folders in it are: write {folder / '*'}" if inside else ""
    return f"{folder} is not a run folder: no {SPEC_FILE} with {RECORDS_FILE} beside it{hint}"


def _total(value: float | list[float | None] | None) -> float | None:
    """A number, or the sum over hops; undefined where any of it is."""
    if not isinstance(value, list):
        return value
    known = [number for number in value if number is not None]
    return sum(known) if len(known) == len(value) else None

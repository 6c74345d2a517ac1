"""Make a published table or figure again: what has to be computed, what is there already, and what it will cost.

Everything lies under ``<out>/<paper>/<scale>/``: ordinary run folders in ``runs/``, what studies found in ``studies/``,
shared by all items of a paper; an item's results beside them.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedradio._version import __version__
from fedradio.core.files import read_json
from fedradio.papers.items import Item, Row, Scale, Source
from fedradio.runs.folder import SUMMARY_FILE

OUT = Path("reproductions")
"""Where results go unless told otherwise."""

Tell = Callable[[str, float], None]
"""Is told what is being computed and which share of it is done."""

SETTLED = ("complete", "diverged")
"""Runs that need not be made again: their spec and seed give the same once more."""


@dataclass(frozen=True)
class Stored:
    """What is known of a unit that has ended before."""

    status: str
    wall_s: float
    spec_sha256: str


@dataclass(frozen=True)
class Unit:
    """One thing to compute: a run, or a study of a spec. ``path`` is its run folder, or the study's file."""

    source: Source
    seed: int
    study: str | None
    path: Path

    @property
    def label(self) -> str:
        what = " ".join([str(self.source.spec), *self.source.set])
        return f"{what} seed {self.seed}" if self.study is None else f"study {self.study} of {what} seed {self.seed}"

    def stored(self) -> Stored | None:
        """None where nothing has ended yet; what another version of fedradio found in a study does not count."""
        found = _json(self.path / SUMMARY_FILE if self.study is None else self.path)
        if not found or (self.study is not None and found["fedradio"] != __version__):
            return None
        return Stored(found.get("status", "complete"), float(found["wall_s"]), found["spec_sha256"])

    def settled(self) -> bool:
        stored = self.stored()
        return stored is not None and stored.status in SETTLED


@dataclass(frozen=True)
class Line:
    """A row at a scale: its runs by seed, its studies by name and seed; nothing where it is skipped."""

    row: Row
    source: Source
    runs: Mapping[int, Unit]
    studies: Mapping[str, Mapping[int, Unit]]

    @property
    def units(self) -> list[Unit]:
        return [*self.runs.values(), *(unit for one in self.studies.values() for unit in one.values())]


@dataclass(frozen=True)
class Reproduction:
    """All that an item needs at a scale, in ``folder``."""

    item: Item
    scale: Scale
    seeds: tuple[int, ...]
    folder: Path
    lines: tuple[Line, ...]

    @property
    def units(self) -> list[Unit]:
        """Runs and studies of all rows, each once."""
        return list({unit.path: unit for line in self.lines for unit in line.units}.values())

    @property
    def changed_seeds(self) -> bool:
        return len(self.seeds) != self.item.size(self.scale).seeds


@dataclass(frozen=True)
class Cost:
    """Units in all and those that are there; wall seconds of everything, and of what is left."""

    units: int
    done: int
    total_s: float
    left_s: float


def make_plan(item: Item, scale: Scale, seeds: int | None = None, out: Path = OUT) -> Reproduction:
    """What an item needs, with seeds 1 to ``seeds``; no spec is read."""
    folder = out / item.paper / scale
    numbers = tuple(range(1, (seeds or item.size(scale).seeds) + 1))
    lines = []
    for row in item.rows:
        source = row.source(scale)
        runs, studies = {}, {}
        if source.spec is not None:
            names = {seed: folder_name(source, seed) for seed in numbers}
            if item.trains(row):
                runs = {seed: Unit(source, seed, None, folder / "runs" / name) for seed, name in names.items()}
            for study in item.studied(row):
                files = {seed: folder / "studies" / f"{study}-{name}.json" for seed, name in names.items()}
                studies[study] = {seed: Unit(source, seed, study, file) for seed, file in files.items()}
        lines.append(Line(row, source, runs, studies))
    return Reproduction(item, scale, numbers, folder, tuple(lines))


def folder_name(source: Source, seed: int) -> str:
    """``<spec>-<hash of overrides, if any>-seed<N>``: the same for every item that names the same spec."""
    changes = hashlib.sha256("\n".join(source.set).encode()).hexdigest()[:8]
    words = [str(source.spec).replace("/", "_"), *([changes] if source.set else []), f"seed{seed}"]
    return "-".join(words)


def expected(plan: Reproduction) -> dict[Path, float]:
    """Wall seconds of every unit: its own where it has ended, else those of other seeds, else a share of the item's."""
    units = plan.units
    known = {unit.path: stored.wall_s for unit in units if (stored := unit.stored()) and stored.status in SETTLED}
    alike: dict[tuple[Source, str | None], list[float]] = {}
    for unit in units:
        if unit.path in known:
            alike.setdefault((unit.source, unit.study), []).append(known[unit.path])
    size = plan.item.size(plan.scale)
    share = 60 * size.minutes / max(1, len(units)) * len(plan.seeds) / size.seeds
    means = {key: sum(values) / len(values) for key, values in alike.items()}
    return {unit.path: known.get(unit.path, means.get((unit.source, unit.study), share)) for unit in units}


def cost(plan: Reproduction) -> Cost:
    """How long an item takes in all, and from here."""
    wall_s = expected(plan)
    left = [unit for unit in plan.units if not unit.settled()]
    return Cost(
        len(wall_s), len(wall_s) - len(left), sum(wall_s.values()), sum((wall_s[unit.path] for unit in left), 0.0)
    )


def read_study(unit: Unit) -> dict[str, Any] | None:
    """What a study found; None where it has not been made by this version."""
    if unit.stored() is None:
        return None
    found: dict[str, Any] = _json(unit.path)["found"]
    return found


def _json(path: Path) -> dict[str, Any]:
    """Files are asked for again and again, and those of studies can be long: each is parsed once."""
    return _parsed(path, path.stat().st_mtime_ns) if path.is_file() else {}


@functools.lru_cache(maxsize=4096)
def _parsed(path: Path, changed_ns: int) -> dict[str, Any]:
    return read_json(path)

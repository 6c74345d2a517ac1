"""Plan of a reproduction: the runs and studies that a published table or figure needs, and what they cost.

Everything lies under ``<out>/<paper>/<scale>/``: ordinary run folders in ``runs/``, studies' findings in ``studies/``,
shared by all items of a paper; an item's results beside them.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedradio._version import __version__
from fedradio.core.errors import StoreError
from fedradio.core.files import read_bytes, unsealed
from fedradio.papers import costs as unit_costs
from fedradio.papers.items import Item, Row, Source
from fedradio.papers.scales import OUT, Scale
from fedradio.papers.studies import SAME_PLAN
from fedradio.runs.folder import SUMMARY_FILE
from fedradio.runs.stored import fitting, read_summary
from fedradio.spec.strict import Strict

SETTLED = ("complete", "diverged")
"""Statuses of runs that need not be made again: the same spec and seed would end the same way."""


class StudyFile(Strict):
    """The file of a study, sealed: what was studied, and what was found."""

    study: str
    spec: str
    set: list[str]
    seed: int
    spec_sha256: str
    fedradio: str
    wall_s: float
    found: dict[str, Any]
    cpu_s: float | None = None
    commit: str | None = None


@dataclass(frozen=True)
class Stored:
    """What is stored of a unit that has ended: status, fingerprint of its spec, wall and CPU seconds if counted."""

    status: str
    spec_sha256: str
    wall_s: float
    cpu_s: float | None

    @property
    def spent_s(self) -> float:
        """CPU seconds, or wall seconds if they were not counted."""
        return self.wall_s if self.cpu_s is None else self.cpu_s


@dataclass(frozen=True)
class Unit:
    """A unit of work: a run, or a study of a spec. ``path`` is the run folder, or the study's file."""

    source: Source
    seed: int
    study: str | None
    path: Path

    @property
    def work(self) -> Unit:
        """The unit that is computed for it: studies of the same plan are made at once."""
        if self.study not in SAME_PLAN:
            return self
        first = SAME_PLAN[0]
        return replace(self, study=first, path=self.path.with_name(first + self.path.name.removeprefix(self.study)))

    @property
    def label(self) -> str:
        what = " ".join([str(self.source.spec), *self.source.set])
        return f"{what} seed {self.seed}" if self.study is None else f"study {self.study} of {what} seed {self.seed}"

    def stored(self) -> Stored | None:
        """What is stored of it; None if it has not ended, is damaged, or is a study by another version of fedradio."""
        if self.study is None:
            return _stored_run(self.path)
        study = stored_study(self.path)
        return None if study is None else Stored("complete", study.spec_sha256, study.wall_s, study.cpu_s)

    def settled(self) -> bool:
        """Whether it need not be made again."""
        stored = self.stored()
        return stored is not None and stored.status in SETTLED


def group(unit: Unit) -> str:
    """What a unit is a run or study of: its label without the seed."""
    return unit.label.removesuffix(f" seed {unit.seed}")


@dataclass(frozen=True)
class ScaledRow:
    """A row at a scale: its runs by seed, its studies by name and seed; none if it is skipped."""

    row: Row
    source: Source
    runs: Mapping[int, Unit]
    studies: Mapping[str, Mapping[int, Unit]]

    @property
    def units(self) -> list[Unit]:
        return [*self.runs.values(), *(unit for by_seed in self.studies.values() for unit in by_seed.values())]


@dataclass(frozen=True)
class Reproduction:
    """A published item to be reproduced at a scale, with all runs and studies it needs, in ``folder`` below ``out``."""

    item: Item
    scale: Scale
    seeds: tuple[int, ...]
    out: Path
    rows: tuple[ScaledRow, ...]

    @property
    def folder(self) -> Path:
        return scale_folder(self.out, self.item, self.scale)

    @property
    def units(self) -> list[Unit]:
        """Runs and studies of all rows, each once."""
        return list({unit.path: unit for row in self.rows for unit in row.units}.values())

    @property
    def world(self) -> int | None:
        """The one world of all its runs and studies, if their specs name one; None if there are more."""
        worlds = {source.load(self.seeds[0]).plain["world_seed"] for source in {unit.source for unit in self.units}}
        return worlds.pop() if len(worlds) == 1 else None

    @property
    def changed_seeds(self) -> bool:
        """Whether the seeds are not the item's own."""
        return self.seeds != planned_seeds(self.item, self.item.size(self.scale).seeds)


@dataclass(frozen=True)
class Cost:
    """What a reproduction takes: seeds, units in all and done, CPU seconds in all and left."""

    seeds: int
    units: int
    done: int
    total_s: float
    left_s: float


def plan_reproduction(
    item: Item, scale: Scale, seeds: int | Sequence[int] | None = None, out: Path = OUT
) -> Reproduction:
    """The reproduction of an item with seeds 1 to ``seeds``, or with these, by default the item's; no spec is read."""
    folder = scale_folder(out, item, scale)
    chosen = item.size(scale).seeds if seeds is None else seeds
    numbers = planned_seeds(item, chosen) if isinstance(chosen, int) else tuple(chosen)
    rows = []
    for row in item.rows:
        source = row.source(scale)
        runs, studies = {}, {}
        if source.spec is not None:
            names = {seed: folder_name(source, seed) for seed in numbers}
            if item.trains(row):
                paths = {seed: folder / "runs" / name for seed, name in names.items()}
                runs = {seed: Unit(source, seed, None, path) for seed, path in paths.items()}
            for study in item.studied(row):
                files = {seed: folder / "studies" / f"{study}-{name}.json" for seed, name in names.items()}
                studies[study] = {seed: Unit(source, seed, study, file) for seed, file in files.items()}
        rows.append(ScaledRow(row, source, runs, studies))
    return Reproduction(item, scale, numbers, out, tuple(rows))


def scale_folder(out: Path, item: Item, scale: Scale) -> Path:
    """The folder of all items of a paper at a scale."""
    return out / item.paper / scale


def planned_seeds(item: Item, count: int) -> tuple[int, ...]:
    """The seeds 1 to ``count``, and the one on which rates are chosen."""
    seeds = numbered(count)
    return seeds if item.tuning is None or item.tuning.seed in seeds else (*seeds, item.tuning.seed)


def numbered(count: int) -> tuple[int, ...]:
    """The seeds 1 to ``count``."""
    return tuple(range(1, count + 1))


def folder_name(source: Source, seed: int) -> str:
    """Name of a run folder, ``<spec>-<hash of overrides, if any>-seed<N>``; items with the same spec share it."""
    return f"{_stem(source)}-seed{seed}"


def _stem(source: Source) -> str:
    changes = hashlib.sha256("\n".join(source.set).encode()).hexdigest()[:8]
    return "-".join([str(source.spec).replace("/", "_"), *([changes] if source.set else [])])


def stored_seeds(item: Item, scale: Scale, out: Path = OUT) -> tuple[int, ...]:
    """All seeds of which a run or a study of an item is stored."""
    folder = scale_folder(out, item, scale)
    places = [place for place in (folder / "runs", folder / "studies") if place.is_dir()]
    names = [path.name for place in places for path in place.iterdir()]
    found = set()
    for row in item.rows:
        source = row.source(scale)
        stems = [f"{study}-{_stem(source)}" for study in item.studied(row)] + [_stem(source)]
        pattern = re.compile(rf"(?:{'|'.join(map(re.escape, stems))})-seed(\d+)(?:\.json)?")
        found |= {int(match[1]) for name in names if source.spec and (match := pattern.fullmatch(name))}
    return tuple(sorted(found))


def reproduce_command(reproduction: Reproduction, names: Sequence[str] = (), jobs: int = 1) -> str:
    """The command that makes what is missing of a reproduction; ``names``: all items that were asked for with it."""
    item = reproduction.item
    words = ["fedradio", "reproduce", item.paper, *(names or (item.name,)), "--scale", reproduction.scale]
    return shlex.join(words + _options(reproduction, jobs))


def reproduce_all_command(reproduction: Reproduction, paper: str | None, jobs: int = 1) -> str:
    """The command that makes what is missing of all items, or of all of a paper, as it was asked for this one."""
    words = ["fedradio", "reproduce", *([] if paper is None else [paper]), "--all", "--scale", reproduction.scale]
    return shlex.join(words + _options(reproduction, jobs))


def _options(reproduction: Reproduction, jobs: int) -> list[str]:
    """The options of a command that asks for these seeds and this folder."""
    words, seeds = [], reproduction.seeds
    if reproduction.changed_seeds:
        count = seeds == numbered(len(seeds)) and reproduction.item.tuning is None
        words += ["--seeds", str(len(seeds)) if count else ",".join(map(str, seeds)) + "," * (len(seeds) == 1)]
    words += ["--jobs", str(jobs)] if jobs > 1 else []
    return words + (["--out", str(reproduction.out)] if reproduction.out != OUT else [])


def expected(reproduction: Reproduction) -> dict[Path, float]:
    """Expected CPU seconds of every unit: its own if it has ended, else other seeds', else what its source takes.

    That is what this machine has measured, else what ships, see :mod:`fedradio.papers.costs`; 0 if neither is known.
    """
    units = reproduction.units
    known = {unit.path: stored.spent_s for unit in units if (stored := unit.stored()) and stored.status in SETTLED}
    alike: dict[str, list[float]] = {}
    for unit in units:
        if unit.path in known:
            alike.setdefault(group(unit.work), []).append(known[unit.path])
    costs = {**unit_costs.expected_costs(), **{label: sum(values) / len(values) for label, values in alike.items()}}
    return {unit.path: known.get(unit.path, costs.get(group(unit.work), 0.0)) for unit in units}


def cost(reproduction: Reproduction) -> Cost:
    """What a reproduction takes in all, and what is left of it; what is computed at once counts once."""
    cpu_s = expected(reproduction)
    left = [unit for unit in reproduction.units if not unit.settled()]
    return Cost(
        len(reproduction.seeds),
        len(cpu_s),
        len(cpu_s) - len(left),
        _once(reproduction.units, cpu_s),
        _once(left, cpu_s),
    )


def _once(units: Iterable[Unit], cpu_s: Mapping[Path, float]) -> float:
    """CPU seconds of units, those that are computed at once counted once."""
    return sum({unit.work.path: cpu_s[unit.path] for unit in units}.values(), 0.0)


def shipped_cost_s(item: Item, scale: Scale) -> float:
    """CPU seconds of all of an item on the machine that measured the shipped table, the same everywhere."""
    units = plan_reproduction(item, scale).units
    costs = unit_costs.shipped_costs()
    return _once(units, {unit.path: costs.get(group(unit.work), 0.0) for unit in units})


def read_study(unit: Unit) -> dict[str, Any] | None:
    """The finding of a study; None if this version has not made it."""
    study = stored_study(unit.path)
    return None if study is None else study.found


def stored_study(path: Path) -> StudyFile | None:
    """The file of a study; None if this version has not made it, or it is damaged: it is then made again."""
    study = _parsed_study(path, path.stat().st_mtime_ns) if path.is_file() else None
    return study if study is not None and study.fedradio == __version__ else None


def _stored_run(folder: Path) -> Stored | None:
    """What is stored of a run; None if it has not ended, or is damaged."""
    file = folder / SUMMARY_FILE
    return _parsed_summary(folder, file.stat().st_mtime_ns) if file.is_file() else None


@functools.lru_cache(maxsize=4096)
def _parsed_summary(folder: Path, changed_ns: int) -> Stored | None:
    """The summary of a run, parsed once as long as its file is the same: plans ask for it many times."""
    try:
        summary = read_summary(folder)
    except StoreError:
        return None
    return Stored(summary["status"], summary["spec_sha256"], summary["wall_s"], summary.get("cpu_s"))


@functools.lru_cache(maxsize=4096)
def _parsed_study(path: Path, changed_ns: int) -> StudyFile | None:
    """The file of a study, parsed once as long as it is the same."""
    try:
        return fitting(StudyFile, unsealed(read_bytes(path), path), path)
    except StoreError:
        return None

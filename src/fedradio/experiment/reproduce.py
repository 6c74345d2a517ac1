"""Make a published table or figure again: what has to be computed, what is there already, and what it will cost.

Everything lies under ``<out>/<paper>/<scale>/``: ordinary run folders in ``runs/``, what studies found in ``studies/``,
shared by all items of a paper; an item's results beside them.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedradio._version import __version__
from fedradio.core.errors import DataError, FedradioError, Problem, SpecError, StoreError
from fedradio.data import fetch as data_sets
from fedradio.experiment import store
from fedradio.experiment.batch import BatchObserver, Job, run_batch, standing
from fedradio.experiment.published import Item, Row, Scale, Source
from fedradio.experiment.spec import Spec
from fedradio.experiment.studies import STUDIES

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
        found = _json(self.path / store.SUMMARY if self.study is None else self.path)
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
class Plan:
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
class Trouble:
    """Why something is not there, in words, and the exit code of that."""

    why: str
    exit_code: int


@dataclass(frozen=True)
class Cost:
    """Units in all and those that are there; wall seconds of everything, and of what is left."""

    units: int
    done: int
    total_s: float
    left_s: float


def make_plan(item: Item, scale: Scale, seeds: int | None = None, out: Path = OUT) -> Plan:
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
    return Plan(item, scale, numbers, folder, tuple(lines))


def folder_name(source: Source, seed: int) -> str:
    """``<spec>-<hash of overrides, if any>-seed<N>``: the same for every item that names the same spec."""
    changes = hashlib.sha256("\n".join(source.set).encode()).hexdigest()[:8]
    words = [str(source.spec).replace("/", "_"), *([changes] if source.set else []), f"seed{seed}"]
    return "-".join(words)


def expected(plan: Plan) -> dict[Path, float]:
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


def cost(plan: Plan) -> Cost:
    """How long an item takes in all, and from here."""
    wall_s = expected(plan)
    left = [unit for unit in plan.units if not unit.settled()]
    return Cost(
        len(wall_s), len(wall_s) - len(left), sum(wall_s.values()), sum((wall_s[unit.path] for unit in left), 0.0)
    )


def load_specs(units: Iterable[Unit]) -> dict[Path, Spec]:
    """The spec of every unit, by its path; raises :class:`SpecError` with the problems of all of them."""
    loaded: dict[Source, Spec] = {}
    specs: dict[Path, Spec] = {}
    problems: list[Problem] = []
    for unit in units:
        try:
            if unit.source not in loaded:
                loaded[unit.source] = unit.source.load(unit.seed)
        except SpecError as error:
            problems += [replace(one, path=f"{unit.source.spec}: {one.path}") for one in error.problems]
            continue
        specs[unit.path] = Spec(loaded[unit.source].plain | {"seed": unit.seed})
    if problems:
        raise SpecError(problems)
    return specs


def blocked(plan: Plan, specs: Mapping[Path, Spec]) -> dict[Path, Trouble]:
    """Units that are not there and cannot be made: their data set is not on this machine."""
    absent = {entry.name for entry in data_sets.ls() if entry.status in ("absent", "damaged")}
    kinds = {unit.path: specs[unit.path].plain["data"]["source"]["kind"] for unit in plan.units if not unit.settled()}
    return {
        path: Trouble(f"no data: fedradio data fetch {kind}", DataError.exit_code)
        for path, kind in kinds.items()
        if kind in absent
    }


def make_studies(
    plan: Plan, specs: Mapping[Path, Spec], tell: Tell = lambda _what, _share: None
) -> dict[Path, Trouble]:
    """Make every study that is not there and can be made; returns what went wrong, each in its own study alone."""
    out_of_reach = blocked(plan, specs)
    studies = [unit for unit in plan.units if unit.study is not None and unit.path not in out_of_reach]
    left = [unit for unit in studies if not _current(unit, specs[unit.path])]
    trouble = {}
    for number, unit in enumerate(left, start=1):
        words = f"{unit.label} ({number} of {len(left)})"
        try:
            _study(unit, specs[unit.path], functools.partial(tell, words))
        except StoreError:
            raise
        except FedradioError as error:
            trouble[unit.path] = Trouble(f"failed: {error}", error.exit_code)
    return trouble


def make_runs(
    plan: Plan, specs: Mapping[Path, Spec], *, parallel: int = 1, observer: BatchObserver | None = None
) -> dict[Path, Trouble]:
    """Make every run that is not there and can be made; returns what went wrong, each in its own run alone.

    Ctrl-C raises :class:`KeyboardInterrupt`; the same call goes on later.
    """
    out_of_reach = blocked(plan, specs)
    runs = [unit for unit in plan.units if unit.study is None and unit.path not in out_of_reach]
    jobs = [Job(specs[unit.path], unit.path, unit.label) for unit in runs]
    there = {job.folder: outcome for job in jobs if (outcome := standing(job)) is not None}
    pending = [job for job in jobs if job.folder not in there]
    made = run_batch(pending, parallel=parallel, observer=observer) if pending else []
    return {
        one.job.folder: Trouble(f"{one.status}: {one.error}" if one.error else one.status, one.exit_code)
        for one in (*there.values(), *made)
        if one.status != "complete"
    }


def _current(unit: Unit, spec: Spec) -> bool:
    """Whether a study is there, of this very spec."""
    stored = unit.stored()
    return stored is not None and stored.spec_sha256 == spec.sha256()


def _study(unit: Unit, spec: Spec, tell: Callable[[float], None]) -> None:
    """Compute and keep a study."""
    began = time.perf_counter()
    tell(0.0)
    found = STUDIES[str(unit.study)](spec, tell)
    kept = {
        "study": unit.study,
        "spec": unit.source.spec,
        "set": list(unit.source.set),
        "seed": unit.seed,
        "spec_sha256": spec.sha256(),
        "fedradio": __version__,
        "wall_s": time.perf_counter() - began,
        "found": found,
    }
    store.write_json(make_folder(unit.path.parent) / unit.path.name, kept)


def read_study(unit: Unit) -> dict[str, Any] | None:
    """What a study found; None where it has not been made by this version."""
    if unit.stored() is None:
        return None
    found: dict[str, Any] = _json(unit.path)["found"]
    return found


def make_folder(path: Path) -> Path:
    """The folder, made where it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {path}: {error.strerror or error}") from None
    return path


def _json(path: Path) -> dict[str, Any]:
    """Files are asked for again and again, and those of studies can be long: each is parsed once."""
    return _parsed(path, path.stat().st_mtime_ns) if path.is_file() else {}


@functools.lru_cache(maxsize=4096)
def _parsed(path: Path, changed_ns: int) -> dict[str, Any]:
    return store.read_plain(path)

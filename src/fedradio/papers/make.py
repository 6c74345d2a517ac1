"""Make the runs and studies that a published table or figure still lacks."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fedradio._version import __version__
from fedradio.core.errors import DataError, FedradioError, Problem, SpecError, StoreError
from fedradio.core.files import write_json
from fedradio.data import download as data_sets
from fedradio.papers.items import Source
from fedradio.papers.plan import Reproduction, Tell, Unit
from fedradio.papers.studies import STUDIES
from fedradio.spec.spec import Spec
from fedradio.sweeps.pool import PoolObserver, RunTask, run_batch, settled_outcome


@dataclass(frozen=True)
class Trouble:
    """Why something is not there, in words, and the exit code of that."""

    why: str
    exit_code: int


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


def blocked(plan: Reproduction, specs: Mapping[Path, Spec]) -> dict[Path, Trouble]:
    """Units that are not there and cannot be made: their data set is not on this machine."""
    absent = {entry.name for entry in data_sets.ls() if entry.status in ("absent", "damaged")}
    kinds = {unit.path: specs[unit.path].plain["data"]["source"]["kind"] for unit in plan.units if not unit.settled()}
    return {
        path: Trouble(f"no data: fedradio data fetch {kind}", DataError.exit_code)
        for path, kind in kinds.items()
        if kind in absent
    }


def make_studies(
    plan: Reproduction, specs: Mapping[Path, Spec], tell: Tell = lambda _what, _share: None
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
    plan: Reproduction, specs: Mapping[Path, Spec], *, parallel: int = 1, observer: PoolObserver | None = None
) -> dict[Path, Trouble]:
    """Make every run that is not there and can be made; returns what went wrong, each in its own run alone.

    Ctrl-C raises :class:`KeyboardInterrupt`; the same call goes on later.
    """
    out_of_reach = blocked(plan, specs)
    runs = [unit for unit in plan.units if unit.study is None and unit.path not in out_of_reach]
    tasks = [RunTask(specs[unit.path], unit.path, unit.label) for unit in runs]
    there = {task.folder: outcome for task in tasks if (outcome := settled_outcome(task)) is not None}
    pending = [task for task in tasks if task.folder not in there]
    made = run_batch(pending, parallel=parallel, observer=observer) if pending else []
    return {
        one.task.folder: Trouble(f"{one.status}: {one.error}" if one.error else one.status, one.exit_code)
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
    write_json(make_folder(unit.path.parent) / unit.path.name, kept)


def make_folder(path: Path) -> Path:
    """The folder, made where it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {path}: {error.strerror or error}") from None
    return path

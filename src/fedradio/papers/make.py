"""Makes the runs and studies that a reproduction still lacks."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import mean

from fedradio._version import __version__
from fedradio.core.commit import source_commit
from fedradio.core.errors import DataError, FedradioError, Problem, SpecError, StoreError
from fedradio.core.files import sealed, write_bytes
from fedradio.core.progress import Progress, silent
from fedradio.data import download as data_sets
from fedradio.papers.absence import Absence, Reason
from fedradio.papers.items import Source
from fedradio.papers.plan import Reproduction, Unit, group
from fedradio.papers.studies import SAME_PLAN, STUDIES
from fedradio.papers.studies.planned import Finding, ShareProgress
from fedradio.runs.place import check_place
from fedradio.runs.speed import measured, note_units, speed_key
from fedradio.spec.spec import Spec
from fedradio.sweeps.pool import PoolObserver, RunTask, run_batch, settled_outcome
from fedradio.sweeps.processes import LocalPool
from fedradio.sweeps.tasks import Pool


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
            problems += [replace(problem, path=f"{unit.source.spec}: {problem.path}") for problem in error.problems]
            continue
        specs[unit.path] = Spec(loaded[unit.source].plain | {"seed": unit.seed})
    if problems:
        raise SpecError(problems)
    return specs


def blocked(reproduction: Reproduction, specs: Mapping[Path, Spec]) -> dict[Path, Absence]:
    """Units that cannot be made because their data set is not on this machine."""
    absent = {entry.name for entry in data_sets.ls() if entry.status in ("absent", "damaged")}
    kinds = {
        unit.path: specs[unit.path].plain["data"]["source"]["kind"] for unit in reproduction.units if not unit.settled()
    }
    return {
        path: Absence(Reason.NO_DATA, f"fedradio data fetch {kind}", DataError.exit_code)
        for path, kind in kinds.items()
        if kind in absent
    }


def make_studies(
    reproduction: Reproduction, specs: Mapping[Path, Spec], progress: Progress = silent
) -> dict[Path, Absence]:
    """Make every missing study that can be made; returns the failures, which do not stop other studies."""
    out_of_reach = blocked(reproduction, specs)
    studies = [unit for unit in reproduction.units if unit.study is not None and unit.path not in out_of_reach]
    left = [unit for unit in studies if not _current(unit, specs[unit.path])]
    failures = {}
    for number, unit in enumerate(left, start=1):
        label = f"{unit.label} ({number} of {len(left)})"
        try:
            _study(unit, specs[unit.path], functools.partial(progress, label))
        except StoreError:
            raise
        except FedradioError as error:
            failures[unit.path] = Absence(Reason.FAILED, str(error), error.exit_code)
    _note_costs(left, specs)
    return failures


def make_runs(
    reproduction: Reproduction,
    specs: Mapping[Path, Spec],
    *,
    parallel: int = 1,
    observer: PoolObserver | None = None,
    pool: Pool | None = None,
) -> dict[Path, Absence]:
    """Make every missing run that can be made; returns the failures, which do not stop other runs.

    Ctrl-C raises :class:`KeyboardInterrupt`; the same call later resumes.
    """
    out_of_reach = blocked(reproduction, specs)
    runs = [unit for unit in reproduction.units if unit.study is None and unit.path not in out_of_reach]
    tasks = [RunTask(specs[unit.path], unit.path, unit.label) for unit in runs]
    settled = {task.folder: outcome for task in tasks if (outcome := settled_outcome(task)) is not None}
    pending = [task for task in tasks if task.folder not in settled]
    try:
        made = run_batch(pending, parallel=parallel, observer=observer, pool=pool) if pending else []
    finally:
        if pool is None or isinstance(pool, LocalPool):
            _note_costs([unit for unit in runs if unit.path not in settled], specs)
    return {
        outcome.task.folder: Absence(Reason(outcome.status), outcome.error or "", outcome.exit_code)
        for outcome in (*settled.values(), *made)
        if outcome.status != "complete"
    }


def _note_costs(units: Sequence[Unit], specs: Mapping[Path, Spec]) -> None:
    """Note what units that were made on this machine have taken: the mean over their seeds.

    Of runs of which no seed is complete, it is what all their rounds will take, from those that were measured.
    """
    spent: dict[str, list[float]] = {}
    for unit in units:
        stored = unit.stored()
        if stored is not None and stored.status == "complete" and stored.cpu_s is not None:
            spent.setdefault(group(unit.work), []).append(stored.cpu_s)
    speeds = measured().rounds
    begun = {group(unit): specs[unit.path] for unit in units if unit.study is None and group(unit) not in spent}
    for label, spec in begun.items():
        if (speed := speeds.get(speed_key(spec))) is not None:
            spent[label] = [speed.run_s(spec.rounds, spec.eval_every)]
    note_units({label: mean(values) for label, values in spent.items()})


def outdated(reproduction: Reproduction, specs: Mapping[Path, Spec]) -> dict[Path, Absence]:
    """Units that are stored, but of another spec than today's."""
    stored = {unit.path: found for unit in reproduction.units if (found := unit.stored()) is not None}
    return {
        path: Absence(Reason.OTHER_SPEC, f"remove {path.name}, or choose another --out", StoreError.exit_code)
        for path, found in stored.items()
        if found.spec_sha256 != specs[path].sha256()
    }


def _current(unit: Unit, spec: Spec) -> bool:
    """Whether a study is stored, of this very spec."""
    stored = unit.stored()
    return stored is not None and stored.spec_sha256 == spec.sha256()


def _study(unit: Unit, spec: Spec, progress: ShareProgress) -> None:
    """Compute a study and store its finding, and those of the same plan, which other items of the paper may need.

    The time of the plan counts for each of them.
    """
    began, began_cpu = time.perf_counter(), time.process_time()
    progress(0.0)
    _store(unit, spec, STUDIES[str(unit.study)](spec, progress), began, began_cpu)
    for name in SAME_PLAN if unit.study in SAME_PLAN else ():
        beside = unit.path.with_name(f"{name}{unit.path.name.removeprefix(str(unit.study))}")
        other = replace(unit, study=name, path=beside)
        if not _current(other, spec):
            with suppress(SpecError):  # nobody has asked for it
                _store(other, spec, STUDIES[name](spec, progress), began, began_cpu)


def _store(unit: Unit, spec: Spec, finding: Finding, began: float, began_cpu: float) -> None:
    """Store the finding of a study that began at this wall and CPU time."""
    document = {
        "study": unit.study,
        "spec": unit.source.spec,
        "set": list(unit.source.set),
        "seed": unit.seed,
        "spec_sha256": spec.sha256(),
        "fedradio": __version__,
        "wall_s": time.perf_counter() - began,
        "found": finding,
        "cpu_s": time.process_time() - began_cpu,
        "commit": source_commit(),
    }
    write_bytes(make_folder(unit.path.parent) / unit.path.name, sealed(document))


def make_folder(path: Path) -> Path:
    """The folder, made if it does not exist; refused inside a run folder."""
    check_place(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {path}: {error.strerror or error}") from None
    return path

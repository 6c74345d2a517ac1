"""Sweeps: the runs of a grid in one folder, each made once; the same command later makes the missing ones.

``sweep.json`` lists the variants; their runs are ordinary run folders in ``runs/``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedradio.core.errors import DataError, Problem, SpecError, StoreError
from fedradio.core.files import LOCK_FILE, locked, sealed, write_bytes
from fedradio.core.part_files import part_files
from fedradio.core.progress import Progress, silent
from fedradio.core.registry import announced, part
from fedradio.core.text import numbered_names
from fedradio.results.sweep_file import MARKER, RUNS
from fedradio.runs.place import check_place
from fedradio.spec.build import build
from fedradio.spec.defaults import without_defaults
from fedradio.spec.description import named_parts
from fedradio.spec.spec import Spec
from fedradio.sweeps.document import read_sweep, sweep_document
from fedradio.sweeps.grid import GridVariant, SweepPlan, merged, merged_problems, parse_seeds, place, plan_sweep
from fedradio.sweeps.pool import PoolObserver, RunTask, run_batch
from fedradio.sweeps.result import Sweep, VariantResult, sweep_results
from fedradio.sweeps.tasks import Pool

LOG = logging.getLogger(__name__)

__all__ = [
    "Sweep",
    "VariantResult",
    "check_variants",
    "joined",
    "plan_sweep",
    "run_sweep",
    "sweep",
    "sweep_folder",
    "sweep_results",
]


def sweep(
    source: str | Path,
    changes: Sequence[str] = (),
    *,
    seeds: int | Sequence[int] | None = None,
    rounds: int | None = None,
    out: Path | str | None = None,
    jobs: int = 1,
    device: str = "cpu",
    workers: int | None = None,
    observer: PoolObserver | None = None,
    pool: Pool | None = None,
) -> Sweep:
    """Run ``source`` with every combination of the values in ``changes`` (``key=a,b``) on the same ``seeds``, a list or
    how many: 5 is the seeds 1 to 5; ``jobs`` runs at a time, or as many as the ``pool``
    makes.

    A run that fails stops no other one: look at ``failed`` of the :class:`Sweep`, which its text tells of too.
    """
    chosen = parse_seeds(str(seeds)) if isinstance(seeds, int) else seeds
    plan = plan_sweep(source, changes, seeds=chosen, rounds=rounds)
    folder = sweep_folder(plan) if out is None else Path(out)
    check_variants(plan, folder, device)
    return run_sweep(plan, folder, parallel=jobs, device=device, workers=workers, observer=observer, pool=pool)


def sweep_folder(plan: SweepPlan, root: Path = Path("sweeps")) -> Path:
    """A folder for a sweep: ``sweeps/NAME``, with a number behind it if another sweep has that."""
    folders = (root / name for name in numbered_names(plan.name))
    return next(folder for folder in folders if not _taken(folder, plan))


def check_variants(plan: SweepPlan, folder: Path, device: str = "cpu", progress: Progress = silent) -> list[str]:
    """Check every variant that has not begun in ``folder`` by building its simulation; returns warnings.

    Raises :class:`SpecError` with the problems of all variants, or :class:`DataError` where data alone is missing.
    """
    stored = joined(folder, plan).by_sha256()
    wrong: dict[str, Sequence[Problem]] = {}
    absent: dict[str, DataError] = {}
    warnings: dict[str, list[str]] = {}
    for number, variant in enumerate(plan.variants):
        if (folder / RUNS / stored[variant.sha256].folder(variant.seeds[0])).is_dir():
            continue
        progress(f"checking {variant.label}", number / len(plan.variants))
        try:
            _refuse_unannounced(variant.at(variant.seeds[0]))
            for text in build(variant.at(variant.seeds[0]), device).warnings:
                warnings.setdefault(text, []).append(variant.label)
        except SpecError as error:
            wrong[place(variant.changes, plan.axes)] = error.problems
        except DataError as error:
            absent[place(variant.changes, plan.axes)] = error
    if wrong:
        lacking = {variant: [Problem("data", str(error))] for variant, error in absent.items()}
        raise SpecError(merged_problems(wrong | lacking, len(plan.variants)))
    if absent:
        raise next(iter(absent.values()))
    return [text if len(where) == len(plan.variants) else f"{text} [{where[0]}]" for text, where in warnings.items()]


def run_sweep(
    plan: SweepPlan,
    folder: Path,
    *,
    parallel: int = 1,
    device: str = "cpu",
    workers: int | None = None,
    observer: PoolObserver | None = None,
    pool: Pool | None = None,
) -> Sweep:
    """Make the runs of a plan that ``folder`` lacks, for the first seed in all variants first; ``pool`` makes them, by
    default processes of this machine.

    A folder that holds a sweep of the same spec gets the variants and seeds it lacks. Other processes are kept out.
    """
    with written_sweep(plan, folder) as whole:
        variants = [whole.by_sha256()[sha256] for sha256 in plan.by_sha256()]
        tasks = [run_task(variant, seed, folder) for seed in plan.seeds for variant in variants]
        outcomes = run_batch(tasks, parallel=parallel, device=device, workers=workers, observer=observer, pool=pool)
    for outcome in outcomes:
        LOG.info("%s: %s%s", outcome.task.label, outcome.status, "" if outcome.fresh else ", was there before")
    return Sweep(folder, outcomes)


@contextmanager
def written_sweep(plan: SweepPlan, folder: Path) -> Iterator[SweepPlan]:
    """The sweep of a folder together with the plan, written there; the folder is locked in the block."""
    joined(folder, plan)  # before a lock file is put into a folder that is not ours
    try:
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot use {folder} as a sweep folder: {error.strerror or error}") from None
    with locked(folder):
        whole = joined(folder, plan)
        write_bytes(folder / MARKER, sealed(sweep_document(whole)))
        yield whole


def run_task(variant: GridVariant, seed: int, folder: Path) -> RunTask:
    """The run of a variant on a seed, in the folder of a sweep."""
    return RunTask(variant.at(seed), folder / RUNS / variant.folder(seed), f"{variant.label}, seed {seed}")


def joined(folder: Path, plan: SweepPlan) -> SweepPlan:
    """The plan together with the sweep that the folder holds, if it holds one; any other folder must be empty.

    Folders in which no sweep can be, such as those inside a run folder, are refused.
    """
    check_place(folder)
    if (folder / MARKER).is_file():
        stored = read_sweep(folder)
        if _essence(stored) != _essence(plan):
            raise StoreError(f"{folder} contains a sweep of a different spec; choose another --out")
        return merged(stored, plan)
    if folder.exists() and not _empty(folder):
        raise StoreError(f"{folder} is not empty and not a sweep (it has no {MARKER}); choose another --out")
    return plan


def _refuse_unannounced(spec: Spec) -> None:
    """Refuse parts that this process alone knows: the runs of a sweep are made by others."""
    reason = "was registered in this process and is unknown to the processes that make the runs of a sweep"
    remedy = "put it into its own file, to load with --parts or load_part_file(), or into a package (docs/extend.md)"
    loaded = {name for file in part_files() for name in file.parts}
    alone = [each for each in named_parts(spec.plain) if each[1:] not in loaded and not announced(part(*each[1:]))]
    if alone:
        raise SpecError(Problem(path, reason, remedy, kind) for path, _, kind in alone)


def _empty(folder: Path) -> bool:
    """Whether a folder holds nothing but what a sweep that has not begun leaves behind."""
    entries = [entry for entry in folder.iterdir() if entry.name != LOCK_FILE]
    return all(entry.name == RUNS and entry.is_dir() and not any(entry.iterdir()) for entry in entries)


def _essence(plan: SweepPlan) -> dict[str, Any]:
    return {key: value for key, value in without_defaults(plan.base).items() if key not in ("name", "about")}


def _taken(folder: Path, plan: SweepPlan) -> bool:
    """Whether a folder holds anything but this very sweep."""
    if not folder.exists():
        return False
    try:
        return not read_sweep(folder).holds(plan)
    except StoreError:
        return True

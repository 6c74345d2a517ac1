"""Work on a sweep together: any number of processes, wherever its folder is mounted, make the runs that nobody holds.

A run is held by the lock of its folder, which ends with the process that has it, however that ends. The lock of the
sweep itself is not taken: one process may write a sweep, many may work on it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from fedradio.sweeps.document import read_sweep
from fedradio.sweeps.pool import Outcome, PoolObserver, run_batch
from fedradio.sweeps.sweep import run_task

T = TypeVar("T")

TURN = "SLURM_ARRAY_TASK_ID"
"""Environment variable with the number of a task of a Slurm array."""


def work(
    folder: Path,
    *,
    parallel: int = 1,
    device: str = "cpu",
    workers: int | None = None,
    observer: PoolObserver | None = None,
) -> list[Outcome]:
    """Make all runs of a sweep that nobody holds; those that others hold are looked at once more at the end.

    Processes begin with different runs: that of the number of their Slurm task, else of the process.
    """
    seeds = [(seed, variant) for variant in read_sweep(folder).variants for seed in variant.seeds]
    tasks = [run_task(variant, seed, folder) for seed, variant in sorted(seeds, key=lambda each: each[0])]
    done: dict[Path, Outcome] = {}
    left = rotated(tasks, int(os.environ.get(TURN) or os.getpid()))
    for _ in range(2):
        made = run_batch(left, parallel=parallel, device=device, workers=workers, observer=observer, skip_held=True)
        done |= {outcome.task.folder: outcome for outcome in made}
        left = [outcome.task for outcome in made if outcome.status == "held"]
        if not left:
            break
    return [done[task.folder] for task in tasks]


def rotated(items: Sequence[T], turn: int) -> list[T]:
    """The items in their order, beginning with the one of this number."""
    start = turn % len(items) if items else 0
    return [*items[start:], *items[:start]]

"""Batches of runs, made by a pool: complete ones are skipped, interrupted ones resumed. A failure stops only its own
run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedradio.core.errors import DivergenceError, FedradioError, FormatError, StoreError
from fedradio.core.part_files import part_files
from fedradio.core.tables import given_sha256
from fedradio.results.run import open_run
from fedradio.runs.folder import is_run
from fedradio.runs.interrupt import Interrupts
from fedradio.runs.own_parts import other_part_file, stored_part_names
from fedradio.runs.stored import read_environment
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import differing_keys
from fedradio.sweeps.processes import LocalPool
from fedradio.sweeps.tasks import NOT_BEGUN, Pool, Said, Task


@dataclass(frozen=True)
class RunTask:
    """One run to be made: its spec, its run folder, and a label for messages."""

    spec: Spec
    folder: Path
    label: str


@dataclass(frozen=True)
class Outcome:
    """How a task ended: ``complete``, ``failed``, ``diverged``, ``interrupted``, or ``held`` by another process, to
    which it was left; with the error if there is one.

    ``fresh`` is False if nothing had to be done; ``exit_code`` is that of the error, 0 without one. A run of
    ``other_format`` cannot be made by trying again.
    """

    task: RunTask
    status: str
    error: str | None
    fresh: bool
    exit_code: int = 0
    other_format: bool = False


class PoolObserver:
    """Listener to the events of a batch, in the thread of :func:`run_batch`. It does nothing; subclasses override."""

    def started(self, tasks: Sequence[RunTask], parallel: int) -> None:
        """The batch begins."""

    def advanced(self, task: RunTask, done: int, rounds: int) -> None:
        """A run has made ``done`` of its rounds; called first when it begins."""

    def noted(self, task: RunTask, text: str) -> None:
        """Something the user should know of a run has happened."""

    def ended(self, outcome: Outcome, number: int, total: int) -> None:
        """A task has ended, as the ``number``-th of ``total``."""

    def stopping(self) -> None:
        """All runs stop after the round under way. Called from a signal handler: do little."""


def run_batch(
    tasks: Sequence[RunTask],
    *,
    parallel: int = 1,
    device: str = "cpu",
    workers: int | None = None,
    observer: PoolObserver | None = None,
    pool: Pool | None = None,
    skip_held: bool = False,
) -> list[Outcome]:
    """Make all runs that are missing, ``parallel`` at a time; returns how each ended, in the order of ``tasks``.

    ``workers`` threads serve each run; if None, the cores are shared out. They are made by ``pool``, by default
    processes of this machine. Results depend on none of these. A run that is complete or has diverged is left as it is,
    one that has stopped otherwise is resumed from its checkpoint; one that another process is making is waited for, or,
    with ``skip_held``, left to it. Ctrl-C ends all runs after the round under way, a second one at once; then
    KeyboardInterrupt is raised. Where runs that are there were made with another text of a file of the user's own
    parts, :class:`StoreError` is raised before all else.
    """
    if len({task.folder.resolve() for task in tasks}) < len(tasks):
        raise ValueError("two tasks have the same folder")
    _refuse_other_parts(tasks)
    batch, pool = _Batch(tasks, observer or PoolObserver()), pool or LocalPool(parallel)
    batch.observer.started(tasks, pool.share(len(tasks), workers)[0])
    pending = [number for number, task in enumerate(tasks) if not batch.settle(number, settled_outcome(task))]
    if pending:
        loaded = [file.agreed for file in part_files()]
        threads = pool.share(len(pending), workers)[1]
        setting = {"device": device, "workers": threads, "parts": loaded, "skip_held": skip_held}
        batch.make(pending, pool, setting)
    return [batch.outcomes[number] for number in range(len(tasks))]


def settled_outcome(task: RunTask) -> Outcome | None:
    """The outcome of a task that needs no work; None if its run is to be made, resumed or mended."""
    if not is_run(task.folder):
        return None
    try:
        run = open_run(task.folder)
        if run.spec.sha256() != task.spec.sha256():
            differs = _difference(run.spec, task.spec)
            raise StoreError(f"{task.folder} contains a different run{differs}; remove it, or choose another folder")
        _refuse_changed_files(task.folder)
    except FedradioError as error:
        other = isinstance(error, FormatError)
        return Outcome(task, "failed", str(error), fresh=False, exit_code=error.exit_code, other_format=other)
    status = run.status
    if status == "diverged":
        reason = "it diverged before and would do so again"
        return Outcome(task, status, reason, fresh=False, exit_code=DivergenceError.exit_code)
    return Outcome(task, status, None, fresh=False) if status == "complete" else None


def _refuse_changed_files(folder: Path) -> None:
    """Refuse a run that was made from files which hold something else by now; those that are gone are not missed.

    Files of parts are on record by name alone, which says nothing of a file of that name here: they are not meant.
    """
    of_parts = stored_part_names(folder)
    for path, sha256 in read_environment(folder).get("files", {}).items():
        if path not in of_parts and Path(path).exists() and given_sha256(path, "files") != sha256:
            raise StoreError(f"{folder} was made with a different {path}; restore it, or choose another folder")


def _refuse_other_parts(tasks: Sequence[RunTask]) -> None:
    """Refuse to make runs beside those that another text of the same parts has made: they could not be compared."""
    for task in tasks if part_files() else ():
        try:
            other = other_part_file(task.folder) if is_run(task.folder) else None
        except StoreError:  # a damaged run, which is told of in its turn
            continue
        if other is not None:
            reason = f"its parts came from {other.name}, which has changed since"
            remedy = "restore it, or choose another --out"
            raise StoreError(f"{task.folder} cannot be reused: {reason}; {remedy}")


class _Batch:
    """A batch under way: its tasks, their outcomes so far, and the observer."""

    def __init__(self, tasks: Sequence[RunTask], observer: PoolObserver) -> None:
        self.tasks = tasks
        self.observer = observer
        self.outcomes: dict[int, Outcome] = {}

    def settle(self, number: int, outcome: Outcome | None) -> bool:
        """Store the outcome of a task and report it; False if there is none."""
        if outcome is None:
            return False
        self.outcomes[number] = outcome
        self.observer.ended(outcome, len(self.outcomes), len(self.tasks))
        return True

    def make(self, pending: Sequence[int], pool: Pool, setting: Mapping[str, Any]) -> None:
        """Make the pending runs; nothing is left running when this returns or raises."""
        with Interrupts(self.observer.stopping) as interrupts:
            pool.make(self._turns(pending, setting), self._hear, interrupts)
        if interrupts.asked:
            raise KeyboardInterrupt

    def _turns(self, pending: Sequence[int], setting: Mapping[str, Any]) -> Iterator[Task]:
        """The pending tasks, each when its turn has come; by then, another process may have made its run."""
        for number in pending:
            task = self.tasks[number]
            if not self.settle(number, settled_outcome(task)):
                yield Task(number, {"spec": task.spec.plain, "folder": str(task.folder.resolve()), **setting})

    def _hear(self, said: Said) -> None:
        """Pass what is said of a task on to the observer."""
        task, message = self.tasks[said.number], said.message
        if said.kind == "round":
            self.observer.advanced(task, message["done"], message["rounds"])
        elif said.kind == "noted":
            self.observer.noted(task, message["text"])
        elif message["status"] != NOT_BEGUN:
            outcome = Outcome(task, message["status"], message["error"], fresh=True, exit_code=message["exit_code"])
            self.settle(said.number, outcome)


def _difference(stored: Spec, wanted: Spec, most: int = 3) -> str:
    """A clause that lists the keys in which the spec of a folder differs from the wanted one; empty if none does."""
    keys = [key for key in differing_keys(wanted.plain, stored.plain) if key not in ("name", "about")]
    return f", with a different {', '.join(keys[:most])}" + (" and more" if len(keys) > most else "") if keys else ""

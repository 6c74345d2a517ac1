"""Pool of worker processes that makes many runs: complete ones are skipped, interrupted ones resumed.

A failure stops only its own run. Workers (:mod:`fedradio.sweeps.worker`) get tasks and answer in JSON lines. They end
with their input, and that ends with this process, however it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fedradio.core.errors import DivergenceError, FedradioError, StoreError
from fedradio.core.part_files import part_files
from fedradio.core.tables import given_sha256
from fedradio.engine.threads import cores
from fedradio.results.run import open_run
from fedradio.runs.folder import is_run
from fedradio.runs.interrupt import Interrupts
from fedradio.runs.stored import read_environment
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import flatten
from fedradio.sweeps.processes import Event, Request, Seat


@dataclass(frozen=True)
class RunTask:
    """One run to be made: its spec, its run folder, and a label for messages."""

    spec: Spec
    folder: Path
    label: str


@dataclass(frozen=True)
class Outcome:
    """How a task ended: ``complete``, ``failed``, ``diverged`` or ``interrupted``, with the error if there is one.

    ``fresh`` is False if nothing had to be done; ``exit_code`` is that of the error, 0 without one.
    """

    task: RunTask
    status: str
    error: str | None
    fresh: bool
    exit_code: int = 0


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
) -> list[Outcome]:
    """Make all runs that are missing, ``parallel`` at a time; returns how each ended, in the order of ``tasks``.

    ``workers`` threads serve each run; if None, the cores are shared out. Results depend on neither. A run that is
    complete or has diverged is left as it is, one that has stopped otherwise is resumed from its checkpoint. Ctrl-C
    ends all runs after the round under way, a second one at once; then KeyboardInterrupt is raised.
    """
    if len({task.folder.resolve() for task in tasks}) < len(tasks):
        raise ValueError("two tasks have the same folder")
    batch = _Batch(tasks, observer or PoolObserver())
    batch.observer.started(tasks, parallel)
    pending = [number for number, task in enumerate(tasks) if not batch.settle(number, settled_outcome(task))]
    if pending:
        seats = max(1, min(parallel, len(pending)))
        loaded = [[str(file.path), file.sha256] for file in part_files()]
        setting = {"device": device, "workers": workers or max(1, cores() // seats), "parts": loaded}
        batch.make(pending, seats, setting)
    return [batch.outcomes[number] for number in range(len(tasks))]


def settled_outcome(task: RunTask) -> Outcome | None:
    """The outcome of a task that needs no work; None if its run is to be made, resumed or mended."""
    if not is_run(task.folder):
        return None
    try:
        run = open_run(task.folder)
        if run.spec.sha256() != task.spec.sha256():
            other = _difference(run.spec, task.spec)
            raise StoreError(f"{task.folder} holds another run{other}; remove it, or choose another folder")
        _refuse_changed_files(task.folder)
    except FedradioError as error:
        return Outcome(task, "failed", str(error), fresh=False, exit_code=error.exit_code)
    status = run.status
    if status == "diverged":
        reason = "it has diverged before and would do so again"
        return Outcome(task, status, reason, fresh=False, exit_code=DivergenceError.exit_code)
    return Outcome(task, status, None, fresh=False) if status == "complete" else None


def _refuse_changed_files(folder: Path) -> None:
    """Refuse a run that was made from files which hold something else by now; those that are gone are not missed."""
    for path, sha256 in read_environment(folder).get("files", {}).items():
        if Path(path).exists() and given_sha256(path, "files") != sha256:
            raise StoreError(f"{folder} was made with another {path}; put it back, or choose another folder")


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

    def make(self, pending: Sequence[int], parallel: int, setting: Mapping[str, Any]) -> None:
        """Make the pending runs; no process is left running when this returns or raises."""
        requests: SimpleQueue[Request] = SimpleQueue()
        events: SimpleQueue[Event] = SimpleQueue()
        for number in pending:
            task = self.tasks[number]
            requests.put(Request(number, {"spec": task.spec.plain, "folder": str(task.folder.resolve()), **setting}))

        def stop() -> None:
            events.put(Event("stop"))
            self.observer.stopping()

        with Interrupts(stop) as interrupts:
            seats = [Seat(requests, events) for _ in range(parallel)]
            try:
                self._follow(seats, events)
            except BaseException:
                for seat in seats:
                    seat.kill()
                raise
            finally:
                for seat in seats:
                    seat.join()
        if interrupts.asked:
            raise KeyboardInterrupt

    def _follow(self, seats: Sequence[Seat], events: SimpleQueue[Event]) -> None:
        """Handle the events of the seats until all are empty."""
        left = len(seats)
        while left:
            event = events.get()
            if event.kind == "over":
                left -= 1
            elif event.kind == "stop":
                for seat in seats:
                    seat.stop()
            elif event.message is not None:
                self._report(event.kind, event.number, event.message)

    def _report(self, kind: str, number: int, message: Mapping[str, Any]) -> None:
        """Pass a message of a worker on to the observer."""
        task = self.tasks[number]
        if kind == "round":
            self.observer.advanced(task, message["done"], message["rounds"])
        elif kind == "noted":
            self.observer.noted(task, message["text"])
        elif kind == "end":
            outcome = Outcome(task, message["status"], message["error"], fresh=True, exit_code=message["exit_code"])
            self.settle(number, outcome)


def _difference(stored: Spec, wanted: Spec, most: int = 3) -> str:
    """A clause that lists the keys in which the spec of a folder differs from the wanted one; empty if none does."""
    one, other = dict(flatten(stored.plain)), dict(flatten(wanted.plain))
    keys = [key for key in other | one if other.get(key) != one.get(key) and key not in ("name", "about")]
    return f", with another {', '.join(keys[:most])}" + (" and more" if len(keys) > most else "") if keys else ""

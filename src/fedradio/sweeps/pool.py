"""Many runs in worker processes: what is complete is left alone, what was interrupted goes on, a failure stops only
its own run.

Workers are processes of their own (:mod:`fedradio.sweeps.worker`) that get jobs and answer in JSON lines. They
end with their input, and that ends with this process, however it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from fedradio.core.errors import DivergenceError, FedradioError, StoreError
from fedradio.engine.threads import cores
from fedradio.runs.folder import SPEC_FILE, SUMMARY_FILE, read_summary
from fedradio.runs.interrupt import Interrupts
from fedradio.spec.spec import Spec, load_spec
from fedradio.spec.yaml import flatten
from fedradio.sweeps.processes import Message, Request, Seat


@dataclass(frozen=True)
class RunTask:
    """One run to be made: its spec, its run folder, and a word for people."""

    spec: Spec
    folder: Path
    label: str


@dataclass(frozen=True)
class Outcome:
    """How a job ended: ``complete``, ``failed``, ``diverged`` or ``interrupted``, with the error where there is one.

    ``fresh`` is False where nothing was done; ``exit_code`` is that of the error, 0 without one.
    """

    job: RunTask
    status: str
    error: str | None
    fresh: bool
    exit_code: int = 0


class PoolObserver(Protocol):
    """Is told how a batch goes, in the thread that called :func:`run_batch`."""

    def started(self, jobs: Sequence[RunTask], parallel: int) -> None:
        """The batch begins."""
        ...

    def advanced(self, job: RunTask, done: int, rounds: int) -> None:
        """A run has made ``done`` of its rounds; comes first when it begins."""
        ...

    def noted(self, job: RunTask, text: str) -> None:
        """Something that people should know of a run."""
        ...

    def ended(self, outcome: Outcome, number: int, total: int) -> None:
        """A job has ended, as the ``number``-th of ``total``."""
        ...

    def stopping(self) -> None:
        """Ctrl-C: all runs stop after the round under way. Comes from a signal handler: do little."""
        ...


def run_batch(
    jobs: Sequence[RunTask],
    *,
    parallel: int = 1,
    device: str = "cpu",
    workers: int | None = None,
    observer: PoolObserver | None = None,
) -> list[Outcome]:
    """Make every run that is not there yet, ``parallel`` at a time, and tell how each ended, in the jobs' order.

    ``workers`` threads serve each run; the cores are shared out where it is None. Results depend on neither. A run that
    is complete or has diverged is left as it is, one that has stopped otherwise goes on from its checkpoint. Ctrl-C
    ends all runs after the round under way, a second one at once; then KeyboardInterrupt goes on.
    """
    if len({job.folder.resolve() for job in jobs}) < len(jobs):
        raise ValueError("two jobs have the same folder")
    batch = _Batch(jobs, observer or _Silent())
    batch.watch.started(jobs, parallel)
    pending = [number for number, job in enumerate(jobs) if not batch.settle(number, settled_outcome(job))]
    if pending:
        seats = max(1, min(parallel, len(pending)))
        setting = {"device": device, "workers": workers or max(1, cores() // seats)}
        batch.make(pending, seats, setting)
    return [batch.outcomes[number] for number in range(len(jobs))]


def settled_outcome(job: RunTask) -> Outcome | None:
    """The outcome of a job for which nothing is to be done; None where a run is to be made or to go on."""
    try:
        held = _held(job.folder)
        if held is None:
            return None
        status, sha256 = held
        if sha256 != job.spec.sha256():
            raise StoreError(f"{job.folder} holds another run{_difference(job)}; remove it, or choose another folder")
    except FedradioError as error:
        return Outcome(job, "failed", str(error), fresh=False, exit_code=error.exit_code)
    if status == "diverged":
        words = "it has diverged before and would do so again"
        return Outcome(job, status, words, fresh=False, exit_code=DivergenceError.exit_code)
    return Outcome(job, status, None, fresh=False) if status == "complete" else None


class _Batch:
    """Outcomes so far, and who is told of them."""

    def __init__(self, jobs: Sequence[RunTask], watch: PoolObserver) -> None:
        self.jobs = jobs
        self.watch = watch
        self.outcomes: dict[int, Outcome] = {}

    def settle(self, number: int, outcome: Outcome | None) -> bool:
        if outcome is None:
            return False
        self.outcomes[number] = outcome
        self.watch.ended(outcome, len(self.outcomes), len(self.jobs))
        return True

    def make(self, pending: Sequence[int], parallel: int, setting: Mapping[str, Any]) -> None:
        """Have the pending runs made; nothing is left running when this returns or raises."""
        tasks: SimpleQueue[Request] = SimpleQueue()
        events: SimpleQueue[Message] = SimpleQueue()
        for number in pending:
            job = self.jobs[number]
            tasks.put(Request(number, {"spec": job.spec.plain, "folder": str(job.folder.resolve()), **setting}))

        def tell() -> None:
            events.put(Message("stop"))
            self.watch.stopping()

        with Interrupts(tell) as interrupts:
            seats = [Seat(tasks, events) for _ in range(parallel)]
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

    def _follow(self, seats: Sequence[Seat], events: SimpleQueue[Message]) -> None:
        """Pass on what the lanes say, until all are over."""
        left = len(seats)
        while left:
            said = events.get()
            if said.event == "over":
                left -= 1
            elif said.event == "stop":
                for seat in seats:
                    seat.stop()
            elif said.message is not None:
                self._hear(said.event, said.number, said.message)

    def _hear(self, event: str, number: int, message: Mapping[str, Any]) -> None:
        job = self.jobs[number]
        if event == "round":
            self.watch.advanced(job, message["done"], message["rounds"])
        elif event == "noted":
            self.watch.noted(job, message["text"])
        elif event == "end":
            end = Outcome(job, message["status"], message["error"], fresh=True, exit_code=message["exit_code"])
            self.settle(number, end)


class _Silent:
    """An observer that does nothing."""

    def started(self, jobs: Sequence[RunTask], parallel: int) -> None:
        pass

    def advanced(self, job: RunTask, done: int, rounds: int) -> None:
        pass

    def noted(self, job: RunTask, text: str) -> None:
        pass

    def ended(self, outcome: Outcome, number: int, total: int) -> None:
        pass

    def stopping(self) -> None:
        pass


def _held(folder: Path) -> tuple[str, str] | None:
    """Status and fingerprint of the run in a folder; None where there is none."""
    if (folder / SUMMARY_FILE).is_file():
        summary = read_summary(folder)
        return summary["status"], summary["spec_sha256"]
    if (folder / SPEC_FILE).is_file():
        return "unfinished", load_spec(folder / SPEC_FILE).sha256()
    return None


def _difference(job: RunTask, most: int = 3) -> str:
    """Keys in which the spec of a folder is not that of the job, in words."""
    there, here = dict(flatten(load_spec(job.folder / SPEC_FILE).plain)), dict(flatten(job.spec.plain))
    keys = [key for key in here | there if here.get(key) != there.get(key) and key not in ("name", "about")]
    return f", with another {', '.join(keys[:most])}" + (" and more" if len(keys) > most else "") if keys else ""

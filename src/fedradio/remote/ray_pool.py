"""Sweeps on a Ray cluster: one run is one Ray task, which Ray itself makes again where its process has died."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.core.files import locked, write_text
from fedradio.remote.courier import Json, Mailbox
from fedradio.remote.node import this_node
from fedradio.remote.ray_cluster import cpus_of, on_node, widest
from fedradio.remote.ray_task import make_run, probe_name
from fedradio.remote.shipping import held_files, store
from fedradio.runs.folder import is_run
from fedradio.runs.place import check_new_place
from fedradio.sweeps.tasks import Pool, Said, Stop, Task, Tell, end, not_begun

RETRIES = 3
"""How often a task is made again whose process, or machine, has died."""

LOOK_EVERY_S = 0.2
"""How often the mailbox is looked into."""

LAST_WAIT_S = 10.0
"""How long to wait for tasks that were ended at once."""


class RayPool(Pool):
    """The :class:`Pool` of a Ray cluster: as many runs at a time as it has processors for, or at most ``jobs``.

    Where a machine does not share the folder of a run, this process alone writes into it: the files come by mail.
    """

    def __init__(self, ray: Any, jobs: int | None = None) -> None:
        self._ray = ray
        self._jobs = jobs

    def share(self, runs: int, workers: int | None) -> tuple[int, int]:
        """As many as have processors, one each unless told otherwise. A run that no machine has room for is refused:
        Ray would wait for such a machine for ever."""
        most = widest(self._ray)
        if (workers or 1) > most:
            reason = f"a run needs them on one machine, but the largest machine of the cluster has {most}"
            raise SpecError(Problem("--workers", reason, f"use at most {most}", workers))
        return self.places(workers or 1), workers or 1

    def places(self, workers: int) -> int:
        """How many runs with so many processors each there may be at a time."""
        return self._jobs or max(1, cpus_of(self._ray) // workers)

    def make(self, tasks: Iterator[Task], tell: Tell, stop: Stop) -> None:
        _Batch(self._ray, self, tell).make(tasks, stop)

    def probe(self, folder: Path, token: str) -> Path:
        """Put a file beside the folder of a run by which a task sees whether it shares it."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_text(folder.parent / probe_name(token), token)
        return folder.parent / probe_name(token)


class _Batch:
    """The tasks of a pool under way."""

    def __init__(self, ray: Any, pool: RayPool, tell: Tell) -> None:
        self._ray = ray
        self._pool = pool
        self._tell = tell
        self._token = secrets.token_hex(8)
        self._asker = asdict(this_node())
        here = ray.get_runtime_context().get_node_id()
        self._mailbox = ray.remote(Mailbox).options(num_cpus=0, scheduling_strategy=on_node(here)).remote()
        self._make_run = ray.remote(_make_run)
        self._running: dict[Any, Task] = {}
        self._begun: set[int] = set()
        self._tasks: dict[int, Task] = {}
        self._probes: set[Path] = set()
        self._locks: dict[int, ExitStack] = {}

    def make(self, tasks: Iterator[Task], stop: Stop) -> None:
        stopped = False
        try:
            while True:
                while not stop.asked and self._room() and (task := next(tasks, None)) is not None:
                    self._begin(task)
                if stop.asked and not stopped:
                    stopped = True
                    self._stop()
                if not self._running:
                    break
                done, _ = self._ray.wait([*self._running], num_returns=1, timeout=LOOK_EVERY_S)
                self._hear()
                for reference in done:
                    self._end(reference, stop)
            for task in tasks:
                self._tell(Said(task.number, "end", not_begun()))
        except BaseException:
            self._end_at_once()
            raise
        finally:
            for lock in self._locks.values():
                lock.close()
            for probe in self._probes:
                probe.unlink(missing_ok=True)
            self._ray.kill(self._mailbox)

    def _room(self) -> bool:
        """Whether the cluster has room for one more; it may have grown."""
        workers = next(iter(self._running.values())).message["workers"] if self._running else 1
        return len(self._running) < self._pool.places(workers)

    def _begin(self, task: Task) -> None:
        self._probes.add(self._pool.probe(Path(task.message["folder"]), self._token))
        options = {"max_retries": RETRIES, "retry_exceptions": False, "num_cpus": task.message["workers"]}
        arguments = (task.number, dict(task.message), self._asker, self._token, self._mailbox)
        self._running[self._make_run.options(**options).remote(*arguments)] = task
        self._tasks[task.number] = task

    def _stop(self) -> None:
        """Tell those that have begun to end after their round; the others are taken back."""
        self._ray.get(self._mailbox.stop.remote())
        for reference, task in self._running.items():
            if task.number not in self._begun:
                self._ray.cancel(reference)

    def _hear(self) -> None:
        """Take what has come: progress and notes are told, files stored."""
        for number, message in self._ray.get(self._mailbox.take.remote()):
            self._begun.add(number)
            if message["event"] == "want":
                self._ray.get(self._mailbox.answer.remote(number, self._held(number)))
            elif message["event"] == "files":
                store(Path(self._tasks[number].message["folder"]), message)
            else:
                self._tell(Said(number, message["event"], message))

    def _held(self, number: int) -> Json:
        """The files of a run whose task does not share its folder, which from now on is locked for it."""
        folder = Path(self._tasks[number].message["folder"])
        try:
            if not is_run(folder):
                check_new_place(folder)
            folder.mkdir(exist_ok=True)
            if number not in self._locks:
                self._locks[number] = ExitStack()
                self._locks[number].enter_context(locked(folder))
            return {"error": None, "files": held_files(folder)}
        except (StoreError, OSError) as error:
            return {"error": str(error), "files": {}}

    def _end(self, reference: Any, stop: Stop) -> None:
        """Tell how a task has ended."""
        task, errors = self._running.pop(reference), self._ray.exceptions
        try:
            message = self._ray.get(reference)
        except errors.TaskCancelledError:
            message = end("interrupted", None, 130) if task.number in self._begun else not_begun()
        except errors.RayTaskError as error:
            message = end("failed", f"the run crashed: {str(error).strip()[-2000:]}", 1)
        except errors.RayError as error:
            reason = f"its process died, even after Ray restarted it: {str(error).strip()[:2000]}"
            message = end("interrupted", None, 130) if stop.asked else end("failed", reason, 1)
        if lock := self._locks.pop(task.number, None):
            lock.close()
        self._tell(Said(task.number, "end", message))

    def _end_at_once(self) -> None:
        for reference in self._running:
            with suppress(self._ray.exceptions.RayError):
                self._ray.cancel(reference, force=True)
        if self._running:
            self._ray.wait([*self._running], num_returns=len(self._running), timeout=LAST_WAIT_S)


def _make_run(number: int, task: Json, asker: Json, token: str, mailbox: Any) -> Json:
    """The Ray task: makes a run, and speaks through a mailbox."""
    import ray

    def ask(method: str, *arguments: Any) -> Any:
        return ray.get(getattr(mailbox, method).remote(*arguments))

    return make_run(number, task, asker, token, ask)

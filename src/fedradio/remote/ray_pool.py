"""Sweeps on a Ray cluster: one run is one Ray task, which Ray itself makes again where its process has died."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fedradio.core.errors import Problem, SpecError
from fedradio.core.files import write_text
from fedradio.remote.courier import Json, Mailbox
from fedradio.remote.node import this_node
from fedradio.remote.ray_cluster import cpus_of, on_node, widest
from fedradio.remote.ray_task import NOT_SHARED, make_run, probe_name
from fedradio.sweeps.tasks import Pool, Said, Stop, Task, Tell, end, not_begun

RETRIES = 3
"""How often a task is made again whose process, or machine, has died."""

LOOK_EVERY_S = 0.2
"""How often the mailbox is looked into."""

LAST_WAIT_S = 10.0
"""How long to wait for tasks that were ended at once."""


class RayPool(Pool):
    """The :class:`Pool` of a Ray cluster: as many runs at a time as it has processors for, or at most ``jobs``.

    All machines need the folder of the runs; one that does not see it ends the batch with a :class:`SpecError`.
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
        """Write the file beside the folder of a run by which a task sees that its machine shares that folder."""
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
        self._probes: set[Path] = set()
        self._refused: SpecError | None = None

    def make(self, tasks: Iterator[Task], stop: Stop) -> None:
        stopped = False
        try:
            while True:
                while not self._over(stop) and self._room() and (task := next(tasks, None)) is not None:
                    self._begin(task)
                if self._over(stop) and not stopped:
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
            if self._refused is not None:
                raise self._refused
        except BaseException:
            self._end_at_once()
            raise
        finally:
            for probe in self._probes:
                probe.unlink(missing_ok=True)
            self._ray.kill(self._mailbox)

    def _over(self, stop: Stop) -> bool:
        """Whether no more tasks are to begin."""
        return stop.asked or self._refused is not None

    def _room(self) -> bool:
        """Whether the cluster has room for one more; it may have grown."""
        workers = next(iter(self._running.values())).message["workers"] if self._running else 1
        return len(self._running) < self._pool.places(workers)

    def _begin(self, task: Task) -> None:
        self._probes.add(self._pool.probe(Path(task.message["folder"]), self._token))
        options = {"max_retries": RETRIES, "retry_exceptions": False, "num_cpus": task.message["workers"]}
        arguments = (task.number, dict(task.message), self._asker, self._token, self._mailbox)
        self._running[self._make_run.options(**options).remote(*arguments)] = task

    def _stop(self) -> None:
        """Tell those that have begun to end after their round; the others are taken back."""
        self._ray.get(self._mailbox.stop.remote())
        for reference, task in self._running.items():
            if task.number not in self._begun:
                self._ray.cancel(reference)

    def _hear(self) -> None:
        """Take progress and notes from the mailbox, and tell them."""
        for number, message in self._ray.get(self._mailbox.take.remote()):
            self._begun.add(number)
            self._tell(Said(number, message["event"], message))

    def _end(self, reference: Any, stop: Stop) -> None:
        """Tell how a task has ended."""
        task, errors = self._running.pop(reference), self._ray.exceptions
        try:
            message = self._ray.get(reference)
            if message["event"] == NOT_SHARED:
                message = self._not_shared(message["machine"], Path(task.message["folder"]).parent)
        except errors.TaskCancelledError:
            message = end("interrupted", None, 130) if task.number in self._begun else not_begun()
        except errors.RayTaskError as error:
            message = end("failed", f"the run crashed: {str(error).strip()[-2000:]}", 1)
        except errors.RayError as error:
            reason = f"its process died, even after Ray restarted it: {str(error).strip()[:2000]}"
            message = end("interrupted", None, 130) if stop.asked else end("failed", reason, 1)
        self._tell(Said(task.number, "end", message))

    def _not_shared(self, machine: str, folder: Path) -> Json:
        """The end of a task whose machine does not see a folder; it ends the batch."""
        remedy = "use a folder that all machines of the cluster share"
        self._refused = SpecError(Problem("--on ray", f"{machine} does not see {folder}", remedy))
        return end("failed", str(self._refused), SpecError.exit_code)

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

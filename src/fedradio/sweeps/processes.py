"""The pool of this machine: worker processes, each making one task after the other, replaced when they die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from fedradio.engine.threads import cores
from fedradio.sweeps.tasks import Pool, Said, Stop, Task, Tell, end, not_begun

COMMAND = (sys.executable, "-P", "-m", "fedradio.sweeps.worker")

TAIL_BYTES = 2000
"""Bytes at the end of what a worker has printed that are shown when it dies."""

LOOK_EVERY_S = 0.1
"""How often the wish to stop is looked at."""


class WorkerProcess:
    """A child process that makes runs. Messages are JSON in two pipes of its own; what it prints is kept aside.

    It has a process group of its own, so that Ctrl-C at the terminal reaches only its parent. The end of its tasks
    stops it after the round under way, also when that comes from the death of this process: siblings inherit no end of
    its pipes.
    """

    def __init__(self) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115
        theirs, self._tasks = Pipe(duplex=False)
        self.answers, answers = Pipe(duplex=False)
        ends = (theirs.fileno(), answers.fileno())
        try:
            self.process = subprocess.Popen(
                [*COMMAND, *map(str, ends)],
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                pass_fds=ends,
                process_group=0,
            )
        finally:
            theirs.close()
            answers.close()

    def ask(self, message: Mapping[str, Any]) -> None:
        """Send it a task."""
        with suppress(OSError):  # it is dead, and has nothing to answer
            self._tasks.send_bytes(json.dumps(message).encode())

    def answer(self) -> dict[str, Any] | None:
        """Its next message; None if it has ended."""
        try:
            message: dict[str, Any] = json.loads(self.answers.recv_bytes())
        except (OSError, EOFError):
            return None
        return message

    def hang_up(self) -> None:
        """Send no more tasks: it stops after the round under way."""
        self._tasks.close()

    def close(self) -> str:
        """Wait for its end; returns a message with the reason and the last it printed."""
        self.hang_up()
        code = self.process.wait()
        self.answers.close()
        size = os.fstat(self._printed.fileno()).st_size
        tail = os.pread(self._printed.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES)).decode(errors="replace").strip()
        self._printed.close()
        reason = f"the worker process was killed by {_signal(-code)}" if code < 0 else "the worker process crashed"
        return f"{reason}: {tail}" if tail else reason


class LocalPool(Pool):
    """The :class:`Pool` of this machine: ``jobs`` runs at a time, each in a process of its own."""

    def __init__(self, jobs: int = 1) -> None:
        self._jobs = jobs
        self._idle: list[WorkerProcess] = []
        self._busy: dict[Connection, tuple[WorkerProcess, Task]] = {}

    def share(self, runs: int, workers: int | None) -> tuple[int, int]:
        """So many jobs at a time; unless told otherwise, they share the cores."""
        return self._jobs, workers or max(1, cores() // max(1, min(self._jobs, runs)))

    def make(self, tasks: Iterator[Task], tell: Tell, stop: Stop) -> None:
        stopped = False
        try:
            while True:
                while len(self._busy) < self._jobs and not stop.asked and (task := next(tasks, None)) is not None:
                    self._begin(task, tell)
                if stop.asked and not stopped:
                    stopped = True
                    for worker, _ in self._busy.values():
                        worker.hang_up()
                if not self._busy:
                    break
                for pipe in wait([*self._busy], LOOK_EVERY_S):
                    assert isinstance(pipe, Connection)
                    self._hear(pipe, tell, stop)
            for task in tasks:
                tell(Said(task.number, "end", not_begun()))
        except BaseException:
            for worker in self._workers():
                worker.process.kill()
            raise
        finally:
            for worker in self._workers():
                worker.close()
            self._idle, self._busy = [], {}

    def _workers(self) -> list[WorkerProcess]:
        return [*self._idle, *(worker for worker, _ in self._busy.values())]

    def _begin(self, task: Task, tell: Tell) -> None:
        """Have a task made by a worker that is idle and alive, or by a new one."""
        while self._idle and self._idle[-1].process.poll() is not None:
            self._idle.pop().close()
        try:
            worker = self._idle.pop() if self._idle else WorkerProcess()
        except OSError as error:
            reason = f"no worker process can be started: {error.strerror or error}"
            tell(Said(task.number, "end", end("failed", reason, 1)))
            return
        self._busy[worker.answers] = worker, task
        worker.ask(task.message)

    def _hear(self, pipe: Connection, tell: Tell, stop: Stop) -> None:
        """Pass on what a worker says; with its end, or its last words, it is busy no more."""
        worker, task = self._busy[pipe]
        message = worker.answer()
        if message is None:
            del self._busy[pipe]
            last = worker.close()
            message = end("interrupted", None, 130) if stop.asked else end("failed", last, 1)
        elif message["event"] == "end":
            del self._busy[pipe]
            self._idle.append(worker)
        tell(Said(task.number, message["event"], message))


def _signal(number: int) -> str:
    """The name of a signal."""
    known = number in set(signal.Signals)
    name = signal.Signals(number).name if known else f"signal {number}"
    return f"{name} (perhaps out of memory)" if name == "SIGKILL" else name

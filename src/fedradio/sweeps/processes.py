"""Lanes of work: each makes one job after the other in a worker process, which is replaced when it dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

COMMAND = (sys.executable, "-P", "-m", "fedradio.sweeps.worker")

TAIL_BYTES = 2000
"""Of what a worker has printed, shown when it dies."""


@dataclass(frozen=True)
class Request:
    """A job for a worker, and the number by which its answers are told apart."""

    number: int
    message: Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """What is told of a task: ``round``, ``noted`` or ``end``. Without a task: a lane is ``over``, or all are to
    ``stop``."""

    event: str
    number: int = -1
    message: Mapping[str, Any] | None = None


def end(status: str, error: str | None, exit_code: int) -> dict[str, Any]:
    """The last that is said of a task."""
    return {"event": "end", "status": status, "error": error, "exit_code": exit_code}


class WorkerProcess:
    """A process that makes runs.

    It has a process group of its own, so that Ctrl-C at the terminal reaches its parent alone; the pipe's end stops it.
    """

    def __init__(self) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            process_group=0,
            encoding="utf-8",
        )

    def ask(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it is dead, and has nothing to answer
            print(json.dumps(message), file=self.process.stdin, flush=True)

    def answers(self) -> Iterator[dict[str, Any]]:
        """What it says, until it ends; what libraries print before it has taken its output for itself is left out."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and "event" in message:
                yield message

    def hang_up(self) -> None:
        """Nothing more will be asked: it stops after the round under way."""
        assert self.process.stdin is not None
        with suppress(OSError):  # it is dead already
            self.process.stdin.close()

    def close(self) -> str:
        """Wait until it has ended; how it did, and the last that it printed."""
        self.hang_up()
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        size = os.fstat(self._printed.fileno()).st_size
        tail = os.pread(self._printed.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES)).decode(errors="replace").strip()
        self._printed.close()
        words = f"the worker process was killed by {_signal(-code)}" if code < 0 else "the worker process has crashed"
        return f"{words}: {tail}" if tail else words


class Seat:
    """Makes tasks from a queue until it is empty or the lane is stopped, in a thread; tells ``events`` what happens."""

    def __init__(self, tasks: SimpleQueue[Request], events: SimpleQueue[Message]) -> None:
        self._tasks = tasks
        self._events = events
        self._worker: WorkerProcess | None = None
        self._stopped = False
        self._lock = threading.Lock()  # on the worker and the wish to stop: no worker begins behind it
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the round under way."""
        with self._lock:
            self._stopped = True
            if self._worker is not None:
                self._worker.hang_up()

    def kill(self) -> None:
        """Stop at once."""
        with self._lock:
            self._stopped = True
            if self._worker is not None:
                self._worker.process.kill()

    def join(self) -> None:
        """Wait until nothing is left running."""
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopped:
                task = self._tasks.get_nowait()
                self._events.put(Message("end", task.number, self._make(task)))
        except Empty:
            pass
        finally:
            if self._worker is not None:
                self._worker.close()
            self._events.put(Message("over"))

    def _make(self, task: Request) -> Mapping[str, Any]:
        """Have a task done; the last that is said of it."""
        try:
            worker = self._ask(task)
        except OSError as error:
            return end("failed", f"no worker process can be started: {error.strerror or error}", 1)
        if worker is not None:
            for message in worker.answers():
                if message["event"] == "end":
                    return message
                self._events.put(Message(message["event"], task.number, message))
        if worker is None or self._stopped:
            return end("interrupted", None, 130)
        self._worker = None
        return end("failed", worker.close(), 1)

    def _ask(self, task: Request) -> WorkerProcess | None:
        """The worker with the task in its hands; None where the lane was stopped before."""
        with self._lock:
            if self._stopped:
                return None
            if self._worker is not None and self._worker.process.poll() is not None:
                self._worker.close()
                self._worker = None
            self._worker = self._worker or WorkerProcess()
            self._worker.ask(task.message)
            return self._worker


def _signal(number: int) -> str:
    known = number in set(signal.Signals)
    name = signal.Signals(number).name if known else f"signal {number}"
    return f"{name} (perhaps out of memory)" if name == "SIGKILL" else name

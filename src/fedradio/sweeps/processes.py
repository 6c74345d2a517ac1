"""Worker processes and their seats: a seat has one task after the other made by a process, replaced when it dies."""

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
"""Bytes at the end of what a worker has printed that are shown when it dies."""


@dataclass(frozen=True)
class Request:
    """A task as the message that a worker gets, and the task's number in the batch."""

    number: int
    message: Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """News of a task: ``round``, ``noted`` or ``end``, with the worker's message.

    Without a task: a seat is ``over``, or all are to ``stop``.
    """

    kind: str
    number: int = -1
    message: Mapping[str, Any] | None = None


def end(status: str, error: str | None, exit_code: int) -> dict[str, Any]:
    """The last message about a task."""
    return {"event": "end", "status": status, "error": error, "exit_code": exit_code}


class WorkerProcess:
    """A child process that makes runs, spoken to in JSON lines.

    It has a process group of its own, so that Ctrl-C at the terminal reaches only its parent; the end of its input
    stops it.
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
        """Send it a task."""
        assert self.process.stdin is not None
        with suppress(OSError):  # it is dead, and has nothing to answer
            print(json.dumps(message), file=self.process.stdin, flush=True)

    def answers(self) -> Iterator[dict[str, Any]]:
        """Its messages until it ends; lines that libraries print before it owns its output are skipped."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and "event" in message:
                yield message

    def hang_up(self) -> None:
        """Close its input: it stops after the round under way."""
        assert self.process.stdin is not None
        with suppress(OSError):  # it is dead already
            self.process.stdin.close()

    def close(self) -> str:
        """Wait for its end; returns a message with the reason and the last it printed."""
        self.hang_up()
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        size = os.fstat(self._printed.fileno()).st_size
        tail = os.pread(self._printed.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES)).decode(errors="replace").strip()
        self._printed.close()
        reason = f"the worker process was killed by {_signal(-code)}" if code < 0 else "the worker process has crashed"
        return f"{reason}: {tail}" if tail else reason


class Seat:
    """A thread that has the requests of a queue made by a worker process, until the queue is empty or it is stopped.

    What happens is put into ``events``.
    """

    def __init__(self, requests: SimpleQueue[Request], events: SimpleQueue[Event]) -> None:
        self._requests = requests
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
                request = self._requests.get_nowait()
                self._events.put(Event("end", request.number, self._make(request)))
        except Empty:
            pass
        finally:
            if self._worker is not None:
                self._worker.close()
            self._events.put(Event("over"))

    def _make(self, request: Request) -> Mapping[str, Any]:
        """Have a request made; returns the last message about it."""
        try:
            worker = self._ask(request)
        except OSError as error:
            return end("failed", f"no worker process can be started: {error.strerror or error}", 1)
        if worker is not None:
            for message in worker.answers():
                if message["event"] == "end":
                    return message
                self._events.put(Event(message["event"], request.number, message))
        if worker is None or self._stopped:
            return end("interrupted", None, 130)
        self._worker = None
        return end("failed", worker.close(), 1)

    def _ask(self, request: Request) -> WorkerProcess | None:
        """The worker that has got the request; None if the seat was stopped before."""
        with self._lock:
            if self._stopped:
                return None
            if self._worker is not None and self._worker.process.poll() is not None:
                self._worker.close()
                self._worker = None
            self._worker = self._worker or WorkerProcess()
            self._worker.ask(request.message)
            return self._worker


def _signal(number: int) -> str:
    """The name of a signal."""
    known = number in set(signal.Signals)
    name = signal.Signals(number).name if known else f"signal {number}"
    return f"{name} (perhaps out of memory)" if name == "SIGKILL" else name

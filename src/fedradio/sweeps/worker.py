"""The worker process of a pool, ``python -m fedradio.sweeps.worker``.

Tasks come as JSON from one pipe, progress and outcomes go as JSON into another; their numbers are its arguments. When
the tasks end, for whatever reason, or on SIGTERM or SIGHUP, the run under way stops after its round with a checkpoint,
and so does the process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import DivergenceError, FedradioError, InUseError, NotEmptyError
from fedradio.core.files import LOCK_FILE, locked
from fedradio.core.part_files import load_part_file
from fedradio.rounds.simulation import Simulation
from fedradio.runs.folder import is_run
from fedradio.runs.interrupt import TERMINATION
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.spec.spec import Spec, check_spec
from fedradio.sweeps.tasks import end

Json = dict[str, Any]
Send = Callable[[Json], None]
"""Sends a message to the parent process."""

REPORT_EVERY_S = 0.1
"""Shortest time between two reports of progress."""

WAIT_S = 1.0
"""Longest uninterrupted wait for a task."""

PATIENCE_S = 60.0
"""How long to wait for a folder that is still locked by the worker of a killed process, which ends after its round."""


class Reporter(Observer):
    """Observer of a run that sends the number of rounds made, and notes, to the parent process."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._rounds = 0
        self._next = 0.0

    def started(self, sim: Simulation, spec: Spec, folder: Path | None, done: int) -> None:
        self._rounds = spec.rounds
        self._report(done)

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t == self._rounds or time.monotonic() >= self._next:
            self._report(state.t)

    def noted(self, text: str) -> None:
        self._send({"event": "noted", "text": text})

    def _report(self, done: int) -> None:
        self._next = time.monotonic() + REPORT_EVERY_S
        self._send({"event": "round", "done": done, "rounds": self._rounds})


def perform(task: Json, send: Send) -> None:
    """Make or resume the run of a task and send how it ended; unexpected errors end the process."""
    status, message, code = "complete", None, 0
    try:
        _make(task, Reporter(send))
    except KeyboardInterrupt:
        send(end("interrupted", None, 130))
        raise
    except FedradioError as error:
        status = "diverged" if isinstance(error, DivergenceError) else "failed"
        status = "held" if isinstance(error, InUseError) and task["skip_held"] else status
        message, code = str(error), error.exit_code
    send(end(status, message, code))


def _make(task: Json, reporter: Observer) -> None:
    """Make or resume the run of a task, with the files of parts that its parent was told to load."""
    for path, sha256, neighbours in task["parts"]:
        load_part_file(path, sha256, neighbours)
    spec, folder, workers = check_spec(task["spec"]), Path(task["folder"]), task["workers"]
    if (folder / LOCK_FILE).is_file():
        _await(folder, reporter, 0.0 if task["skip_held"] else PATIENCE_S)
    if not is_run(folder):
        try:
            run(spec, folder, device=task["device"], workers=workers, observer=reporter, keep=False)
            return
        except NotEmptyError:
            if not is_run(folder):  # else another process has begun it just now
                raise
    # checkpoints of hundreds of complete runs would fill the disk
    resume(folder, workers=workers, observer=reporter, keep=False)


def _await(folder: Path, reporter: Observer, patience_s: float) -> None:
    """Wait for a folder that is locked, and send a note of it."""
    try:
        with locked(folder):
            return
    except InUseError as error:
        if patience_s == 0.0:
            raise
        reporter.noted(f"{error}; waiting up to {patience_s:.0f} s for it")
    with locked(folder, patience_s):
        pass


def _stopper() -> Callable[..., None]:
    """The function that interrupts the main thread, once: several reasons to stop are one."""
    first = threading.Lock()

    def stop(*_: object) -> None:
        if first.acquire(blocking=False):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    return stop


def _listen(pipe: Connection, tasks: SimpleQueue[Json], stop: Callable[..., None]) -> None:
    """Queue tasks from a pipe until it ends, then stop."""
    with suppress(OSError, EOFError):
        while True:
            tasks.put(json.loads(pipe.recv_bytes()))
    stop()


def _next(tasks: SimpleQueue[Json]) -> Json:
    """The next task, which it waits for.

    Note: a signal that comes just before the wait for a lock does not end that wait. Python's handler then runs when
    the wait ends; without a limit this would be never.
    """
    while True:
        with suppress(Empty):
            return tasks.get(timeout=WAIT_S)


def main() -> None:
    """Make runs until the tasks end, or a signal ends the process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may have it ignored
    stop = _stopper()
    for number in TERMINATION:  # a system may end the parent and its workers together
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)
    ends = [int(number) for number in sys.argv[1:3]]
    for number in ends:
        os.set_inheritable(number, False)
    pipe, answers = Connection(ends[0], writable=False), Connection(ends[1], readable=False)

    def send(message: Json) -> None:
        with suppress(OSError):  # nobody listens any more: the run still ends in order
            answers.send_bytes(json.dumps(message).encode())

    tasks: SimpleQueue[Json] = SimpleQueue()
    with suppress(KeyboardInterrupt):
        threading.Thread(target=_listen, args=(pipe, tasks, stop), daemon=True).start()
        while True:
            perform(_next(tasks), send)
    os._exit(0)  # nothing is left to do, and libraries take seconds to leave


if __name__ == "__main__":
    main()

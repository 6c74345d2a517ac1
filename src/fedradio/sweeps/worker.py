"""The worker process of a pool, ``python -m fedradio.sweeps.worker``.

Tasks come as JSON lines on standard input, progress and outcomes go as JSON lines to standard output; anything else
that is printed goes to standard error. When the input ends, for whatever reason, or on SIGTERM or SIGHUP, the run under
way stops after its round with a checkpoint, and so does the process.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import DivergenceError, FedradioError, StoreError
from fedradio.core.files import LOCK_FILE, locked
from fedradio.core.part_files import load_part_file
from fedradio.rounds.simulation import Simulation
from fedradio.runs.folder import is_run
from fedradio.runs.interrupt import TERMINATION
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.spec.spec import Spec, check_spec
from fedradio.sweeps.processes import end

Json = dict[str, Any]
Send = Callable[[Json], None]
"""Sends a message to the parent process."""

REPORT_EVERY_S = 0.1
"""Shortest time between two reports of progress."""

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
        message, code = str(error), error.exit_code
    send(end(status, message, code))


def _make(task: Json, reporter: Reporter) -> None:
    """Make or resume the run of a task, with the files of parts that its parent was told to load."""
    for path, sha256 in task["parts"]:
        load_part_file(path, sha256)
    spec, folder, workers = check_spec(task["spec"]), Path(task["folder"]), task["workers"]
    if (folder / LOCK_FILE).is_file():
        _note_lock(folder, reporter)
        with locked(folder, PATIENCE_S):
            pass
    if is_run(folder):  # checkpoints of hundreds of complete runs would fill the disk
        resume(folder, workers=workers, observer=reporter, keep=False)
    else:
        run(spec, folder, device=task["device"], workers=workers, observer=reporter, keep=False)


def _note_lock(folder: Path, reporter: Reporter) -> None:
    """Send a note if a folder is locked and has to be waited for."""
    try:
        with locked(folder):
            pass
    except StoreError as error:
        reporter.noted(f"{error}; waiting up to {PATIENCE_S:.0f} s for it")


def _sender() -> Send:
    """The function that sends messages on standard output; from now on prints go to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def send(message: Json) -> None:
        with suppress(OSError):  # nobody listens any more: the run still ends in order
            print(json.dumps(message), file=answers, flush=True)

    return send


def _stopper() -> Callable[..., None]:
    """The function that interrupts the main thread, once: several reasons to stop are one."""
    first = threading.Lock()

    def stop(*_: object) -> None:
        if first.acquire(blocking=False):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    return stop


def _listen(tasks: SimpleQueue[Json], stop: Callable[..., None]) -> None:
    """Queue tasks from standard input until it ends, then stop."""
    with open(0, "rb", closefd=False) as lines:
        for line in lines:
            tasks.put(json.loads(line))
    stop()


def main() -> None:
    """Make runs until standard input ends, or a signal ends the process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may have it ignored
    stop = _stopper()
    for number in TERMINATION:  # a system may end the parent and its workers together
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)
    tasks: SimpleQueue[Json] = SimpleQueue()
    send = _sender()
    with suppress(KeyboardInterrupt):
        threading.Thread(target=_listen, args=(tasks, stop), daemon=True).start()
        while True:
            perform(tasks.get(), send)
    os._exit(0)  # nothing is left to do, and libraries take seconds to leave


if __name__ == "__main__":
    main()

"""A process that makes runs for another one: ``python -m fedradio.sweeps.worker``.

Jobs come as JSON lines on standard input, progress and ends go as JSON lines to standard output; whatever else is
printed goes to standard error. When the input ends, for whatever reason, the run under way stops after its round with a
checkpoint, and so does the process.
"""

from __future__ import annotations

import json
import os
import shutil
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
from fedradio.core.files import LOCK_FILE, locked, write_text
from fedradio.rounds.simulation import Simulation
from fedradio.runs.folder import CHECKPOINT_FOLDER, RECORDS_FILE, SPEC_FILE
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.spec.spec import Spec, check_spec
from fedradio.sweeps.processes import end

Message = dict[str, Any]
Send = Callable[[Message], None]

TELL_EVERY_S = 0.1
"""Rounds that are closer together are told together."""

PATIENCE_S = 60.0
"""How long to wait for a folder that a worker of a killed process still holds: it ends after its round."""


class Teller(Observer):
    """An observer that sends how many rounds are made, and what people should know."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._rounds = 0
        self._next = 0.0

    def started(self, sim: Simulation, spec: Spec, folder: Path | None, done: int) -> None:
        self._rounds = spec.rounds
        self._tell(done)

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t == self._rounds or time.monotonic() >= self._next:
            self._tell(state.t)

    def noted(self, text: str) -> None:
        self._send({"event": "noted", "text": text})

    def _tell(self, done: int) -> None:
        self._next = time.monotonic() + TELL_EVERY_S
        self._send({"event": "round", "done": done, "rounds": self._rounds})


def perform(job: Message, send: Send) -> None:
    """Make the run of a job, or go on with it, and send how it ended; unexpected errors end the process."""
    status, error, code = "complete", None, 0
    try:
        _make(job, Teller(send))
    except KeyboardInterrupt:
        send(end("interrupted", None, 130))
        raise
    except FedradioError as found:
        status = "diverged" if isinstance(found, DivergenceError) else "failed"
        error, code = str(found), found.exit_code
    send(end(status, error, code))


def _make(job: Message, teller: Teller) -> None:
    spec, folder, workers = check_spec(job["spec"]), Path(job["folder"]), job["workers"]
    if (folder / RECORDS_FILE).is_file():
        _tell_if_held(folder, teller)
        with locked(folder, PATIENCE_S):
            _finish_start(folder, spec)
    if (folder / SPEC_FILE).is_file():
        resume(folder, workers=workers, observer=teller)
    else:
        run(spec, folder, device=job["device"], workers=workers, observer=teller)
    shutil.rmtree(folder / CHECKPOINT_FOLDER, ignore_errors=True)  # of hundreds of runs they would fill the disk


def _tell_if_held(folder: Path, teller: Teller) -> None:
    """Say so before a folder is waited for."""
    try:
        with locked(folder):
            pass
    except StoreError as error:
        teller.noted(f"{error}; waiting up to {PATIENCE_S:.0f} s for it")


def _finish_start(folder: Path, spec: Spec) -> None:
    """A process that was killed while it began has left a folder with records and nothing else."""
    begun = (LOCK_FILE, RECORDS_FILE)
    if all(entry.name in begun or entry.name.endswith(".tmp") for entry in folder.iterdir()):
        write_text(folder / SPEC_FILE, spec.yaml())


def _sender() -> Send:
    """Takes standard output for answers alone: prints go to standard error from now on."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def send(message: Message) -> None:
        with suppress(OSError):  # nobody listens any more: the run still ends in order
            print(json.dumps(message), file=answers, flush=True)

    return send


def _listen(jobs: SimpleQueue[Message]) -> None:
    """Take jobs until the input ends, which is the end of all work."""
    with open(0, "rb", closefd=False) as lines:
        for line in lines:
            jobs.put(json.loads(line))
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def main() -> None:
    """Make runs until the input ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may have it ignored
    jobs: SimpleQueue[Message] = SimpleQueue()
    send = _sender()
    with suppress(KeyboardInterrupt):
        threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
        while True:
            perform(jobs.get(), send)
    os._exit(0)  # nothing is left to do, and libraries take seconds to leave


if __name__ == "__main__":
    main()

"""Batches of runs: watched, with workers that are spied on, replaced by fakes, or left out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fedradio.core.contracts import Record
from fedradio.runs.folder import MODEL_FILE
from fedradio.runs.records import read_records
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps import processes as module
from fedradio.sweeps.pool import Outcome, RunTask, settled_outcome

# A worker that needs no time to start: what it does is the name of the folder.
FAKE = """
import json, sys, time
from multiprocessing.connection import Connection
tasks, answers = Connection(int(sys.argv[1])), Connection(int(sys.argv[2]))
def say(**message):
    answers.send_bytes(json.dumps(message).encode())
while True:
    try:
        name = json.loads(tasks.recv_bytes())["folder"].rpartition("/")[2]
    except EOFError:
        break
    if name == "crash":
        sys.exit("no such luck")
    if name == "note":
        say(event="noted", text="other torch")
    if name == "wait":
        say(event="round", done=1, rounds=2)
        time.sleep(600)
    say(event="end", status="complete", error=None, exit_code=0)
"""


class Watch:
    """Writes down what it is told."""

    def __init__(self, do: Callable[[RunTask], None] | None = None) -> None:
        self.said: list[tuple[Any, ...]] = []
        self._do = do

    def started(self, jobs: Sequence[RunTask], parallel: int) -> None:
        self.said.append(("started", len(jobs), parallel))

    def advanced(self, job: RunTask, done: int, rounds: int) -> None:
        self.said.append(("advanced", job.label, done, rounds))
        if self._do is not None:
            self._do(job)

    def noted(self, job: RunTask, text: str) -> None:
        self.said.append(("noted", job.label, text))

    def ended(self, outcome: Outcome, number: int, total: int) -> None:
        self.said.append(("ended", outcome.task.label, outcome.status, number, total))

    def stopping(self) -> None:
        self.said.append(("stopping",))


def spy(monkeypatch: pytest.MonkeyPatch) -> dict[str, subprocess.Popen[bytes]]:
    """The process that got the job, by the name of its folder."""
    found: dict[str, subprocess.Popen[bytes]] = {}

    class Spied(module.WorkerProcess):
        def ask(self, message: Mapping[str, Any]) -> None:
            found[Path(message["folder"]).name] = self.process
            super().ask(message)

    monkeypatch.setattr(module, "WorkerProcess", Spied)
    return found


def fake_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that only pretend to run."""
    monkeypatch.setattr(module, "COMMAND", (sys.executable, "-c", FAKE))


def run_here(jobs: Sequence[RunTask], made: list[str]) -> list[Outcome]:
    """Runs that are made in this process, by one thread; ``made`` gets the names of their folders."""
    outcomes = []
    for job in jobs:
        found = settled_outcome(job)
        if found is None:
            run(job.spec, job.folder)
            made.append(job.folder.name)
            found = Outcome(job, "complete", None, fresh=True)
        outcomes.append(found)
    return outcomes


def sweep_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sweeps are made in this process; the list holds the names of the folders of those runs that were."""
    made: list[str] = []
    monkeypatch.setattr("fedradio.sweeps.sweep.run_batch", lambda jobs, **_: run_here(jobs, made))
    return made


def made(folder: Path) -> tuple[list[dict[str, Any]], bytes]:
    """All that a run has made, without its wall time."""
    return without_wall_time(read_records(folder)), (folder / MODEL_FILE).read_bytes()


def without_wall_time(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Records as plain data, without the wall time of rounds."""
    return [{key: value for key, value in asdict(record).items() if key != "wall_s"} for record in records]


def jobs_in(root: Path, specs: Mapping[str, Spec]) -> list[RunTask]:
    return [RunTask(spec, root / name, name) for name, spec in specs.items()]

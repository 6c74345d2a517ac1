"""Many runs in worker processes: the same results for any number of them, and a failure that stays alone."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fedradio.core.errors import StoreError
from fedradio.core.files import LOCK_FILE, locked, write_json
from fedradio.runs.folder import (
    CHECKPOINT_FOLDER,
    ENVIRONMENT_FILE,
    MODEL_FILE,
    RECORDS_FILE,
    SUMMARY_FILE,
    read_summary,
)
from fedradio.runs.records import read_records
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps import processes as module
from fedradio.sweeps import worker
from fedradio.sweeps.pool import Outcome, PoolObserver, RunTask, run_batch

Make = Callable[..., Spec]

DIVERGING = ("model={kind: mlp, hidden: [16, 16]}", "rule.lr=10000", "rule.momentum=0.9", "algorithm.server_lr=10000")

# A worker that needs no time to start: what it does is the name of the folder.
FAKE = """
import json, os, sys, time
print("warming up\\n{half\\n1\\n{}", flush=True)
for line in sys.stdin:
    name = json.loads(line)["folder"].rpartition("/")[2]
    if name == "crash":
        sys.exit("no such luck")
    if name == "note":
        print(json.dumps({"event": "unknown"}), flush=True)
        print(json.dumps({"event": "noted", "text": "other torch"}), flush=True)
    if name == "wait":
        print(json.dumps({"event": "round", "done": 1, "rounds": 2}), flush=True)
        time.sleep(600)
    end = {"event": "end", "status": "complete", "error": None, "exit_code": 0}
    print(json.dumps(end), flush=True)
"""


class Watch(PoolObserver):
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


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> dict[str, subprocess.Popen[str]]:
    """The process that got the job, by the name of its folder."""
    found: dict[str, subprocess.Popen[str]] = {}

    class Spied(module.WorkerProcess):
        def ask(self, message: Mapping[str, Any]) -> None:
            found[Path(message["folder"]).name] = self.process
            super().ask(message)

    monkeypatch.setattr(module, "WorkerProcess", Spied)
    return found


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMAND", (sys.executable, "-c", FAKE))


def made(folder: Path) -> tuple[list[dict[str, Any]], bytes]:
    """All that a run has made, without its wall time."""
    records = [{key: value for key, value in row.items() if key != "wall_s"} for row in read_records(folder)]
    return records, (folder / MODEL_FILE).read_bytes()


def jobs_in(root: Path, specs: Mapping[str, Spec]) -> list[RunTask]:
    return [RunTask(spec, root / name, name) for name, spec in specs.items()]


def test_results_do_not_depend_on_jobs_and_failures_stay_alone(
    tiny: Make, tmp_path: Path, processes: dict[str, subprocess.Popen[str]]
) -> None:
    good = {
        f"{kind}-{seed}": tiny(f"algorithm={kind}", f"seed={seed}") for kind in ("fedavg", "fedprox") for seed in (1, 2)
    }
    bad = {"diverging": tiny(*DIVERGING), "killed": tiny("rounds=1000000")}
    watch = Watch(lambda job: processes["killed"].kill() if job.label == "killed" else None)
    outcomes = run_batch(jobs_in(tmp_path / "two", bad | good), parallel=2, observer=watch)
    assert [one.status for one in outcomes] == ["diverged", "failed", *["complete"] * 4]
    assert [one.exit_code for one in outcomes] == [3, 1, 0, 0, 0, 0]
    assert "round 0" in str(outcomes[0].error)
    assert "SIGKILL" in str(outcomes[1].error)
    assert watch.said[0] == ("started", 6, 2)
    assert sorted(said[3] for said in watch.said if said[0] == "ended") == [1, 2, 3, 4, 5, 6]
    assert all(processes[name].poll() is not None for name in processes)
    lone = run_batch(jobs_in(tmp_path / "one", good), parallel=1)
    assert {one.status for one in lone} == {"complete"}
    for name, spec in good.items():
        run(spec, tmp_path / "here" / name)
        assert made(tmp_path / "two" / name) == made(tmp_path / "one" / name) == made(tmp_path / "here" / name)
        assert not (tmp_path / "one" / name / CHECKPOINT_FOLDER).exists()


def test_what_is_there_is_not_run_again(tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMAND", ("a worker that must not be started",))
    specs = {"good": tiny(), "diverged": tiny("rule.lr=0.2"), "other": tiny("rule.lr=0.3")}
    for name in ("good", "other"):
        run(tiny(), tmp_path / name)
    run(specs["diverged"], tmp_path / "diverged")
    summary = read_summary(tmp_path / "diverged") | {"status": "diverged"}
    write_json(tmp_path / "diverged" / SUMMARY_FILE, summary)
    watch = Watch()
    outcomes = run_batch(jobs_in(tmp_path, specs), observer=watch)
    assert [(one.status, one.fresh, one.exit_code) for one in outcomes] == [
        ("complete", False, 0),
        ("diverged", False, 3),
        ("failed", False, 5),
    ]
    assert "another rule.lr" in str(outcomes[2].error)
    assert watch.said[1:] == [
        ("ended", "good", "complete", 1, 3),
        ("ended", "diverged", "diverged", 2, 3),
        ("ended", "other", "failed", 3, 3),
    ]
    (tmp_path / "other" / SUMMARY_FILE).unlink()  # killed: no summary, but still the folder of another run
    assert "another rule.lr" in str(run_batch(jobs_in(tmp_path, specs))[2].error)
    assert [one.status for one in run_batch([])] == []
    with pytest.raises(ValueError, match="same folder"):
        run_batch([RunTask(tiny(), tmp_path / "a", "a"), RunTask(tiny(), tmp_path / "b" / ".." / "a", "b")])


@pytest.mark.usefixtures("fakes")
def test_a_dead_worker_is_replaced_and_its_last_words_are_told(tiny: Make, tmp_path: Path) -> None:
    specs = dict.fromkeys(("one", "crash", "two"), tiny())
    outcomes = run_batch(jobs_in(tmp_path, specs))
    assert [one.status for one in outcomes] == ["complete", "failed", "complete"]
    assert outcomes[1].exit_code == 1
    assert "crashed: no such luck" in str(outcomes[1].error)


@pytest.mark.usefixtures("fakes")
def test_notes_of_runs_are_passed_on(tiny: Make, tmp_path: Path) -> None:
    watch = Watch()
    run_batch(jobs_in(tmp_path, {"note": tiny()}), observer=watch)
    assert watch.said[1:] == [("noted", "note", "other torch"), ("ended", "note", "complete", 1, 1)]
    run_batch(jobs_in(tmp_path, {"note": tiny()}))


def test_a_worker_tells_what_is_noted_and_what_it_waits_for(
    tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "begun"
    folder.mkdir()
    (folder / RECORDS_FILE).touch()
    monkeypatch.setattr(worker, "PATIENCE_S", 0.0)
    sent: list[dict[str, Any]] = []
    job = {"spec": tiny().plain, "folder": str(folder), "device": "cpu", "workers": 1}
    with locked(folder):
        worker.perform(job, sent.append)
    assert [message["event"] for message in sent] == ["noted", "end"]
    assert "in use" in sent[0]["text"]
    assert "waiting up to" in sent[0]["text"]
    sent.clear()
    worker.perform(job, sent.append)
    notes = [message["text"] for message in sent if message["event"] == "noted"]
    assert notes == ["there is no checkpoint to go on from: the run starts from the beginning"]
    assert sent[-1]["status"] == "complete"


def test_no_worker_can_be_started(tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMAND", (str(tmp_path / "nothing"),))
    outcomes = run_batch(jobs_in(tmp_path, dict.fromkeys("ab", tiny())), parallel=2)
    assert [(one.status, one.exit_code) for one in outcomes] == [("failed", 1)] * 2
    assert "No such file" in str(outcomes[0].error)


@pytest.mark.usefixtures("fakes")
def test_nothing_is_left_running_when_the_observer_fails(
    tiny: Make, tmp_path: Path, processes: dict[str, subprocess.Popen[str]]
) -> None:
    def fail(job: RunTask) -> None:
        raise ArithmeticError("a broken view")

    with pytest.raises(ArithmeticError, match="a broken view"):
        run_batch(jobs_in(tmp_path, {"wait": tiny()}), observer=Watch(fail))
    assert processes["wait"].poll() == -signal.SIGKILL


@pytest.mark.usefixtures("fakes")
def test_a_second_interrupt_stops_at_once(
    tiny: Make, tmp_path: Path, processes: dict[str, subprocess.Popen[str]]
) -> None:
    """The first one waits for the round under way, which does not end here."""

    def press(job: RunTask) -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    watch = Watch(press)
    with pytest.raises(KeyboardInterrupt):
        run_batch(jobs_in(tmp_path, dict.fromkeys(("wait", "never"), tiny())), observer=watch)
    assert ("stopping",) in watch.said
    assert processes["wait"].poll() == -signal.SIGKILL
    assert "never" not in processes


def test_prints_of_a_worker_do_not_reach_its_answers(
    tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
import os
from fedradio.sweeps import worker
made = worker._make
def noisy(job, teller):
    print('{"event": "end"}', flush=True)
    os.write(1, b"native noise")
    made(job, teller)
    if job["folder"].endswith("broken"):
        raise RuntimeError("not a fault of the spec")
worker._make = noisy
worker.main()
"""
    monkeypatch.setattr(module, "COMMAND", (sys.executable, "-c", code))
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / RECORDS_FILE).touch()  # the process was killed before it wrote the spec
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").touch()
    outcomes = run_batch(jobs_in(tmp_path, dict.fromkeys(("begun", "foreign", "broken"), tiny())))
    assert [(one.status, one.exit_code) for one in outcomes] == [("complete", 0), ("failed", 5), ("failed", 1)]
    assert "not empty" in str(outcomes[1].error)
    assert [path.name for path in foreign.iterdir()] == ["thesis.tex"]
    assert "RuntimeError: not a fault of the spec" in str(outcomes[2].error)
    assert "native noise" in str(outcomes[2].error)


# A batch of one long run, told round by round; the process ends with 130 on Ctrl-C.
PARENT = """
import json, sys
from pathlib import Path
from fedradio.spec.spec import check_spec
from fedradio.sweeps.pool import RunTask, run_batch

class Watch:
    def started(self, jobs, parallel): pass
    def advanced(self, job, done, rounds): print(done, flush=True)
    def noted(self, job, text): pass
    def ended(self, outcome, number, total): print(outcome.status, flush=True)
    def stopping(self): pass

spec = check_spec(json.loads(sys.argv[1]))
try:
    run_batch([RunTask(spec, Path(sys.argv[2]), "long")], observer=Watch())
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_stopped_and_killed_in_the_middle_it_goes_on_to_the_same_result(tiny: Make, tmp_path: Path) -> None:
    """Ctrl-C first, then ``kill -9`` of the parent: workers end by themselves, after their round."""
    spec = tiny("rounds=600", "eval_every=600", "hops.0.policy.steps=1", "topology.clients=2")
    folder = tmp_path / "long"

    def begin() -> tuple[subprocess.Popen[str], int]:
        """The parent, in a process group of its own as from a terminal, and the rounds when some are made."""
        command = [sys.executable, "-c", PARENT, json.dumps(spec.plain), str(folder)]
        parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0)
        assert parent.stdout is not None
        first = int(parent.stdout.readline())
        return parent, next(int(line) for line in parent.stdout if int(line) > first)

    parent, done = begin()
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.communicate()[0].split()[-1] == "interrupted"
    assert parent.returncode == 130
    summary = read_summary(folder)
    assert summary["status"] == "interrupted"
    assert (folder / f"checkpoints/round-{summary['rounds']:06}.json").is_file()  # it was asked once, not twice
    assert done <= summary["rounds"] < 600
    parent, done = begin()
    assert done > summary["rounds"]
    parent.kill()
    parent.communicate()
    with locked(folder, wait_s=60):  # its worker leaves the folder
        after = read_summary(folder)
    assert after["status"] == "interrupted"
    assert (folder / f"checkpoints/round-{after['rounds']:06}.json").is_file()
    assert done <= after["rounds"] < 600
    outcome = run_batch([RunTask(spec, folder, "long")])[0]
    assert (outcome.status, outcome.fresh) == ("complete", True)
    run(spec, tmp_path / "one go")
    assert made(folder) == made(tmp_path / "one go")
    assert len(json.loads((folder / ENVIRONMENT_FILE).read_text())["resumed"]) == 2


def test_a_folder_is_held_by_one_process_and_waited_for(tmp_path: Path) -> None:
    code = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    command = [sys.executable, "-c", code, str(tmp_path / LOCK_FILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(StoreError, match="in use"), locked(tmp_path, wait_s=0.3):
            pass
        threading.Timer(0.3, other.stdin.close).start()
        with locked(tmp_path, wait_s=60), pytest.raises(StoreError, match="in use"), locked(tmp_path):
            pass

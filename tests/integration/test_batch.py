"""Many runs in worker processes: the same results for any number of them, and a failure that stays alone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.batches import Watch, jobs_in, made
from support.gate import Gate
from support.patience import PATIENCE_S

from fedradio.core.files import locked
from fedradio.runs.folder import (
    CHECKPOINT_FOLDER,
    ENVIRONMENT_FILE,
    RECORDS_FILE,
)
from fedradio.runs.run import run
from fedradio.runs.stored import read_summary
from fedradio.spec.spec import Spec
from fedradio.sweeps import processes as module
from fedradio.sweeps.pool import RunTask, run_batch

Make = Callable[..., Spec]


DIVERGING = ("model={kind: mlp, hidden: [16, 16]}", "rule.lr=10000", "rule.momentum=0.9", "algorithm.server_lr=10000")


def test_results_do_not_depend_on_jobs_and_failures_stay_alone(
    tiny: Make, tmp_path: Path, processes: dict[str, subprocess.Popen[bytes]]
) -> None:
    good = {
        f"{kind}-{seed}": tiny(f"algorithm={kind}", f"seed={seed}") for kind in ("fedavg", "fedprox") for seed in (1, 2)
    }
    bad = {"diverging": tiny(*DIVERGING), "killed": tiny("rounds=1000000")}
    watch = Watch(lambda job: processes["killed"].kill() if job.label == "killed" else None)
    outcomes = run_batch(jobs_in(tmp_path / "two", bad | good), parallel=2, observer=watch)
    assert [one.status for one in outcomes] == ["diverged", "failed", *["complete"] * 4]
    assert [one.exit_code for one in outcomes] == [3, 1, 0, 0, 0, 0]
    assert "round 1" in str(outcomes[0].error)
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
    folder, gate = tmp_path / "long", Gate(tmp_path / "gate", 590)

    def begin() -> tuple[subprocess.Popen[str], int]:
        """The parent, in a process group of its own as from a terminal, and the rounds when some are made."""
        command = [sys.executable, "-c", PARENT, json.dumps(spec.plain), str(folder)]
        parent = subprocess.Popen(command, stdout=subprocess.PIPE, env=gate.environment, text=True, process_group=0)
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
    with locked(folder, wait_s=PATIENCE_S):  # its worker leaves the folder
        after = read_summary(folder)
    assert after["status"] == "interrupted"
    assert (folder / f"checkpoints/round-{after['rounds']:06}.json").is_file()
    assert done <= after["rounds"] < 600
    outcome = run_batch([RunTask(spec, folder, "long")])[0]
    assert (outcome.status, outcome.fresh) == ("complete", True)
    run(spec, tmp_path / "one go")
    assert made(folder) == made(tmp_path / "one go")
    assert len(json.loads((folder / ENVIRONMENT_FILE).read_text())["resumed"]) == 2

"""Runs that are killed anywhere and go on, beside the same runs in one go: bit for bit the same."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support.batches import without_wall_time
from support.sealing import reseal

from fedradio import cli
from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import DivergenceError, SpecError, StoreError
from fedradio.core.files import LOCK_FILE
from fedradio.runs import checkpoint
from fedradio.runs import run as module
from fedradio.runs.folder import (
    CHECKPOINT_FOLDER,
    DAMAGED_FOLDER,
    ENVIRONMENT_FILE,
    MODEL_FILE,
    RECORDS_FILE,
    SPEC_FILE,
    SUMMARY_FILE,
    RunFolder,
    is_run,
)
from fedradio.runs.records import read_records
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.runs.stored import read_summary
from fedradio.runs.tensors import read_tensors
from fedradio.runs.verify import check_run
from fedradio.spec.files import shipped
from fedradio.spec.spec import Spec, load_spec

# One process that has warmed up on a first job and forks a child for every other. The child counts its system calls on
# files as moments, one before and one after each (inside, for records: half of them are written), and kills itself at
# one, or 5 ms after so many rounds were recorded. One torch thread: nothing that a fork would lose.
NURSERY = """
import gc, json, os, resource, signal, sys, threading
from math import inf
import torch
from fedradio.runs import checkpoint
from fedradio.runs.resume import resume
from fedradio.runs.run import run
from fedradio.spec.spec import check_spec

checkpoint.SHARE, checkpoint.LEAST_S = inf, 0.0  # after every round
torch.set_num_threads(1)
moments, writes, tell = 0, 0, os.write

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def moment(at):
    global moments
    moments += 1
    if moments == at:
        die()

def watched(name, at, rounds):
    real = getattr(os, name)
    def call(*given):
        global writes
        writes += name == "write"
        if name == "write" and writes == rounds:
            threading.Timer(0.005, die).start()
        if name == "write" and moments + 1 == at:
            real(given[0], given[1][: len(given[1]) // 2])
        moment(at)
        found = real(*given)
        moment(at)
        return found
    setattr(os, name, call)

def child(job, pipe):
    for name in ("write", "fsync", "replace", "ftruncate", "unlink", "rename"):
        watched(name, job.get("die_at"), job.get("die_in_round"))
    if "largest" in job:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["largest"], job["largest"]))
    error = ""
    try:
        if "plain" in job:
            run(check_spec(job["plain"]), job["folder"], workers=1)
        else:
            resume(job["folder"], workers=1)
    except Exception as found:
        error = "; ".join([type(found).__name__, str(found), *getattr(found, "__notes__", ())])
    tell(pipe, json.dumps([moments, error]).encode())

first = json.loads(sys.stdin.readline())
run(check_spec(first["plain"]), first["folder"], workers=1)
resume(first["folder"], rounds=2, workers=1)
gc.freeze()
for line in sys.stdin:
    mine, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(json.loads(line), theirs)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(mine) as file:
        said = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps([status, *json.loads(said or "[0, null]")]), flush=True)
"""


Nursery = Callable[..., tuple[int, int, str]]


KILLED = -signal.SIGKILL


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """``nursery(folder=..., plain=..., die_at=...)``: exit code, moments, error; without ``plain`` it resumes."""
    command = [sys.executable, "-c", NURSERY]
    first = {"folder": str(tmp_path_factory.mktemp("first") / "run"), "plain": {"rounds": 1, "model": "logistic"}}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def do(**job: Any) -> tuple[int, int, str]:
            print(json.dumps(job), file=process.stdin, flush=True)
            code, moments, error = json.loads(process.stdout.readline())  # type: ignore[union-attr]
            return code, moments, error

        print(json.dumps(first), file=process.stdin, flush=True)
        yield do
        process.stdin.close()


TINY = ("rounds=5", "eval_every=2", "model={kind: mlp, hidden: [8]}")


SPECS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fedavg, sampled": ("tiny", ("hops.0.policy={kind: sampling, clients: 3, steps: [1, 3]}",)),
    "scaffold: client slots": ("cells", ("algorithm=scaffold",)),
    "kept adam": ("cells", ("rule={kind: adam, lr: 0.01, batch: 16, keep_state: true}",)),
    "kept momentum": ("tiny", ("rule={kind: sgd, momentum: 0.9, keep_state: true}", "hops.0.policy.steps=2")),
    "norm layers of the clients, dropout": (
        "tiny",
        ("model={kind: cnn_batchnorm, width: 2, norms: local}", "rule.batch=4", "hops.0.policy.steps=1", "rounds=4"),
    ),
    "norm layers beside the payload": (
        "cells",
        ("model={kind: cnn_batchnorm, width: 2, norms: shared}", "rule.batch=4", "hops.0.policy.steps=1", "rounds=3"),
    ),
    "central: pooled stream": ("tiny", ("algorithm={kind: central, steps: 3}",)),
    "rawhfl: growing stream, joint policy": (
        "rawhfl",
        (
            "topology.clients_per_edge=3",
            "hops.0.policy={kind: joint, clients: 2, max_steps: 2}",
            "hops.0.period=2",
            "data.source.requests=60",
            "data.stream.history=40",
            "rounds=3",
        ),
    ),
    "osafl: ledger, fifo stream": (
        "osafl",
        ("topology.clients=5", "data.source.requests=400", "data.stream.capacity=[40, 80]", "rule.updates_per_step=1"),
    ),
}


@pytest.fixture
def spec_of(tiny: Callable[..., Spec], cells: Callable[..., Spec]) -> Callable[[str], Spec]:
    def make(name: str) -> Spec:
        base, changes = SPECS[name]
        bases = {"tiny": tiny, "cells": cells}
        return bases[base](*TINY, *changes) if base in bases else load_spec(base, [*TINY, *changes])

    return make


def rows(folder: Path) -> list[dict[str, Any]]:
    return without_wall_time(read_records(folder))


WALL = ("wall_s", "cpu_s", "checkpoint_s", "disk_bytes", "memory_bytes")


def assert_same(folder: Path, whole: Path) -> None:
    """Records, summary, final model and final state; and nothing is left over."""
    assert rows(folder) == rows(whole)
    summaries = [{k: v for k, v in read_summary(f).items() if k not in WALL} for f in (folder, whole)]
    assert summaries[0] == summaries[1]
    assert (folder / MODEL_FILE).read_bytes() == (whole / MODEL_FILE).read_bytes()
    last = max(path.name for path in (whole / CHECKPOINT_FOLDER).glob("*.safetensors"))
    final = [folder / CHECKPOINT_FOLDER / last, whole / CHECKPOINT_FOLDER / last]
    assert final[0].read_bytes() == final[1].read_bytes()
    assert len(list((folder / CHECKPOINT_FOLDER).iterdir())) <= 4
    assert not list(folder.rglob(".*.tmp"))


def go_on(nursery: Nursery, folder: Path, plain: dict[str, Any], **how: Any) -> tuple[int, int, str]:
    """Resume a run that was killed; one that had not written its spec yet is run. What it left is not damaged."""
    if not is_run(folder):
        return nursery(folder=str(folder), plain=plain, **how)
    assert check_run(folder, thorough=True).damage == ()
    return nursery(folder=str(folder), **how)


def made_rounds(folder: Path) -> int:
    """After how many rounds the last checkpoint was made."""
    return max((int(path.stem[6:]) for path in (folder / CHECKPOINT_FOLDER).glob("*.json")), default=0)


@pytest.mark.parametrize("name", SPECS)
def test_killed_anywhere_and_resumed_is_the_run_in_one_go(
    name: str, nursery: Nursery, spec_of: Callable[[str], Spec], tmp_path: Path
) -> None:
    """At a random moment, and soon after it went on a second time; writing takes most of the moments, so that kills are
    also in the middle of it. Round 0 may not be over yet."""
    plain = spec_of(name).plain
    code, moments, error = nursery(folder=str(tmp_path / "whole"), plain=plain)
    assert (code, error) == (0, "")
    assert made_rounds(tmp_path / "whole") == plain["rounds"]
    last = moments - 3  # the summary is not yet in its place: there is something left to do
    dice = random.Random(name)
    folder = tmp_path / "killed"
    assert nursery(folder=str(folder), plain=plain, die_at=dice.randrange(1, last + 1))[0] == KILLED
    assert go_on(nursery, folder, plain, die_at=dice.randrange(1, 12))[0] == KILLED
    assert go_on(nursery, folder, plain)[::2] == (0, "")
    assert_same(folder, tmp_path / "whole")


@pytest.mark.paper
@pytest.mark.parametrize("name", [name for name in shipped() if "/quick/" in name])
def test_quick_specs_killed_and_resumed(name: str, nursery: Nursery, tmp_path: Path) -> None:
    plain = load_spec(name, ["rounds=2", "eval_every=1"]).plain
    code, moments, error = nursery(folder=str(tmp_path / "whole"), plain=plain)
    assert (code, error) == (0, "")
    at = random.Random(name).randrange(1, moments + 1)
    assert nursery(folder=str(tmp_path / "killed"), plain=plain, die_at=at)[0] == KILLED
    assert go_on(nursery, tmp_path / "killed", plain)[::2] == (0, "")
    assert_same(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.parametrize("step", [11, pytest.param(2, marks=pytest.mark.wide)])
def test_every_moment_of_writing_can_be_the_last(
    step: int, nursery: Nursery, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    """Moments from the first file to the summary; after one call is before the next, so that all are every second."""
    plain = tiny("rounds=2", "model=logistic", "hops.0.policy.steps=1").plain
    _, moments, _ = nursery(folder=str(tmp_path / "whole"), plain=plain)
    reached, begun = set(), set()
    for at in range(1, moments + 1, step):
        folder = tmp_path / f"killed-{at}"
        assert nursery(folder=str(folder), plain=plain, die_at=at)[0] == KILLED
        reached.add(made_rounds(folder))
        begun.add(is_run(folder))
        assert go_on(nursery, folder, plain)[::2] == (0, "")
        assert_same(folder, tmp_path / "whole")
    assert (reached, begun) == ({0, 1, 2}, {False, True})


@pytest.mark.parametrize(
    ("harm", "step"),
    [
        (None, 11),
        (RECORDS_FILE, 23),
        *(pytest.param(*case, marks=pytest.mark.wide) for case in ((None, 2), (RECORDS_FILE, 5))),
        *(pytest.param(file, 9, marks=pytest.mark.wide) for file in (MODEL_FILE, ENVIRONMENT_FILE)),
    ],
)
def test_every_moment_of_resuming_can_be_the_last(
    harm: str | None, step: int, nursery: Nursery, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    """Of a run that was killed after its first round, and of complete ones with a damaged file."""
    plain = tiny("rounds=2", "model=logistic", "hops.0.policy.steps=1").plain
    nursery(folder=str(tmp_path / "whole"), plain=plain)
    begun = tmp_path / "begun"
    if harm is None:
        killed = next(at for at in range(40, 400, 3) if _after_one_round(nursery, begun, plain, at))
        assert killed
    else:
        shutil.copytree(tmp_path / "whole", begun)
        (begun / harm).write_bytes((begun / harm).read_bytes()[:-20])
    shutil.copytree(begun, tmp_path / "once")
    code, moments, error = nursery(folder=str(tmp_path / "once"))
    assert (code, error) == (0, "")
    for at in range(1, moments + 1, step):
        folder = tmp_path / f"killed-{at}"
        shutil.copytree(begun, folder)
        assert nursery(folder=str(folder), die_at=at)[0] == KILLED
        assert nursery(folder=str(folder))[::2] == (0, "")
        assert check_run(folder, thorough=True).damage == ()
        assert_same(folder, tmp_path / "whole")


def _after_one_round(nursery: Nursery, folder: Path, plain: dict[str, Any], at: int) -> bool:
    """Whether a run that is killed at this moment has one checkpoint, after its first round; else it is removed."""
    nursery(folder=str(folder), plain=plain, die_at=at)
    found = made_rounds(folder) == 1
    if not found:
        shutil.rmtree(folder)
    return found


def test_killed_in_the_middle_of_a_round(nursery: Nursery, spec_of: Callable[[str], Spec], tmp_path: Path) -> None:
    """While clients train, after some rounds were recorded."""
    plain = spec_of("scaffold: client slots").plain | {"rounds": 12}
    nursery(folder=str(tmp_path / "whole"), plain=plain)
    for rounds in (1, 7):
        folder = tmp_path / f"killed-{rounds}"
        assert nursery(folder=str(folder), plain=plain, die_in_round=rounds)[0] == KILLED
        assert nursery(folder=str(folder))[::2] == (0, "")
        assert_same(folder, tmp_path / "whole")


def test_a_full_disk_keeps_the_last_good_checkpoint(
    nursery: Nursery, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    """A file size limit stands for a full disk: records cannot grow in some round, and then a checkpoint cannot."""
    plain = tiny("rounds=40", "model.hidden=[64]", "hops.0.policy.steps=1").plain
    nursery(folder=str(tmp_path / "whole"), plain=plain)
    tensors = max(path.stat().st_size for path in (tmp_path / "whole").rglob("*.safetensors"))
    for name, largest in (("records", tensors + 500), ("checkpoint", tensors - 500)):
        folder = tmp_path / name
        _, _, error = nursery(folder=str(folder), plain=plain, largest=largest)
        assert error.startswith(f"StoreError; cannot write {folder}")
        assert "File too large" in error
        assert not list(folder.rglob(".*.tmp"))
        assert list(read_records(folder))  # whole lines only
        done = made_rounds(folder)
        assert (0 < done < 40) == (name == "records")
        assert (
            f"round-{done:06}.json (after {done} rounds)" if done else "no checkpoint has been written yet"
        ) in error
        assert nursery(folder=str(folder))[::2] == (0, "")
        assert_same(folder, tmp_path / "whole")


@pytest.fixture(autouse=True)
def _checkpoint_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the disk is."""
    monkeypatch.setattr(checkpoint, "FREE_S", float("inf"))


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every round."""
    monkeypatch.setattr(checkpoint, "SHARE", float("inf"))
    monkeypatch.setattr(checkpoint, "LEAST_S", 0.0)


class Notes(Observer):
    """Interrupts a run after so many rounds, and remembers what it was told."""

    def __init__(self, stop: int | None = None) -> None:
        self.stop = stop
        self.texts: list[str] = []
        self.done: int | None = None

    def started(self, sim: Any, spec: Spec, folder: Path | None, done: int) -> None:
        self.done = done

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t == self.stop:
            os.kill(os.getpid(), signal.SIGINT)

    def noted(self, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def interrupted(tiny: Callable[..., Spec], tmp_path: Path) -> Path:
    """A run of 6 rounds that was stopped by Ctrl-C after 3, with one checkpoint."""
    with pytest.raises(KeyboardInterrupt):
        run(tiny("rounds=6"), tmp_path / "run", observer=Notes(3))
    return tmp_path / "run"


def test_ctrl_c_writes_a_checkpoint(interrupted: Path, tiny: Callable[..., Spec], tmp_path: Path) -> None:
    assert read_summary(interrupted)["status"] == "interrupted"
    assert made_rounds(interrupted) == 3
    watch = Notes()
    resume(interrupted, observer=watch)
    assert (watch.done, watch.texts) == (3, [])
    run(tiny("rounds=6"), tmp_path / "whole")
    assert_same(interrupted, tmp_path / "whole")
    environment = json.loads((interrupted / ENVIRONMENT_FILE).read_text())
    assert [entry["rounds"] for entry in environment["resumed"]] == [3]


def test_a_state_inside_a_round_is_never_kept(
    tiny: Callable[..., Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interruption that cannot wait writes no checkpoint; the rounds since the last one are made again."""
    real = module.run_round

    def stopped(sim: Any, state: SimState, evaluate: bool) -> Any:
        found = real(sim, state, evaluate)  # updates the slots of `state` in place
        if state.t == 4:
            raise KeyboardInterrupt
        return found

    spec = tiny("rounds=6", "algorithm=scaffold")
    with monkeypatch.context() as patch:
        patch.setattr(module, "run_round", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(spec, tmp_path / "run")
    assert len(list(read_records(tmp_path / "run", RoundRecord))) == 4
    assert made_rounds(tmp_path / "run") == 0
    resume(tmp_path / "run")
    run(spec, tmp_path / "whole")
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_no_space_left_on_device(
    tiny: Callable[..., Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eager: None
) -> None:
    """The very error of a full disk, from the third checkpoint on; not even a summary can be written."""
    real, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(os.readlink(f"/proc/self/fd/{handle}"))
        if sum("round-000003.safetensors" in path for path in calls):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left on device") as caught:
            run(tiny("rounds=6"), tmp_path / "run")
    assert "round-000002.json (after 2 rounds)" in "".join(caught.value.__notes__)
    assert not (tmp_path / "run" / SUMMARY_FILE).exists()
    resume(tmp_path / "run")
    run(tiny("rounds=6"), tmp_path / "whole")
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_a_second_process_is_refused(interrupted: Path, nursery: Nursery, tiny: Callable[..., Spec]) -> None:
    with RunFolder(interrupted, resumed=True):
        assert "InUseError" in (error := nursery(folder=str(interrupted))[2])
        assert "is in use: another process" in error
        with pytest.raises(StoreError, match="in use"):
            resume(interrupted)
    resume(interrupted)


def test_the_lock_of_an_empty_folder(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    """Two runs that start in one empty folder: the first takes it, and its lock file is no content."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK_FILE).touch()
    with RunFolder(tmp_path / "run"), pytest.raises(StoreError):
        run(tiny(), tmp_path / "run")


def test_a_damaged_checkpoint_is_told_and_the_one_before_is_used(
    tiny: Callable[..., Spec], tmp_path: Path, eager: None
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tiny("rounds=6"), tmp_path / "run", observer=Notes(4))
    path = tmp_path / "run" / CHECKPOINT_FOLDER / "round-000004.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    watch = Notes()
    resume(tmp_path / "run", observer=watch)
    assert watch.done == 3
    (told,) = watch.texts
    assert f"{path}: has " in told
    assert "set aside as" in told
    assert [one.name for one in (tmp_path / "run" / DAMAGED_FOLDER).iterdir()] == ["round-000004.safetensors.1"]
    run(tiny("rounds=6"), tmp_path / "whole")
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_divergence_names_round_and_checkpoint(tiny: Callable[..., Spec], tmp_path: Path, eager: None) -> None:
    wild = "model={kind: mlp, hidden: [16, 16]}", "rule={kind: sgd, lr: 10000, momentum: 0.9}", "rounds=30"
    with pytest.raises(DivergenceError) as caught:
        run(tiny(*wild, "algorithm.server_lr=10000"), tmp_path / "run")
    done = made_rounds(tmp_path / "run")
    assert caught.value.round == done + 1
    assert (f"(after {done} rounds)" if done else "no checkpoint") in "".join(caught.value.__notes__)
    with pytest.raises(DivergenceError) as again:
        resume(tmp_path / "run")
    assert (again.value.round, again.value.exit_code) == (done + 1, 3)


def test_a_complete_run_is_left_alone_or_made_longer(
    tiny: Callable[..., Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = run(tiny("rounds=4"), tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    watch = Notes()
    assert resume(tmp_path / "run", observer=watch) == summary
    assert "is complete" in watch.texts[0]
    assert {path: path.read_bytes() for path in before} == before
    with pytest.raises(SpecError, match="4 rounds are already done"):
        resume(tmp_path / "run", rounds=3)
    assert {path: path.read_bytes() for path in before} == before
    assert resume(tmp_path / "run", rounds=6).rounds == 6
    run(tiny("rounds=6"), tmp_path / "whole")
    assert_same(tmp_path / "run", tmp_path / "whole")
    assert load_spec(tmp_path / "run" / SPEC_FILE).rounds == 6


def test_a_folder_without_checkpoint_starts_from_the_beginning(
    tiny: Callable[..., Spec], interrupted: Path, tmp_path: Path
) -> None:
    for path in (interrupted / CHECKPOINT_FOLDER).iterdir():
        path.unlink()
    (interrupted / ENVIRONMENT_FILE).unlink()
    watch = Notes()
    resume(interrupted, observer=watch)
    assert watch.done == 0
    assert watch.texts[0].endswith("environment.json: is missing")
    assert "from the beginning" in watch.texts[1]
    run(tiny("rounds=6"), tmp_path / "whole")
    assert_same(interrupted, tmp_path / "whole")


def test_what_cannot_be_resumed(interrupted: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(StoreError, match="not a run folder"):
            resume(path)
    assert not (tmp_path / LOCK_FILE).exists()
    spec = interrupted / SPEC_FILE
    text = spec.read_text()
    spec.write_text(text.replace("lr: 0.1", "lr: 0.2"))
    with pytest.raises(StoreError, match="fingerprint"):
        resume(interrupted)
    summary = (interrupted / SUMMARY_FILE).read_bytes()
    (interrupted / SUMMARY_FILE).unlink()  # as if it had been killed: now the checkpoint tells
    with pytest.raises(StoreError, match="a different spec"):
        resume(interrupted)
    (interrupted / SUMMARY_FILE).write_bytes(summary)
    spec.write_text(text)
    resume(interrupted)
    spec.write_text(text.replace("lr: 0.1", "lr: 0.2"))
    with pytest.raises(StoreError, match="fingerprint"):
        resume(interrupted)


def test_another_version_is_told(interrupted: Path) -> None:
    path = interrupted / ENVIRONMENT_FILE
    path.write_text(path.read_text().replace(torch.__version__.partition("+")[0], "1.0"))
    reseal(interrupted)
    watch = Notes()
    resume(interrupted, observer=watch)
    assert "packages differ from the start of the run" in watch.texts[0]


def test_the_model_of_a_run_is_its_last_shared_vector(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    run(tiny(), tmp_path / "run")
    model = read_tensors(tmp_path / "run" / MODEL_FILE)
    state = read_tensors(tmp_path / "run" / CHECKPOINT_FOLDER / "round-000002.safetensors")
    assert sum(tensor.numel() for tensor in model.values()) == state["shared/w"].numel()
    assert torch.equal(next(t for name, t in model.items() if t.dim() == 2).flatten()[:4], state["shared/w"][:4])


def test_the_command_line(
    interrupted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], eager: None
) -> None:
    def fedradio(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fedradio", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return (int(left.value.code or 0), *capsys.readouterr())

    code, out, _ = fedradio("resume", str(interrupted))
    assert code == 0
    for words in ("after round 3 of 6", "round 6/6", "on checkpoints", "disk", "peak memory"):
        assert words in out
    code, out, _ = fedradio("resume", str(interrupted))
    assert (code, "is complete" in out, "best accuracy" in out) == (0, True, True)
    code, out, _ = fedradio("resume", str(interrupted), "--quiet", "--rounds", "7")
    assert (code, out.strip()) == (0, str(interrupted))
    code, _, err = fedradio("resume", str(interrupted), "--rounds", "2")
    assert (code, "7 rounds are already done" in err) == (2, True)
    code, _, err = fedradio("resume", str(interrupted.parent / "nowhere"))
    assert (code, "not a run folder" in err) == (5, True)
    wild = ["rule.lr=10000", "algorithm.server_lr=10000", "hops.0.policy.steps=60", "rounds=30"]
    code, _, err = fedradio("run", str(interrupted / SPEC_FILE), *wild, "--out", str(interrupted.parent / "wild"))
    assert (code, "last good checkpoint: " in err or "no checkpoint" in err) == (3, True)


def test_a_dear_checkpoint_at_the_end_is_left_out_and_the_run_can_still_be_made_longer(
    tiny: Callable[..., Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "FREE_S", 0.0)
    monkeypatch.setattr(checkpoint, "END_SHARE", 0.0)
    run(tiny("rounds=2"), tmp_path / "run")
    assert made_rounds(tmp_path / "run") == 0
    resume(tmp_path / "run", rounds=4)
    run(tiny("rounds=4"), tmp_path / "whole")
    assert rows(tmp_path / "run") == rows(tmp_path / "whole")
    assert (tmp_path / "run" / MODEL_FILE).read_bytes() == (tmp_path / "whole" / MODEL_FILE).read_bytes()


def test_a_folder_with_a_spec_alone_is_nobodys_run_and_strange_files_stay(
    tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    (tmp_path / "spec.yaml").write_text("# mine\n" + tiny().yaml())
    with pytest.raises(StoreError, match="not a run folder"):
        resume(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["spec.yaml"]
    folder = tmp_path / "run"
    run(tiny("rounds=2"), folder)
    mine = [folder / name for name in (".notes.tmp", ".report.html.7.tmp", "sub/.summary.json.7.tmp")]
    half = [folder / name for name in (".summary.json.7.tmp", "checkpoints/.round-000002.json.7.tmp")]
    (folder / "sub").mkdir()
    for path in (*mine, *half):
        path.touch()
    resume(folder, rounds=3)
    assert all(path.exists() for path in mine)
    assert not any(path.exists() for path in half)


@pytest.mark.parametrize("ending", [".safetensors", ".json"])
def test_a_damaged_older_checkpoint_is_not_left_in_the_way(
    tiny: Callable[..., Spec], tmp_path: Path, ending: str
) -> None:
    """Of two checkpoints of a killed run the older is damaged: the run goes on from the newer, and is whole then."""
    run(tiny("rounds=2"), tmp_path / "a")
    resume(tmp_path / "a", rounds=3)
    folder = tmp_path / "a" / CHECKPOINT_FOLDER
    assert len(list(folder.iterdir())) == 4
    (folder / f"round-000002{ending}").write_bytes(b"cut")
    (tmp_path / "a" / SUMMARY_FILE).unlink()
    resume(tmp_path / "a")
    assert check_run(tmp_path / "a", thorough=True).damage == ()
    assert not list(folder.glob("round-000002*"))

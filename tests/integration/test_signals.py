"""SIGTERM and SIGHUP end commands as Ctrl-C does: in order, with everything kept and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.patience import PATIENCE_S
from support.processes import alive, rounds_in, start, wait_for

from fedradio.core.files import locked
from fedradio.runs.stored import read_summary

SPEC = """
name: small
rounds: 100000
topology: {kind: flat, clients: 4}
hops: [{policy: {kind: fixed, steps: 2}}]
model: {kind: logistic}
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SPEC)
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_and_its_resumption_end_in_order(number: signal.Signals, here: Path) -> None:
    folder = here / "r"
    done = 0
    for words in (("run", "small.yaml", "--out", "r"), ("resume", "r")):
        process = start(here, *words)
        wait_for(lambda: rounds_in(folder) > done + 2)  # noqa: B023
        process.send_signal(number)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
        assert "stopping after this round" in stderr
        assert "finished work is in r; resume with: fedradio resume r" in stderr
        assert "Traceback" not in stderr
        summary = read_summary(folder)
        assert summary["status"] == "interrupted"
        assert summary["rounds"] == rounds_in(folder) > done
        assert (folder / f"checkpoints/round-{summary['rounds']:06}.json").is_file()
        done = summary["rounds"]


MARKING = """
import signal
from pathlib import Path
from fedradio import register
from fedradio.policies.fixed import Fixed, fixed

class Marking(Fixed):
    def decide(self, view, state, rng):
        if signal.getsignal(signal.SIGTERM) is not signal.default_int_handler:  # not the trial that estimates the time
            Path("a round is under way").touch()
        return super().decide(view, state, rng)

@register("policy", "marking")
def marking() -> Marking:
    '''Everybody takes part, and a file tells that a round has begun.'''
    return Marking(fixed(steps=5000).effort)
"""


def test_the_second_one_ends_a_run_at_once(here: Path) -> None:
    """Its round takes minutes, in threads, so the first signal alone would not end it."""
    (here / "marking.py").write_text(MARKING)
    slow = ("hops.0.policy=marking", "--parts", "marking.py", "model={kind: mlp, hidden: [2048, 2048]}")
    process = start(here, "run", "small.yaml", *slow, "--out", "r")
    assert process.stderr is not None
    wait_for((here / "a round is under way").exists)
    process.send_signal(signal.SIGTERM)
    assert any("stopping after this round" in line for line in process.stderr)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert (read_summary(here / "r")["status"], rounds_in(here / "r")) == ("interrupted", 0)


@pytest.mark.parametrize(
    ("number", "group"),
    [
        (signal.SIGTERM, True),
        (signal.SIGHUP, False),
        pytest.param(signal.SIGTERM, False, marks=pytest.mark.wide),
        pytest.param(signal.SIGHUP, True, marks=pytest.mark.wide),
    ],
    ids=["TERM, workers too", "HUP", "TERM", "HUP, workers too"],
)
def test_a_sweep_ends_in_order_and_leaves_no_worker(number: signal.Signals, group: bool, here: Path) -> None:
    """A system that ends a job may signal all of its processes, which must not count as twice."""
    process = start(here, "sweep", "small.yaml", "rule.lr=0.1,0.2", "--jobs", "2", "--out", "s")
    folders = [here / f"s/runs/rule.lr-{value}-seed0" for value in ("0.1", "0.2")]
    wait_for(lambda: all(rounds_in(folder) > 2 for folder in folders))
    workers = alive(here)
    assert len(workers) == 2
    process.send_signal(number)
    for worker in workers if group else ():
        os.kill(worker, number)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "finished work is in s; resume with: fedradio sweep" in stderr
    assert alive(here) == []
    for folder in folders:
        with locked(folder):
            summary = read_summary(folder)
        assert summary["status"] == "interrupted"
        assert (folder / f"checkpoints/round-{summary['rounds']:06}.json").is_file()
    assert len(json.loads((here / "s/sweep.json").read_text())["cells"]) == 2


SLOW_COMMAND = """
import time
from fedradio import cli

def app(**_):
    print("ready", flush=True)
    time.sleep(600)

cli.app = app
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_makes_no_rounds_ends_at_once(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.communicate(timeout=PATIENCE_S) == ("", "")
    assert process.returncode == 130

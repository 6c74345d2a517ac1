"""The server of ``support/fork_server.py``: what it forks is like a process that was started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.batches import made
from support.fork_server import ForkedProcess
from support.patience import PATIENCE_S
from support.processes import FORKED_WORKERS, fedradio

CODE = """
import os, signal, sys
print(os.getcwd(), sys.argv, sys.path[0], os.getpgid(0) == os.getpid(), sys.stdin.read(), os.environ["COLOUR"])
print([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD)])
print("told", sys.stdout.isatty(), sys.stdout.errors, sys.stderr.errors, file=sys.stderr)
sys.exit(7)
"""


def test_it_is_like_a_process_that_was_started(tmp_path: Path) -> None:
    env = os.environ | {"COLOUR": "red", "PYTHONPATH": os.pathsep.join([str(tmp_path / "own"), *sys.path])}
    started = subprocess.Popen(
        [sys.executable, "-P", "-c", CODE, "one", "two"],
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    expected = started.communicate()
    forked = ForkedProcess(tmp_path, CODE, "one", "two", env=env)
    assert forked.communicate(PATIENCE_S) == expected
    assert (forked.returncode, started.returncode) == (7, 7)


def test_how_it_ends(tmp_path: Path) -> None:
    for code, expected in (("", 0), ("import sys; sys.exit('no')", 1), ("1 / 0", 1), ("import os; os.abort()", -6)):
        assert ForkedProcess(tmp_path, code).wait(PATIENCE_S) == expected
    with pytest.raises(subprocess.TimeoutExpired):
        ForkedProcess(tmp_path, "import time; time.sleep(600)").communicate(0.1)
    sleeping = ForkedProcess(tmp_path, "import time; print('ready', flush=True); time.sleep(600)")
    assert sleeping.stdout.readline() == "ready\n"
    assert sleeping.poll() is None
    sleeping.send_signal(signal.SIGTERM)
    assert sleeping.wait(PATIENCE_S) == sleeping.poll() == -signal.SIGTERM
    sleeping.kill()  # nobody is there any more


def test_commands(tmp_path: Path) -> None:
    listed = fedradio(tmp_path, "ls", "link", env=os.environ | {"COLUMNS": "70"})
    assert (listed.returncode, listed.stderr) == (0, "")
    assert 60 < max(map(len, listed.stdout.splitlines())) <= 70
    assert fedradio(tmp_path, "nonsense", before="print('first')").stdout == "first\n"


SPEC = "{name: small, rounds: 1, topology: {kind: flat, clients: 2}, model: logistic}"


def test_a_sweep_with_forked_workers_is_that_with_started_ones(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    forked = fedradio(tmp_path, "sweep", "small.yaml", "--seeds", "2", "--out", "s", "-q", before=FORKED_WORKERS)
    assert (forked.returncode, forked.stderr) == (0, "")
    assert fedradio(tmp_path, "run", "small.yaml", "--seed", "2", "--out", "r", "-q").returncode == 0
    assert made(tmp_path / "s" / "runs" / "small-seed2") == made(tmp_path / "r")

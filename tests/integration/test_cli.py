"""The command line as a user meets it: in processes of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import processes
from support.patience import PATIENCE_S
from support.processes import rounds_in, wait_for

SPEC = """
name: small
rounds: 2
topology: {kind: flat, clients: 4}
hops: [{policy: {kind: fixed, steps: 2}}]
model: {kind: logistic}
"""

DIVERGING = ("model={kind: mlp, hidden: [16, 16]}", "rule.lr=10000", "rule.momentum=0.9", "algorithm.server_lr=10000")


def fedradio(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return processes.fedradio(cwd, *arguments, env=os.environ | {"COLUMNS": "160"} | environment)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SPEC)
    return tmp_path


def test_run_writes_a_folder_and_a_table(here: Path) -> None:
    done = fedradio("run", "small.yaml", "--seed", "7", "--rounds", "3", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout
    assert "round 3/3" in done.stdout
    assert "\x1b" not in done.stdout
    assert "run folder: runs/small-seed7" in done.stdout
    summary = json.loads((here / "runs/small-seed7/summary.json").read_text())
    assert (summary["rounds"], summary["seed"]) == (3, 7)
    again = fedradio("run", "small.yaml", "--seed", "7", "--rounds", "1", "--quiet", cwd=here)
    assert again.stdout.strip() == "runs/small-seed7-2"
    taken = fedradio("run", "small.yaml", "--out", "runs/small-seed7", cwd=here)
    assert taken.returncode == 5
    assert "not empty" in taken.stderr


def test_wrong_input_lists_all_problems_without_a_traceback(here: Path) -> None:
    done = fedradio("validate", "small.yaml", "rule.lr=-1", "modle=mlp", "algorithm=fedagv", cwd=here)
    assert done.returncode == 2
    for words in ("3 problems", "rule.lr", "did you mean 'model'", "did you mean 'fedavg'"):
        assert words in done.stderr
    assert "Traceback" not in done.stderr
    absent = fedradio("run", "nothing.yaml", cwd=here)
    assert absent.returncode == 2
    assert "no such file" in absent.stderr


def test_validate_ls_show_cp_version(here: Path) -> None:
    good = fedradio("validate", "small.yaml", cwd=here)
    assert (good.returncode, "valid" in good.stdout) == (0, True)
    assert not (here / "runs").exists()
    listed = fedradio("ls", cwd=here).stdout
    assert all(kind in listed for kind in ("fedavg", "hierarchical", "dirichlet", "cnn5x5", "cellular"))
    assert "mlp" not in fedradio("ls", "algorithm", cwd=here).stdout
    assert "demo" in fedradio("ls", "spec", cwd=here).stdout
    assert fedradio("ls", "algorithms", cwd=here).returncode == 2
    shown = fedradio("show", "fedprox", cwd=here).stdout
    assert all(words in shown for words in ("mu", ">= 0", "0.01", "MLSys"))
    judged = fedradio("show", "calibration", cwd=here).stdout
    assert all(words in judged for words in ("metric/calibration", "bins", "15", "arXiv:1706.04599"))
    assert fedradio("show", "fedporx", cwd=here).returncode == 2
    assert fedradio("cp", "demo", "mine.yaml", cwd=here).returncode == 0
    assert fedradio("cp", "demo", "mine.yaml", cwd=here).returncode == 2
    assert fedradio("validate", "mine.yaml", cwd=here).returncode == 0
    assert fedradio("--version", cwd=here).stdout.startswith("fedradio 0.")


def test_divergence_has_its_own_exit_code(here: Path) -> None:
    done = fedradio("run", "small.yaml", *DIVERGING, "--rounds", "60", cwd=here)
    assert done.returncode == 3
    assert "round" in done.stderr
    assert json.loads((here / "runs/small-seed0/summary.json").read_text())["status"] == "diverged"


def test_missing_data_says_what_to_do(here: Path) -> None:
    done = fedradio("run", "small.yaml", "data.source=mnist", cwd=here, FEDRADIO_HOME=str(here / "home"))
    assert done.returncode == 4
    assert "fedradio data fetch mnist" in done.stderr
    listed = fedradio("data", "ls", cwd=here, FEDRADIO_HOME=str(here / "home"))
    assert "absent" in listed.stdout
    located = fedradio("data", "path", "mnist", cwd=here, FEDRADIO_HOME=str(here / "home"))
    assert located.returncode == 4


def test_no_cuda_is_a_spec_error(here: Path) -> None:
    done = fedradio("run", "small.yaml", "--device", "cuda", cwd=here, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 2
    assert "CUDA" in done.stderr


def test_ctrl_c_keeps_what_was_done(here: Path) -> None:
    command = [sys.executable, "-c", "from fedradio.cli import main; main()", "run", "small.yaml", "--rounds", "100000"]
    process = subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: rounds_in(here / "runs/small-seed0") > 0)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "finished work is in" in stderr
    assert "Traceback" not in stderr
    summary = json.loads((here / "runs/small-seed0/summary.json").read_text())
    assert summary["status"] == "interrupted"
    assert summary["rounds"] >= 1

"""Commands on a Ray cluster, in processes of their own: Ctrl-C, a killed actor, the same bits as on one machine."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from support.batches import made
from support.gate import Gate
from support.patience import PATIENCE_S
from support.processes import rounds_in, start, wait_for

from fedradio.runs.run import run
from fedradio.runs.stored import read_summary
from fedradio.spec.spec import load_spec

SPEC = """
name: small
rounds: 600
eval_every: 300
topology: {kind: flat, clients: 3}
hops: [{policy: {kind: fixed, steps: 1}}]
model: {kind: logistic}
"""


@pytest.mark.usefixtures("address")
def test_ctrl_c_ends_a_sweep_after_the_round_and_the_same_command_goes_on(tmp_path: Path, gate: Gate) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    words = ("sweep", "small.yaml", "--seeds", "3", "--out", "s", "--on", "ray", "--jobs", "1", "-q")
    folders = [tmp_path / f"s/runs/small-seed{seed}" for seed in (1, 2, 3)]
    first = start(tmp_path, *words)
    wait_for(lambda: rounds_in(folders[0]) > 20)
    os.killpg(first.pid, signal.SIGINT)
    _, told = first.communicate(PATIENCE_S)
    gate.open()
    assert first.returncode == 130, told
    assert "resume with: fedradio sweep small.yaml --seeds 3 --jobs 1 --on ray --out s" in told
    assert read_summary(folders[0])["status"] == "interrupted"
    assert not folders[1].exists()
    assert [path.name for path in (tmp_path / "s/runs").iterdir()] == ["small-seed1"]
    again = start(tmp_path, *(word if word != "1" else "3" for word in words))
    assert again.communicate(PATIENCE_S)[0].strip() == "s"
    assert again.returncode == 0
    for seed, folder in zip((1, 2, 3), folders, strict=True):
        run(load_spec(tmp_path / "small.yaml", [f"seed={seed}"]), tmp_path / f"alone-{seed}", workers=1)
        assert made(folder) == made(tmp_path / f"alone-{seed}")


@pytest.mark.usefixtures("address")
def test_a_run_on_actors_equals_one_process_although_one_is_killed(tmp_path: Path) -> None:
    words = ("run", "demo", "--out", "r", "--on", "ray", "--actors", "2", "-q", "--rounds", "60")
    before = Gate(tmp_path / "gate", 50)
    process = start(tmp_path, *words, before=before.code)
    wait_for(lambda: rounds_in(tmp_path / "r") > 5)
    os.kill(actors()[0], signal.SIGKILL)
    before.open()
    told = process.communicate(PATIENCE_S)[1]
    assert process.returncode == 0, told
    longer = start(tmp_path, "resume", "r", "--on", "ray", "--actors", "1", "-q", "--rounds", "64")
    assert longer.wait(PATIENCE_S) == 0
    run(load_spec("demo", ["rounds=64"]), tmp_path / "alone", workers=1)
    assert made(tmp_path / "r") == made(tmp_path / "alone")
    refused = start(tmp_path, "run", "demo", "--on", "ray", "--actors", "9", "--out", "x")
    assert "the cluster has only 3 processors" in refused.communicate(PATIENCE_S)[1]
    assert refused.returncode == 2


def actors() -> list[int]:
    """Processes of actors that train, below the Ray of these tests."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::Trainer") and _started_here(int(process.name)):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def _started_here(process: int) -> bool:
    """Whether this process is above that one."""
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        if process == os.getpid():
            return True
    return False


def test_nodes_of_the_cluster_are_looked_at(ray: Any) -> None:
    from fedradio.remote.ray_cluster import check_nodes

    assert check_nodes(ray) == []

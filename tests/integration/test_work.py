"""Several processes on one sweep: every run is made once, also when one of them is killed; and as a Slurm array."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from support.batches import made
from support.gate import Gate
from support.patience import PATIENCE_S
from support.processes import alive, rounds_in, start, wait_for

from fedradio.runs.run import run
from fedradio.runs.verify import check_run
from fedradio.spec.spec import load_spec

SPEC = """
name: small
rounds: 150
eval_every: 100
topology: {kind: flat, clients: 3}
hops: [{policy: {kind: fixed, steps: 1}}]
model: {kind: logistic}
"""

SWEEP = ("sweep", "small.yaml", "rule.lr=0.1,0.2", "--seeds", "2", "--out", "s", "--on", "slurm", "--jobs", "2")


def test_two_at_work_and_one_killed(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    written = start(tmp_path, *SWEEP)
    assert written.communicate(PATIENCE_S)[0] == "sbatch s/slurm.sh\n"
    runs = {(rate, seed): tmp_path / f"s/runs/rule.lr-{rate}-seed{seed}" for rate in ("0.1", "0.2") for seed in (1, 2)}

    gate = Gate(tmp_path / "gate", 140)
    array = [
        subprocess.Popen(
            ["bash", "s/slurm.sh"],
            cwd=tmp_path,
            env=gate.environment | {"SLURM_ARRAY_TASK_ID": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    wait_for(lambda: sum(rounds_in(folder) > 0 for folder in runs.values()) >= 2)
    assert len(alive(tmp_path)) == 2
    array[0].send_signal(signal.SIGKILL)  # the program itself: the shell has made room for it
    array[0].communicate(timeout=PATIENCE_S)
    gate.open()
    told, complaints = array[1].communicate(timeout=PATIENCE_S)
    assert array[1].returncode == 0, complaints
    wait_for(lambda: not alive(tmp_path))

    last = start(tmp_path, "work", "s")
    told, complaints = last.communicate(PATIENCE_S)
    assert last.returncode == 0, complaints
    assert "(4 complete)" in told
    for (rate, seed), folder in runs.items():
        spec = load_spec(tmp_path / "small.yaml", [f"rule.lr={rate}", f"seed={seed}"])
        run(spec, tmp_path / "one go" / folder.name, workers=1)
        assert made(folder) == made(tmp_path / "one go" / folder.name)
        assert not check_run(folder, thorough=True).damage
        lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
        assert [line["t"] for line in lines if line["type"] == "round"] == [*range(150)]


SCRIPT = """
import fedradio
fedradio.sweep("small.yaml", ["rule.lr=0.1,0.2"], rounds=2, out="scripted")
print("made once")
"""


def test_a_script_of_the_user_needs_no_guard(tmp_path: Path) -> None:
    """Workers are processes of their own and do not import the script again."""
    (tmp_path / "small.yaml").write_text(SPEC)
    (tmp_path / "mine.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("made once\n", 0), done.stderr
    assert len([*(tmp_path / "scripted/runs").glob("*/summary.json")]) == 2

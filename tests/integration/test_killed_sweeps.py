"""Sweeps whose parent or workers are killed, two at once, and on a full disk: the same command makes the rest of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from support.batches import made
from support.gate import Gate
from support.patience import PATIENCE_S
from support.processes import alive, rounds_in, start, wait_for

from fedradio.runs.run import run
from fedradio.spec.spec import load_spec

SPEC = """
name: small
rounds: 300
eval_every: 100
topology: {kind: flat, clients: 3}
hops: [{policy: {kind: fixed, steps: 1}}]
model: {kind: logistic}
"""

RATES = ("0.1", "0.2")
SWEEP = ("sweep", "small.yaml", f"rule.lr={','.join(RATES)}", "--seeds", "2", "--jobs", "2", "--out", "s", "-q")


def folders(here: Path) -> dict[tuple[str, int], Path]:
    """The run folders by rate and seed."""
    return {(rate, seed): here / f"s/runs/rule.lr-{rate}-seed{seed}" for rate in RATES for seed in (1, 2)}


SMALL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
"""No file can be larger than the records of some rounds."""


@pytest.mark.wide
def test_killed_and_refused_it_comes_to_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    runs = folders(tmp_path)

    full = start(tmp_path, *SWEEP, before=SMALL_DISK)
    _, told = full.communicate(PATIENCE_S)
    assert full.returncode == 5
    assert told.count("File too large") == 4
    assert "Traceback" not in told

    begun = {folder: rounds_in(folder) for folder in runs.values()}
    gate = Gate(tmp_path / "gate", 290)
    parent = start(tmp_path, *SWEEP, env=gate.environment)
    wait_for(lambda: sum(rounds_in(folder) != before for folder, before in begun.items()) >= 2)
    parent.kill()
    parent.communicate(PATIENCE_S)
    wait_for(lambda: not alive(tmp_path))  # they end with their input

    first = start(tmp_path, *SWEEP, env=gate.environment)
    wait_for(lambda: len(alive(tmp_path)) == 2)
    second = start(tmp_path, *SWEEP)
    refused = (second.communicate(PATIENCE_S)[1], second.returncode)
    assert refused == ("error s is in use: another process is running in it\n", 5)
    os.kill(alive(tmp_path)[0], signal.SIGKILL)
    gate.open()
    told = first.communicate(PATIENCE_S)[1]
    assert first.returncode == 1
    assert "the worker process was killed by SIGKILL" in told
    assert "Traceback" not in told

    last = start(tmp_path, *SWEEP)
    assert last.communicate(PATIENCE_S)[0].strip() == "s"
    assert last.returncode == 0
    verified = start(tmp_path, "verify", "s")
    assert verified.communicate(PATIENCE_S)[0].count("intact (complete)") == 4
    for (rate, seed), folder in runs.items():
        spec = load_spec(tmp_path / "small.yaml", [f"rule.lr={rate}", f"seed={seed}"])
        run(spec, tmp_path / "one go" / folder.name, workers=1)
        assert made(folder) == made(tmp_path / "one go" / folder.name)
        assert not (folder / "checkpoints").exists()

"""Sweeps whose parent or workers are killed, two at once, and on a full disk: the same command makes the rest of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from support.batches import made
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


def test_killed_and_refused_it_comes_to_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    runs = folders(tmp_path)

    full = start(tmp_path, *SWEEP, before=SMALL_DISK)
    _, told = full.communicate(timeout=300)
    assert full.returncode == 5
    assert told.count("File too large") == 4
    assert "Traceback" not in told

    begun = {folder: rounds_in(folder) for folder in runs.values()}
    parent = start(tmp_path, *SWEEP)
    wait_for(lambda: sum(rounds_in(folder) != before for folder, before in begun.items()) >= 2)
    parent.kill()
    parent.communicate(timeout=300)
    wait_for(lambda: not alive(tmp_path))  # they end with their input

    both = [start(tmp_path, *SWEEP) for _ in range(2)]
    wait_for(lambda: len(alive(tmp_path)) == 2)
    os.kill(alive(tmp_path)[0], signal.SIGKILL)
    ends = sorted((process.communicate(timeout=300)[1], process.returncode) for process in both)
    codes = sorted(code for _, code in ends)
    assert codes in ([1, 5], [0, 1])  # the second is refused, unless the first was over before it came so far
    for told, code in ends:
        assert "Traceback" not in told
        assert code != 5 or told == "error s is in use: another process is running in it\n"
        assert code != 1 or "the worker process was killed by SIGKILL" in told

    last = start(tmp_path, *SWEEP)
    assert last.communicate(timeout=300)[0].strip() == "s"
    assert last.returncode == 0
    verified = start(tmp_path, "verify", "s")
    assert verified.communicate(timeout=300)[0].count("intact (complete)") == 4
    for (rate, seed), folder in runs.items():
        spec = load_spec(tmp_path / "small.yaml", [f"rule.lr={rate}", f"seed={seed}"])
        run(spec, tmp_path / "one go" / folder.name, workers=1)
        assert made(folder) == made(tmp_path / "one go" / folder.name)
        assert not (folder / "checkpoints").exists()

"""A policy and an algorithm with a ledger as a new user writes them: in a sweep, killed, resumed, bit-equal."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from support.batches import made
from support.exchanges import exchange
from support.gate import Gate
from support.patience import PATIENCE_S
from support.processes import alive, rounds_in, start, wait_for
from support.receiver import Receiver, vector

from fedradio import Reason, Rng, View, load_part_file, load_spec, part, run

pytestmark = pytest.mark.usefixtures("unloaded_parts")

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = (EXAMPLES / "own_greedy_policy.py", EXAMPLES / "own_ledger.py")
SPEC = """
name: small
rounds: 60
eval_every: 60
topology: {kind: flat, clients: 6}
hops:
- policy: {kind: deadline_greedy, clients: 3, steps: 2}
  channel: urban_macro
  link: digital
  fleet: cellular
  deadline_s: 1
algorithm: fading
model: {kind: logistic}
"""
SWEEP = ("sweep", "small.yaml", "algorithm.half_life=1,8", "--seeds", "2", "--jobs", "2", "--out", "s", "-q")


def test_each_is_less_than_sixty_lines() -> None:
    assert [len(file.read_text().splitlines()) < 60 for file in FILES] == [True, True]


def test_the_greedy_policy_by_hand() -> None:
    """A deadline of 2 s; clients of one receiver that need 3, 1.5, 1 and 1.8 s, of which two are wanted."""
    load_part_file(FILES[0])
    greedy = type(part("policy", "deadline_greedy").factory())

    class Given(greedy):  # type: ignore[misc, valid-type]
        def seconds(self, view: View) -> torch.Tensor:
            return torch.tensor([3.0, 1.5, 1.0, 1.8])

    alloc, _ = Given(2, 4).decide(exchange([0, 0, 0, 0], deadline_s=2.0), {}, Rng(0))
    assert alloc.active.tolist() == [False, True, True, False]
    assert alloc.steps.tolist() == [0, 4, 4, 0]
    assert [Reason(number).name for number in alloc.reason.tolist()] == ["DEADLINE", "NONE", "NONE", "NOT_SELECTED"]


def test_the_fading_ledger_by_hand() -> None:
    """Both arrive with 2 and 4: w = 3. Then only the first comes, with 2, and the other's 4 counts half: w = 5."""
    load_part_file(FILES[1])
    receiver = Receiver(part("algorithm", "fading").factory(half_life=1.0), vector(0), 2)
    assert float(receiver.get({0: vector(2), 1: vector(4)})) == 3.0
    assert float(receiver.get({0: vector(2)})) == 5.0


@pytest.mark.wide
def test_in_a_sweep_that_is_killed_they_come_to_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    parts = [word for file in FILES for word in ("--parts", str(file))]
    gate = Gate(tmp_path / "gate", 40)
    parent = start(tmp_path, *SWEEP, *parts, env=gate.environment)
    runs = [(life, seed) for life in ("1", "8") for seed in (1, 2)]
    folders = {(life, seed): tmp_path / f"s/runs/algorithm.half-life-{life}-seed{seed}" for life, seed in runs}
    wait_for(lambda: sum(rounds_in(folder) >= 20 for folder in folders.values()) >= 2)
    parent.kill()
    parent.communicate(PATIENCE_S)
    wait_for(lambda: not alive(tmp_path))
    gate.open()
    again = start(tmp_path, *SWEEP, *parts)
    said = again.communicate(PATIENCE_S)
    assert (again.returncode, said[1].count("error")) == (0, 0)
    for file in FILES:
        load_part_file(file)
    for (life, seed), folder in folders.items():
        spec = load_spec(tmp_path / "small.yaml", [f"algorithm.half_life={life}", f"seed={seed}"])
        run(spec, tmp_path / "one go" / folder.name, workers=1)
        assert made(folder) == made(tmp_path / "one go" / folder.name)

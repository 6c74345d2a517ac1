"""A loss of one's own, as the page on own parts has it: in sweeps, after kills, on two hops, in a federation."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import torch
from support.batches import made
from support.federations import Memory, federated, spec_of, states, trainers
from support.gate import Gate
from support.patience import PATIENCE_S
from support.processes import alive, rounds_in, start, wait_for
from support.reference import Reference

from fedradio.core import registry
from fedradio.engine import Engine
from fedradio.rounds.round import begin, run_round
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_loss.py"

SPEC = """
name: small
rounds: 60
eval_every: 20
topology: {kind: flat, clients: 3}
hops: [{policy: {kind: fixed, steps: 2}}]
model: {kind: mlp, hidden: [8]}
loss: {kind: focal, gamma: 2.0}
"""
GAMMAS = ("1.0", "2.0")


@pytest.fixture
def focal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example's loss is registered during a test."""
    registry.parts()  # the built-in ones are known from now on
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))
    found = importlib.util.spec_from_file_location("example_own_loss", EXAMPLE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found.loader.exec_module(module)


def test_it_takes_fewer_than_40_lines() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 42  # with the two lines that run it


@pytest.mark.wide
def test_a_killed_sweep_with_two_workers_comes_to_the_same_end(tmp_path: Path, focal: None) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    command = ("sweep", "small.yaml", f"loss.gamma={','.join(GAMMAS)}", "--seeds", "2", "--jobs", "2", "--out", "s")
    words = (*command, "-q", "--parts", EXAMPLE)
    runs = {(gamma, seed): tmp_path / f"s/runs/loss.gamma-{gamma}-seed{seed}" for gamma in GAMMAS for seed in (1, 2)}
    gate = Gate(tmp_path / "gate", 40)
    killed = start(tmp_path, *words, env=gate.environment)
    wait_for(lambda: sum(rounds_in(folder) >= 40 for folder in runs.values()) >= 2)
    killed.kill()
    killed.communicate(PATIENCE_S)
    wait_for(lambda: not alive(tmp_path))  # workers end with their input
    assert all(rounds_in(folder) < 60 for folder in runs.values())
    again = start(tmp_path, *words)
    again.communicate(PATIENCE_S)
    assert again.returncode == 0
    for (gamma, seed), folder in runs.items():
        spec = load_spec(tmp_path / "small.yaml", [f"loss.gamma={gamma}", f"seed={seed}"])
        run(spec, tmp_path / "one go" / folder.name, workers=1)
        assert made(folder) == made(tmp_path / "one go" / folder.name)


def test_on_two_hops_it_equals_the_reference(focal: None) -> None:
    spec = load_spec("demo", ["loss=focal", "topology.clients_per_edge=2"])
    ends = []
    for backend in (Engine(2), Reference()):
        sim = build(spec, backend=backend)
        state = begin(sim)
        for _ in range(2):
            state, _, _ = run_round(sim, state, evaluate=False)
        ends.append(state.memory.shared["w"])
    torch.testing.assert_close(*ends, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss", ["focal", "moon"])
def test_in_a_federation_of_three_devices_it_equals_the_simulation(focal: None, loss: str) -> None:
    spec = spec_of(loss={"kind": loss})
    here, there = states(build(spec, workers=1)), states(federated(spec, Memory(trainers(spec))))
    for one, other in zip(here, there, strict=True):
        assert torch.equal(one.memory.shared["w"], other.memory.shared["w"])

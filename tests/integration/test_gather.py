"""The key ``gather`` in specs and whole runs: neutral by default, and resumed with updates in flight."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fedradio import Gather, Observer, RoundRecord, SpecError, build, load_spec, resume, run
from fedradio.core.contracts import SimState
from fedradio.rounds.gather import IN_FLIGHT
from fedradio.rounds.parts import TASKS

RADIO = (
    "hops.0.link=digital",
    "hops.0.channel=urban_macro",
    "hops.0.fleet=cellular",
    "hops.0.policy={kind: fixed, steps: 4}",
    "topology.clients=6",
    "algorithm=scaffold",
)


@dataclass(frozen=True)
class FirstTwo(Gather):
    """The first two updates are merged."""

    def due(self, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
        last = float(due_s.sort().values[:2][-1])
        return due_s <= last, last


class Last(Observer):
    """The state after every round."""

    def __init__(self) -> None:
        self.states: list[SimState] = []

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        self.states.append(state)


def test_a_run_goes_on_with_updates_in_flight(tmp_path: Path) -> None:
    sim, whole, parted = build(load_spec("digits_flat", RADIO)), Last(), Last()
    sim = replace(sim, hops=(replace(sim.hops[0], gather=FirstTwo()),))
    run(sim, tmp_path / "whole", rounds=5, observer=whole)
    run(sim, tmp_path / "run", rounds=2, observer=parted)
    assert int(parted.states[-1].parts[TASKS][IN_FLIGHT].sum()) == 4
    resume(tmp_path / "run", simulation=sim, rounds=5, observer=parted)
    one, two = whole.states[-1], parted.states[-1]
    assert (one.t, one.time_s, one.energy_j) == (two.t, two.time_s, two.energy_j)
    assert torch.equal(one.memory.shared["w"], two.memory.shared["w"])
    assert torch.equal(one.parts[TASKS]["payload"], two.parts[TASKS]["payload"])


def test_the_neutral_key_leaves_no_trace_in_a_fingerprint() -> None:
    plain, said = load_spec("demo"), load_spec("demo", ["hops.0.gather=all"])
    assert plain.sha256() == said.sha256()
    with pytest.raises(SpecError, match="gather"):
        load_spec("demo", ["hops.0.gather=nobody"])

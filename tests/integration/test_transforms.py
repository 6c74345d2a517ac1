"""Coded payloads and receiver rules in whole runs: neutral elements, bits, plans, memory, resumption."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import torch
from support.batches import without_wall_time

from fedradio import Arg, at_full_power, begin, build, load_spec, register, resume, run, run_round
from fedradio.algorithms.variates import variate_measures
from fedradio.core.contracts import Allocation, ExchangeRecord, Policy, Reason, SimState, Slots, View
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.rounds.simulation import Simulation
from fedradio.runs.records import read_records
from fedradio.runs.run import Observer
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]

EVERYTHING = (
    "hops.0.transforms=[feedback, {kind: top_k, share: 0.2}, {kind: quantise, bits: 6}]",
    "hops.1.transforms=[feedback, {kind: random_k, share: 0.5, scale: false}]",
    "hops.0.receiver={kind: momentum, beta: 0.5}",
    "hops.1.receiver=adam",
    "hops.0.policy={kind: counting, steps: 3}",
    "hops.0.link={kind: bursts, begin: 0.5}",
    "hops.0.channel=rain",
    "hops.1.link={kind: digital}",
    "hops.1.channel={kind: rain, change: 0.5}",
    "hops.1.fleet=cellular",
    "data.stream={kind: fifo, capacity: [60, 90], at_end: repeat}",
    "rule.momentum=0.5",
    "rule.keep_state=true",
)
"""A spec in which every kind of part has memory: transforms, receivers, policy, links, channels, stream, optimiser."""


def state_after(spec: Spec, rounds: int = 3) -> tuple[Simulation, SimState, list[ExchangeRecord]]:
    sim = build(spec)
    state, records = begin(sim), list[ExchangeRecord]()
    for _ in range(rounds):
        state, _, exchanges = run_round(sim, state, evaluate=False)
        records += exchanges
    return sim, state, records


@pytest.mark.parametrize("neutral", ["hops.0.transforms=[feedback]", "hops.1.receiver={kind: momentum, beta: 0}"])
def test_neutral_parts_change_nothing(neutral: str, cells: Make) -> None:
    for algorithm in ("fedavg", "scaffold") if "transforms" in neutral else ("fedavg",):
        _, plain, before = state_after(cells(f"algorithm={algorithm}"))
        _, with_it, after = state_after(cells(f"algorithm={algorithm}", neutral))
        assert all(torch.equal(with_it.memory.shared[name], rows) for name, rows in plain.memory.shared.items())
        assert after == before


def test_records_have_the_bits_of_the_code_on_every_hop(cells: Make) -> None:
    """Top 5 % of d numbers at 8 bits, their places, and a scale, of 6 clients; two edges at 4 bits."""
    coders = "hops.0.transforms=[{kind: top_k, share: 0.05}, {kind: quantise, bits: 8}]"
    sim, _, records = state_after(cells(coders, "hops.1.transforms=[{kind: quantise, bits: 4}]"), 1)
    d = sim.model.shared.size
    number = -(-d // 20)
    each = number * 8 + number * int(np.ceil(np.log2(d))) + 32
    assert [record.bits for record in records] == [6 * each, 6 * each, 2 * (4 * d + 32)]


def test_policies_plan_with_the_shorter_message() -> None:
    """At a quarter of the bits the exact plan of RawHFL takes less energy to send, in the same deadline."""
    joules = {}
    for name, coder in (("plain", "[]"), ("coded", "[{kind: quantise, bits: 8}]")):
        spec = load_spec("rawhfl", [f"hops.0.transforms={coder}", "hops.0.policy.max_steps=1", "rounds=1"])
        _, state, records = state_after(spec, 1)
        joules[name] = state.energy_j
        assert all(max(record.seconds or [0.0]) <= 150.0 for record in records if record.hop == 0)
    assert joules["coded"] is not None
    assert joules["plain"] is not None
    assert joules["coded"] < 0.5 * joules["plain"]


@pytest.mark.parametrize(
    ("spec", "changes"),
    [
        ("digits_flat", ["algorithm=scaffold", "hops.0.policy={kind: sampling, clients: 5, epochs: 1}"]),
        ("fedcpsl", []),
    ],
    ids=["scaffold", "fedcpsl"],
)
@pytest.mark.parametrize(
    "coder", ["{kind: quantise, bits: 8}", "{kind: quantise, bits: 4}", "{kind: top_k, share: 0.05}"]
)
def test_control_variates_stay_right_behind_coders(spec: str, changes: list[str], coder: str) -> None:
    """After 40 rounds with some clients a round the invariant holds, and c is as large as without a coder."""
    norms = []
    for coders in ("[]", f"[{coder}]"):
        sim, state, _ = state_after(load_spec(spec, [*changes, f"hops.0.transforms={coders}"]), 40)
        known = {name: rows for name, rows in state.signals.items() if name in sim.algorithm.reveals}
        measures = variate_measures(state.memory, sim.algorithm.importance(known, sim.topology.clients))
        assert measures["variate_error"] < 1e-5
        norms.append(measures["variate_norm"])
    assert norms[1] < 10 * norms[0]


def test_receiver_memory_is_neither_sent_nor_billed(cells: Make) -> None:
    _, plain, before = state_after(cells())
    for rule in ("momentum", "adam", "yogi", "adagrad"):
        for hop in (0, 1):
            _, state, after = state_after(cells(f"hops.{hop}.receiver={rule}"))
            assert [record.bits for record in after] == [record.bits for record in before]
            assert not torch.equal(state.memory.shared["w"], plain.memory.shared["w"])


class StopAfter(Observer):
    """Interrupts a run after so many rounds."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def advanced(self, state: SimState, record: object) -> None:
        if state.t == self.rounds:
            raise KeyboardInterrupt


@dataclass(frozen=True)
class Counting(Policy):
    """All senders but one, which changes from exchange to exchange; memory: how many there were, ``n [1]``."""

    steps: int

    def start(self, senders: int) -> Slots:
        return {"n": torch.zeros(1)}

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        active = torch.arange(view.senders) != int(state["n"]) % view.senders
        reason = torch.where(active, int(Reason.NONE), int(Reason.NOT_SELECTED))
        return at_full_power(view, active, torch.where(active, self.steps, 0), reason), {"n": state["n"] + 1}


def counting(*, steps: Annotated[int, Arg("local steps", ge=1)] = 1) -> Counting:
    """All but one."""
    return Counting(steps)


@pytest.mark.usefixtures("my_parts")
def test_resumed_at_every_round_with_every_kind_of_memory(cells: Make, tmp_path: Path) -> None:
    """Links, channels and policies that are built in have no memory, or little; here are some that do."""
    register("policy", "counting")(counting)
    spec = cells(*EVERYTHING, "rounds=8")
    parts = begin(build(spec)).parts
    assert sorted(parts) == [
        "data.stream",
        "hops.0.channel",
        "hops.0.link",
        "hops.0.policy",
        "hops.0.receiver",
        "hops.0.transforms.0",
        "hops.1.channel",
        "hops.1.receiver",
        "hops.1.transforms.0",
    ]
    run(spec, tmp_path / "whole")
    whole = without_wall_time(read_records(tmp_path / "whole"))
    for rounds in range(1, 8):
        folder = tmp_path / f"cut-{rounds}"
        with pytest.raises(KeyboardInterrupt):
            run(spec, folder, observer=StopAfter(rounds))
        resume(folder)
        assert without_wall_time(read_records(folder)) == whole
        assert (folder / "model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ("hops.0.transforms=[{kind: quantise, bits: 1}]", "hops.0.transforms.0.bits"),
        ("hops.0.transforms=[{kind: quantise, bits: 25}]", "hops.0.transforms.0.bits"),
        ("hops.0.transforms=[nonsense]", "hops.0.transforms.0"),
        ("hops.0.transforms=[clip]", "hops.0.transforms.0.norm"),
        ("hops.0.receiver=nonsense", "hops.0.receiver"),
        ("hops.0.transforms=[{kind: noise, multiplier: 1}]", "hops.0.transforms.0"),
    ],
)
def test_wrong_transforms_are_told_with_their_path(change: str, path: str, cells: Make) -> None:
    with pytest.raises(SpecError) as error:
        build(cells(change))
    assert path in [problem.path for problem in error.value.problems]

"""Federations with devices in memory: bits of the simulation, lateness, crashes, lost state, garbage."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.federations import Memory, federated, quiet, spec_of, states, trainers
from support.patience import PATIENCE_S
from torch import Tensor

from fedradio.core.contracts import EvaluationRecord, Samples, SimState
from fedradio.core.errors import DataError
from fedradio.remote.flower.federation import Federation, combined
from fedradio.remote.flower.letters import Letter
from fedradio.remote.flower.trainer import Trainer
from fedradio.remote.flower.worlds import announced_stream
from fedradio.report.page import page
from fedradio.results.export import export
from fedradio.results.run import open_run
from fedradio.rounds.commit import Writes
from fedradio.rounds.evaluation import Evaluation
from fedradio.rounds.planning import Planned
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tier
from fedradio.rounds.work import SIMULATED, Simulated, Updates
from fedradio.runs.records import read_records
from fedradio.runs.run import run
from fedradio.spec.build import build

SCAFFOLD = {"kind": "scaffold"}
DIGITAL = {
    "policy": {"kind": "fixed", "steps": 3},
    "channel": {"kind": "urban_macro"},
    "link": {"kind": "digital"},
    "fleet": {"kind": "cellular"},
    "deadline_s": 60.0,
}

SPECS: dict[str, dict[str, Any]] = {
    "values": {"data": {"source": {"kind": "synthetic_regression", "samples": 60, "test_samples": 20}}},
    "fedavg": {},
    "scaffold": {"algorithm": SCAFFOLD},
    "kept momentum": {"rule": {"kind": "sgd", "lr": 0.05, "batch": 16, "momentum": 0.9, "keep_state": True}},
    "shared norms": {"model": {"kind": "cnn_batchnorm", "width": 2, "norms": "shared"}},
    "a small client": {
        "algorithm": SCAFFOLD,
        "rule": {"kind": "sgd", "lr": 0.1, "batch": 64},
        "data": {"source": {"kind": "synthetic_images", "samples": 30}},
    },
    "coded": {
        "algorithm": SCAFFOLD,
        "hops": [{"policy": {"kind": "fixed", "steps": 3}, "transforms": ["feedback", "top_k", "quantise"]}],
    },
    "radio": {"algorithm": SCAFFOLD, "hops": [DIGITAL]},
}


class Gone(Simulated):
    """Simulated clients of whom some do not arrive: ``(client, round)``."""

    def __init__(self, *missing: tuple[int, int]) -> None:
        self.missing = missing

    def work(self, sim: Simulation, state: SimState, tier: Tier, planned: Planned) -> tuple[Updates, Writes]:
        arrived = planned.airtime.arrived.clone()
        for client, t in self.missing:
            if t == planned.x.clock.t:
                arrived[client] = False
        return super().work(sim, state, tier, replace(planned, airtime=replace(planned.airtime, arrived=arrived)))


def simulated(sim: Simulation, *missing: tuple[int, int], rounds: int = 3) -> list[SimState]:
    """States of the same spec as a simulation in which just these did not arrive."""
    gone, state, made = Gone(*missing), begin(sim), []
    plain = sim
    for _ in range(rounds):
        saved = SIMULATED.work
        try:
            SIMULATED.work = gone.work  # type: ignore[method-assign]
            state, _, _ = run_round(plain, state, evaluate=False)
        finally:
            SIMULATED.work = saved  # type: ignore[method-assign]
        made.append(state)
    return made


def same(here: list[SimState], there: list[SimState]) -> bool:
    return all(
        torch.equal(vector, b.memory.shared[name])
        for a, b in zip(here, there, strict=True)
        for name, vector in a.memory.shared.items()
    )


@pytest.mark.parametrize("name", SPECS)
def test_every_round_equals_the_simulation_bit_for_bit(name: str) -> None:
    spec = spec_of(**SPECS[name])
    assert same(simulated(build(spec, workers=1)), states(federated(spec, Memory(trainers(spec)))))


def exchanges(sim: Simulation, rounds: int) -> tuple[list[SimState], list[Any]]:
    state, made, records = begin(sim), [], []
    for _ in range(rounds):
        state, _, (record,) = run_round(sim, state, evaluate=False)
        made.append(state)
        records.append(record)
    return made, records


def variates(mailbox: Memory, acked: Tensor) -> Tensor:
    """Every device's control variate, once it knows what counted."""
    rows = []
    for number, trainer in mailbox.trainers.items():
        assert trainer._pending is not None
        settled = trainer._pending.settled(int(acked[number]))
        assert settled is not None
        rows.append(settled["c"])
    return torch.stack(rows)


def test_late_and_dead_devices_are_records_and_their_state_stays_behind() -> None:
    """Client 1 crashes in round 1, client 2 is late in round 2; the rest goes on, and ``c = mean c_i`` holds."""
    spec = spec_of(algorithm=SCAFFOLD, rounds=5)
    mailbox = Memory(trainers(spec), late={(2, 3): 100.0}, twists={(1, 2): lambda _: None})
    sim = federated(spec, mailbox, deadline_s=30.0)
    made, records = exchanges(sim, 5)
    assert [record.why for record in records] == [
        ["none", "none", "none"],
        ["none", "crashed", "none"],
        ["none", "none", "deadline"],
        ["none", "none", "none"],
        ["none", "none", "none"],
    ]
    assert mailbox.dropped == ["2-3"]
    assert records[2].measured_s[2] is None
    assert records[2].measured_s[0] is not None
    assert same(simulated(build(spec, workers=1), (1, 1), (2, 2), rounds=5), made)
    c = made[-1].memory.shared["c"]
    assert float((variates(mailbox, made[-1].parts["clients"]["acked"]).mean(dim=0) - c).norm() / c.norm()) < 1e-6


def test_plans_stand_beside_measurements() -> None:
    spec = spec_of(hops=[DIGITAL])
    _, (record, *_) = exchanges(federated(spec, Memory(trainers(spec), late={(1, 1): 2.5})), 1)
    assert record.planned_s == record.seconds
    assert record.planned_j == pytest.approx(record.joules)
    assert record.measured_s[1] == pytest.approx(2.5, abs=0.2)
    assert all(0 < seconds < PATIENCE_S for seconds in record.train_s)
    d = build(spec, workers=1).model.shared.size
    assert all(32 * d < bits < 32 * d + 8 * 2000 for bits in record.wire_bits)


@pytest.mark.parametrize("kept", [True, False])
def test_a_device_that_is_started_again_goes_on_from_its_state_or_says_that_it_is_lost(
    kept: bool, tmp_path: Path
) -> None:
    spec = spec_of(algorithm=SCAFFOLD, rounds=4)
    mailbox = Memory(trainers(spec, tmp_path))
    sim = federated(spec, mailbox)
    state, records = begin(sim), []
    for t in range(4):
        if t == 2:
            mailbox.trainers[1] = Trainer(1, folder=tmp_path / "1" if kept else None, tell=quiet)
            mailbox.marks[1] = "second"
        state, _, (record,) = run_round(sim, state, evaluate=False)
        records.append(record)
    lost = [record.notes["state_lost"].values for record in records if "state_lost" in record.notes]
    assert lost == ([] if kept else [[False, True, False]])
    expected = simulated(build(spec, workers=1), rounds=4)[-1].memory.shared
    assert torch.equal(state.memory.shared["w"], expected["w"]) == kept


def garbled(reply: bytes, **head: Any) -> bytes:
    letter = Letter.unpack(reply)
    return Letter(letter.head | head, letter.body).pack()


def poisoned(reply: bytes, change: Any) -> bytes:
    letter = Letter.unpack(reply)
    return Letter(letter.head, {name: change(rows) for name, rows in letter.body.items()}).pack()


GARBAGE: dict[str, Any] = {
    "nothing": lambda _: b"",
    "noise": lambda _: bytes(range(256)) * 40,
    "half": lambda reply: reply[: len(reply) // 2],
    "a head without a body": lambda reply: Letter(Letter.unpack(reply).head, {}).pack(),
    "NaN": lambda reply: poisoned(reply, lambda rows: rows * torch.nan),
    "infinity": lambda reply: poisoned(reply, lambda rows: rows + torch.inf),
    "another shape": lambda reply: poisoned(reply, lambda rows: rows[:, :-1]),
    "one axis more": lambda reply: poisoned(reply, lambda rows: rows.unsqueeze(0)),
    "another type": lambda reply: poisoned(reply, lambda rows: rows.double()),
    "whole numbers": lambda reply: poisoned(reply, lambda rows: rows.long()),
    "oversized": lambda reply: poisoned(reply, lambda rows: rows.repeat(1, 50)),
    "another client": lambda reply: garbled(reply, client=0),
    "another round": lambda reply: garbled(reply, n=0),
    "a client that is text": lambda reply: garbled(reply, client="1"),
    "a true client": lambda reply: garbled(reply, client=True),
    "a loss in words": lambda reply: garbled(reply, loss="low"),
    "no times": lambda reply: garbled(reply, train_s=None),
    "a loss that no float holds": lambda reply: garbled(reply, loss=10**400),
    "a note in words": lambda reply: garbled(reply, note="good"),
    "negative bits": lambda reply: garbled(reply, bits=-1.0),
    "a thousand notes": lambda reply: garbled(reply, notes={f"n{i}": 0.0 for i in range(1000)}),
    "a note with a strange name": lambda reply: garbled(reply, notes={"<b>\x1b": 0.0}),
    "negative times": lambda reply: garbled(reply, train_s=-1.0),
    "notes that are a list": lambda reply: garbled(reply, notes=[1]),
    "a refusal": lambda reply: garbled(reply, refused="no"),
    "state that is neither": lambda reply: garbled(reply, state_lost=2),
}


@pytest.fixture(scope="module")
def without_one_upload() -> list[SimState]:
    """A simulation in which the upload of client 1 is missing in round 1."""
    return simulated(build(spec_of(), workers=1), (1, 1))


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_enters_no_sum_and_the_run_goes_on(name: str, without_one_upload: list[SimState]) -> None:
    spec = spec_of()
    mailbox = Memory(trainers(spec), twists={(1, 2): GARBAGE[name]})
    made, records = exchanges(federated(spec, mailbox), 3)
    assert [record.why[1] for record in records] == ["none", "crashed", "none"]
    assert same(without_one_upload, made)


def test_a_replayed_upload_counts_once(without_one_upload: list[SimState]) -> None:
    """The reply of round 0 again in round 1 is of another round; a request that is replayed is refused."""
    spec, seen = spec_of(), list[bytes]()

    def first(reply: bytes) -> bytes:
        seen.append(reply)
        return reply

    mailbox = Memory(trainers(spec), twists={(1, 1): first, (1, 2): lambda _: seen[0]})
    made, records = exchanges(federated(spec, mailbox), 3)
    assert [record.why[1] for record in records] == ["none", "crashed", "none"]
    assert same(without_one_upload, made)


def test_a_device_that_comes_too_late_is_sent_away_once() -> None:
    spec = spec_of()
    mailbox = Memory(trainers(spec))
    sim = federated(spec, mailbox)
    mailbox.trainers[7] = late = Trainer(1, tell=quiet)
    exchanges(sim, 2)
    assert mailbox.counts[7] == 1
    late.answer(mailbox.pushed["7-0"][2])
    assert late.closed == "the run started without this device"


def test_nobody_at_all_is_a_round_in_which_the_model_stays() -> None:
    spec = spec_of()
    twists = {(number, 2): lambda _: None for number in range(3)}
    made, records = exchanges(federated(spec, Memory(trainers(spec), twists=twists)), 2)  # type: ignore[arg-type]
    assert records[1].arrived == [False] * 3
    assert torch.equal(made[0].memory.shared["w"], made[1].memory.shared["w"])


def test_scores_of_devices_by_hand() -> None:
    result = combined({0: (4, {"accuracy": 0.5, "loss": 1.0}), 2: (12, {"accuracy": 1.0, "loss": 0.0})}, 3, 5)
    assert result.metrics == {"accuracy": 0.875, "loss": 0.25}
    assert result.groups == {"accuracy": [0.5, None, 1.0]}
    assert combined({1: (0, {})}, 3, 5) == Evaluation({}, {"accuracy": [None] * 3})
    with pytest.raises(DataError, match="round 5: no device has test samples"):
        combined({number: (0, {}) for number in range(3)}, 3, 5)


def test_an_evaluation_that_nobody_answers_is_a_record_without_metrics(tmp_path: Path) -> None:
    """Three devices with samples of their own; all are gone when round 2 is evaluated, and back in the next."""
    x = torch.randn(24, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    y = torch.arange(24) % 10
    spec = spec_of(data={"source": {"kind": "own", "shape": [1, 8, 8], "classes": 10}})
    samples = Samples(x, y, x[:6], y[:6], 10, 512.0)
    made = trainers(spec, None, dict.fromkeys(range(3), samples))
    mailbox = Memory(made, twists={(number, 4): lambda _: None for number in range(3)})  # hello, train, evaluate, ...
    signals = {"samples": torch.full((3,), 24)}
    sim = build(spec, stream=lambda clients: announced_stream(spec, clients, signals, None))
    sim, said = federated(spec, mailbox, sim=sim), list[str]()
    assert isinstance(sim.clients, Federation)
    sim.clients.own, sim.clients.tell = True, said.append
    summary = run(spec, tmp_path / "run", simulation=sim)
    assert said == ["evaluation after round 2: no device with test samples has answered; this round has no scores"]
    records = list(read_records(tmp_path / "run", EvaluationRecord))
    assert [sorted(record.metrics) for record in records] == [["accuracy", "loss"], [], ["accuracy", "loss"]]
    assert records[1].groups == {"accuracy": [None] * 3}
    assert (summary.status, summary.accuracy) == ("complete", records[2].metrics["accuracy"])
    past = open_run(tmp_path / "run")
    assert [record.round for record in past.evaluations] == [1, 3]
    assert past.accuracy == summary.accuracy
    export(tmp_path / "run", "csv", tmp_path / "tables")
    rows = (tmp_path / "tables" / "evaluations.csv").read_text().splitlines()
    assert len(rows) == 4
    assert rows[2].startswith("1,2,,,")
    assert "Federation" in page(tmp_path / "run")

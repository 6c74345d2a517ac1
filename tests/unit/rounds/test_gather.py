"""When receivers merge: updates are cut, joined and carried, and what is in flight is part of the state."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fedradio import Observer, resume, run
from fedradio.core.contracts import Gather, GatherAll, RoundRecord, SimState, Updates, join_updates
from fedradio.core.errors import OwnCodeError, SpecError
from fedradio.links.over_the_air import over_the_air
from fedradio.rounds.compatibility import problems_of
from fedradio.rounds.gather import IN_FLIGHT
from fedradio.rounds.parts import TASKS
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

RADIO = (
    "hops.0.link=digital",
    "hops.0.channel=urban_macro",
    "hops.0.fleet=cellular",
    "hops.0.policy={kind: fixed, steps: 4}",
    "topology.clients=6",
)


@dataclass(frozen=True)
class Waiting(Gather):
    """Everything in flight is merged when the last update is there."""

    def due(self, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
        return torch.ones(len(ids), dtype=torch.bool), float(due_s.max())


@dataclass(frozen=True)
class First(Gather):
    """The first so many updates are merged, with half the weight for each merge that they are late."""

    number: int

    def due(self, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
        last = float(due_s.sort().values[: self.number][-1])
        return due_s <= last, last

    def weight(self, staleness: Tensor) -> Tensor:
        return 0.5 ** staleness.double()


@dataclass(frozen=True)
class Hasty(Gather):
    """Merges what nobody has sent yet."""

    def due(self, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
        return torch.ones(len(ids), dtype=torch.bool), 0.0


def simulation(gather: Gather, *changes: str) -> Simulation:
    sim = build(load_spec("digits_flat", [*RADIO, *changes]))
    return replace(sim, hops=(replace(sim.hops[0], gather=gather),))


def rounds(sim: Simulation, number: int, state: SimState | None = None) -> tuple[SimState, list[RoundRecord]]:
    state, records = begin(sim) if state is None else state, []
    for _ in range(number):
        state, record, _ = run_round(sim, state, evaluate=False)
        records.append(record)
    return state, records


def updates(*ids: int, stale: int = 0) -> Updates:
    rows = torch.tensor(ids)
    return Updates(
        ids=rows,
        group=torch.zeros_like(rows),
        payload=rows.double().view(-1, 1, 1),
        arrived=rows > 0,
        reason=torch.zeros_like(rows),
        expect=torch.ones(len(ids)).double(),
        staleness=torch.full_like(rows, stale),
        due_s=rows / 10,
        known={"samples": 100 * rows},
        columns={"loss": rows.double()},
    )


def test_updates_are_cut_and_joined_by_hand() -> None:
    both = join_updates(updates(2, 7, stale=1), updates(0, 5))
    assert both.ids.tolist() == [0, 2, 5, 7]
    assert both.staleness.tolist() == [0, 1, 0, 1]
    assert both.payload.flatten().tolist() == [0, 2, 5, 7]
    assert both.known["samples"].tolist() == [0, 200, 500, 700]
    some = both.rows(torch.tensor([False, True, True, False]))
    assert (some.ids.tolist(), some.columns["loss"].tolist()) == ([2, 5], [2.0, 5.0])
    assert some.local is None
    assert join_updates(both.rows(both.ids < 0), some).ids.tolist() == [2, 5]


@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold", "fednova"])
def test_waiting_for_the_last_update_is_the_synchronous_run(algorithm: str) -> None:
    """Models, seconds, joules, bits and losses, bit for bit, though every update goes through the state."""
    changes = (f"algorithm={algorithm}", "hops.0.link.erasure=0.2", "hops.0.policy={kind: sampling, clients: 3}")
    (one, a), (two, b) = (rounds(simulation(gather, *changes), 4) for gather in (GatherAll(), Waiting()))
    assert torch.equal(one.memory.shared["w"], two.memory.shared["w"])
    assert a == b
    assert not bool(two.parts[TASKS][IN_FLIGHT].any())


def test_what_is_in_flight_stays_away_and_is_merged_later() -> None:
    """Two of six at a time: four are busy at the next exchange, whose two fresh clients join the queue."""
    sim, seen = simulation(First(2)), []
    state = begin(sim)
    for _ in range(6):
        state, record, (exchange,) = run_round(sim, state, evaluate=False)
        seen.append((len(exchange.ids), exchange.idle.get("busy") or exchange.rest))
        assert int(state.parts[TASKS][IN_FLIGHT].sum()) == 4
        assert record.time_s is not None
    assert seen[0] == (6, "none")
    assert [number for number, _ in seen[1:]] == [2] * 5
    assert all(busy == "busy" for _, busy in seen[1:])
    stale = state.parts[TASKS]["staleness"][state.parts[TASKS][IN_FLIGHT]]
    assert int(stale.max()) >= 2


def test_merges_are_as_old_as_their_updates_by_hand() -> None:
    """Conservation: merges pass over every update in flight, so 4 a merge; joules are those of all who work."""
    sim, merged = simulation(First(2)), 0
    state, joules = begin(sim), []
    for t in range(5):
        before = state.parts[TASKS]["staleness"].clone()
        busy = state.parts[TASKS][IN_FLIGHT].clone()
        state, record, (exchange,) = run_round(sim, state, evaluate=False)
        fresh = torch.zeros(6, dtype=torch.bool).index_fill(0, torch.tensor(exchange.ids), True)
        ended = (busy | fresh) & ~state.parts[TASKS][IN_FLIGHT]
        merged += int(before.where(busy, 0)[ended].sum())
        aloft = state.parts[TASKS]["staleness"][state.parts[TASKS][IN_FLIGHT]]
        assert merged + int(aloft.sum()) == 4 * (t + 1)
        joules.append(sum(exchange.compute_j or ()))
        assert record.compute_j == pytest.approx(joules[-1])
    assert all(each > 0 for each in joules)


def test_a_late_update_has_the_weight_of_its_age() -> None:
    """With shares that do not add up to 1 again: half the weight moves the model half as far."""

    @dataclass(frozen=True)
    class Light(Waiting):
        def weight(self, staleness: Tensor) -> Tensor:
            return torch.full((len(staleness),), 0.5, dtype=torch.float64)

    (whole, _), (half, _) = (rounds(simulation(gather), 1) for gather in (Waiting(), Light()))
    start = begin(simulation(Waiting())).memory.shared["w"]
    wanted = (whole.memory.shared["w"] - start) / 2
    assert torch.allclose(half.memory.shared["w"] - start, wanted, atol=1e-6)
    assert float(wanted.abs().max()) > 1e-3


class Last(Observer):
    """The state after every round."""

    def __init__(self) -> None:
        self.states: list[SimState] = []

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        self.states.append(state)


def test_a_run_goes_on_with_updates_in_flight(tmp_path: Path) -> None:
    sim, last = simulation(First(2), "algorithm=scaffold"), Last()
    whole, records = rounds(sim, 5)
    run(sim, tmp_path / "run", rounds=2, observer=last)
    assert int(last.states[-1].parts[TASKS][IN_FLIGHT].sum()) == 4
    resume(tmp_path / "run", simulation=sim, rounds=5, observer=last)
    after = last.states[-1]
    assert (after.t, after.time_s, after.energy_j) == (5, whole.time_s, whole.energy_j)
    assert len(records) == 5
    assert torch.equal(after.memory.shared["w"], whole.memory.shared["w"])
    assert torch.equal(after.parts[TASKS]["payload"], whole.parts[TASKS]["payload"])


def test_nothing_is_merged_before_it_is_due() -> None:
    with pytest.raises(OwnCodeError, match=r"hops\.0\.gather, Hasty: merges the update of client 0 before it is due"):
        rounds(simulation(Hasty()), 1)


def test_what_cannot_stay_in_flight_is_refused() -> None:
    def refusals(sim: Simulation) -> list[str]:
        return [one.reason for one in problems_of(sim) if one.path == "hops.0.gather"]

    assert refusals(simulation(First(2))) == []
    sim = simulation(First(2), "hops.0.transforms=[quantise]")
    assert refusals(sim) == ["an update is decoded in the exchange that it was coded in"]
    on_air = replace(sim, hops=(replace(sim.hops[0], link=over_the_air(), transforms=(), fleet=None),))
    assert refusals(on_air) == [
        "without a fleet nobody knows when an update arrives",
        "this link delivers all payloads of an exchange at once",
    ]
    assert refusals(simulation(First(2), "algorithm=osafl"))[-1].startswith("the algorithm already merges")
    two = build(load_spec("demo"))
    two = replace(two, hops=(replace(two.hops[0], gather=First(2)), two.hops[1]))
    assert "updates can stay in flight in a network with one hop only" in refusals(two)


def test_the_neutral_key_leaves_no_trace_in_a_fingerprint() -> None:
    plain, said = load_spec("demo"), load_spec("demo", ["hops.0.gather=all"])
    assert plain.sha256() == said.sha256()
    with pytest.raises(SpecError, match="gather"):
        load_spec("demo", ["hops.0.gather=nobody"])

"""When receivers merge: updates are cut, joined and carried, and what is in flight is part of the state."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import support
import torch
from support.worlds import cells, tiny
from torch import Tensor, nn

from fedradio.algorithms.fedavg import fedavg
from fedradio.algorithms.fednova import fednova
from fedradio.algorithms.osafl import osafl
from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import (
    Airtime,
    Algorithm,
    Allocation,
    Cache,
    Exchange,
    Gather,
    GatherAll,
    Link,
    Policy,
    RoundRecord,
    SimState,
    Slots,
    Updates,
    View,
    join_updates,
)
from fedradio.core.errors import OwnCodeError, SpecError
from fedradio.core.rng import Rng
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.links.ideal import Ideal, ideal
from fedradio.links.over_the_air import over_the_air
from fedradio.models.model import Norms, wrap
from fedradio.network.channel import urban_macro
from fedradio.network.trace import trace
from fedradio.placements.kinds import lru
from fedradio.policies.fixed import Fixed, fixed
from fedradio.policies.sampling import sampling
from fedradio.rounds.compatibility import problems_of
from fedradio.rounds.gather import IN_FLIGHT
from fedradio.rounds.parts import TASKS
from fedradio.rounds.planning import plan_slots
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.transforms.quantise import quantise


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


@dataclass(frozen=True)
class Window(Gather):
    """What is there after so many seconds is merged."""

    length_s: float

    def due(self, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
        return due_s <= self.length_s, self.length_s


def simulation(gather: Gather, *, erasure: float = 0.0, policy: Policy | None = None, **world: Any) -> Simulation:
    """Six clients with a radio; everybody takes part, unless a policy says otherwise."""
    sim = tiny(link=digital(erasure=erasure), channel=urban_macro(), fleet=cellular, policy=policy, **world)
    return replace(sim, hops=(replace(sim.hops[0], gather=gather),))


def with_norms(sim: Simulation, norms: Norms) -> Simulation:
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.BatchNorm1d(10))
    return replace(sim, model=wrap(module, sim.stream.shape, 10, norms))


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


@pytest.mark.parametrize("algorithm", [fedavg(), scaffold(), fednova()])
def test_waiting_for_the_last_update_is_the_synchronous_run(algorithm: Algorithm) -> None:
    """Models, seconds, joules, bits and losses, bit for bit, though every update goes through the state."""
    world: dict[str, Any] = {"algorithm": algorithm, "erasure": 0.2, "policy": sampling(clients=3, steps=3)}
    (one, a), (two, b) = (rounds(simulation(gather, **world), 4) for gather in (GatherAll(), Waiting()))
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


def test_the_seconds_of_an_exchange_bring_updates_nearer() -> None:
    """What is due after ``d`` seconds is due after ``d - t`` once an exchange of ``t`` seconds is over."""
    sim = simulation(First(2))
    state, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.seconds is not None
    assert record.time_s is not None
    tasks = state.parts[TASKS]
    left_s = [each - record.time_s for each in exchange.seconds]
    assert tasks["due_s"][tasks[IN_FLIGHT]].tolist() == [each for each in left_s if each > 0]
    assert sum(each > 0 for each in left_s) == 4
    assert min(exchange.seconds) < record.time_s < max(exchange.seconds)


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


def test_weights_are_those_of_the_age_of_each_update() -> None:
    """Six updates, two a merge: the last two of the first six have been passed over twice."""

    @dataclass(frozen=True)
    class Noting(First):
        seen: list[list[int]] = field(default_factory=list)

        def weight(self, staleness: Tensor) -> Tensor:
            self.seen.append(staleness.tolist())
            return super().weight(staleness)

    gather = Noting(2)
    rounds(simulation(gather), 4)
    assert gather.seen[0] == [0, 0]
    assert max(max(ages) for ages in gather.seen) >= 1


@pytest.mark.parametrize("link", [digital(), ideal()])
def test_receivers_rest_in_a_window_without_an_update(link: Link) -> None:
    """The window is half of the shortest way to an update: nothing is merged in the first exchange, whose senders pay
    for what they send, and the model is what it was."""
    whole = replace(simulation(GatherAll()), hops=(replace(simulation(GatherAll()).hops[0], link=link),))
    start = begin(whole).memory.shared["w"].clone()
    _, _, (synchronous,) = run_round(whole, begin(whole), evaluate=False)
    assert synchronous.seconds is not None
    length_s = min(synchronous.seconds) / 2
    sim = replace(whole, hops=(replace(whole.hops[0], gather=Window(length_s)),))
    state, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert torch.equal(state.memory.shared["w"], start)
    assert exchange.tx_j == synchronous.tx_j
    assert (exchange.effective, exchange.time_s, record.time_s) == ([0.0], [length_s], length_s)
    state, _, (later,) = run_round(sim, state, evaluate=False)
    assert (later.ids, later.rest) == ([], "busy")
    for _ in range(round(max(synchronous.seconds) / length_s)):
        state, _, _ = run_round(sim, state, evaluate=False)
    assert not torch.equal(state.memory.shared["w"], start)


def test_nothing_is_merged_before_it_is_due() -> None:
    with pytest.raises(OwnCodeError, match=r"hops\.0\.gather, Hasty: merges the update of client 0 before it is due"):
        rounds(simulation(Hasty()), 1)


@dataclass(frozen=True)
class Answering(Gather):
    """What a part returns, whatever is in flight."""

    now: Any
    seconds: Any

    def due(self, due_s: Tensor, ids: Tensor) -> tuple[Tensor, float]:
        return self.now, self.seconds


NOBODY = torch.zeros(6, dtype=torch.bool)


@pytest.mark.parametrize(
    ("now", "seconds", "match"),
    [
        (torch.arange(6), 1.0, r"torch\.int64 \[6\]; return a mask, torch\.bool \[6\]"),
        (NOBODY[:2], 1.0, r"torch\.bool \[2\]"),
        ([True] * 6, 1.0, "list"),
        (NOBODY, math.inf, "inf seconds"),
        (NOBODY, math.nan, "nan seconds"),
        (NOBODY, -1.0, r"-1\.0 seconds"),
        (NOBODY, None, "None seconds"),
    ],
)
def test_what_a_gather_returns_is_a_mask_and_seconds(now: Any, seconds: Any, match: str) -> None:
    with pytest.raises(OwnCodeError, match=rf"^round 1: hops\.0\.gather, Answering: .*{match}"):
        rounds(simulation(Answering(now, seconds)), 1)


class NoClock(Ideal):
    """A link that forecasts no seconds."""

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        return replace(super().plan(x, state, rng), done_s=None)


class NoFrequency(Fixed):
    """A policy that gives no CPU frequency."""

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        alloc, state = super().decide(view, state, rng)
        return replace(alloc, cpu_hz=None), state


@pytest.mark.parametrize(
    "part", [{"link": NoClock(32.0)}, {"link": ideal(), "policy": NoFrequency(fixed(steps=3).effort)}]
)
def test_updates_of_which_nobody_knows_the_seconds_are_refused(part: dict[str, Any]) -> None:
    sim = simulation(First(2))
    sim = replace(sim, hops=(replace(sim.hops[0], **part),))
    with pytest.raises(OwnCodeError, match=r"First: .* link forecasts no seconds, or .* no CPU frequency"):
        rounds(sim, 1)


def test_what_cannot_stay_in_flight_is_refused() -> None:
    def refusals(sim: Simulation) -> list[str]:
        return [one.reason for one in problems_of(sim) if one.path == "hops.0.gather"]

    assert refusals(simulation(First(2))) == []
    (hop,) = simulation(First(2)).hops
    coded = replace(simulation(First(2)), hops=(replace(hop, transforms=(quantise(),)),))
    assert refusals(coded) == ["an update is decoded in the exchange that it was coded in"]
    on_air = replace(coded, hops=(replace(hop, link=over_the_air(), fleet=None),))
    assert refusals(on_air) == [
        "without a fleet nobody knows when an update arrives",
        "this link delivers all payloads of an exchange at once",
    ]
    assert refusals(simulation(First(2), algorithm=osafl()))[-1].startswith("the algorithm already merges")
    waiting = replace(hop.fleet, idle_w=0.1)
    gains = trace(path=str(Path(support.__file__).parent / "gains.csv"), interval_s=1.0)
    here = replace(simulation(First(2)), waits="deadline", cache=Cache((lru(),)))
    here = with_norms(replace(here, hops=(replace(hop, fleet=waiting, channel=gains, deadline_s=1.0),)), "shared")
    assert [reason.split(",")[0] for reason in refusals(here)] == [
        "an exchange lasts until it merges",
        "what is late at the deadline is lost",
        "a trace has gains of exchanges at fixed times",
        "devices that wait draw power until the exchange ends",
        "receivers have the norm layers that were sent last",
        "the accounts of caches count that learning is merged in the exchange in which it is sent",
    ]
    assert refusals(with_norms(simulation(First(2)), "local")) == []
    two = cells()
    two = replace(two, hops=(replace(two.hops[0], gather=First(2)), two.hops[1]))
    assert refusals(two) == ["updates can stay in flight in a network with one hop only"]


def test_a_plan_knows_no_updates_in_flight() -> None:
    sim = simulation(First(2))
    with pytest.raises(SpecError, match=r"hops\.0\.gather"):
        next(plan_slots(sim, begin(sim), 1))
    waiting = simulation(GatherAll())
    assert len(list(plan_slots(waiting, begin(waiting), 2))) == 2

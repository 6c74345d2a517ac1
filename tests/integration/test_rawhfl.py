"""RawHFL's row of the table: exact sizes, refusals, and one seed of its learning at quick scale."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from support.receiver import NOTHING, knowledge

from fedradio.core.contracts import Message
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.links.ideal import weighted_total
from fedradio.rounds.accounts import planned_j
from fedradio.rounds.planning import plan_slots
from fedradio.rounds.round import begin, iterate, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec


@cache
def curve(name: str, seed: int, rounds: int) -> tuple[list[float], float]:
    """Accuracies in percent after each round, and joules in all."""
    records = list(iterate(build(load_spec(f"rawhfl/quick/{name}", [f"seed={seed}"])), rounds))
    return [100 * record.metrics["accuracy"] for record in records], sum(record.energy_j or 0.0 for record in records)


def planned_energy(name: str, seed: int, rounds: int, *overrides: str) -> float:
    """Joules of planning only."""
    sim = build(load_spec(name, [f"seed={seed}", f"rounds={rounds}", *overrides]))
    return sum(float(planned_j(plan).sum()) for plan in plan_slots(sim, begin(sim), rounds))  # type: ignore[union-attr]


def test_sizes() -> None:
    sim = build(load_spec("rawhfl/paper/z4"))
    assert sim.model.shared.size == 219_648
    assert sim.hops[0].link.bits(Message(1, 219_648)) == 7_248_384
    plan = next(plan_slots(sim, begin(sim), 1))
    assert sim.hops[0].fleet is not None
    assert plan.x.cycles_per_step is not None
    assert torch.equal(plan.x.cycles_per_step, 440_320 * sim.hops[0].fleet.cycles_per_bit)


def test_quick_and_paper_scale_steps_cost_the_same() -> None:
    quick, paper = (build(load_spec(f"rawhfl/{scale}/z4")) for scale in ("quick", "paper"))
    cycles = [next(plan_slots(sim, begin(sim), 1)).x.cycles_per_step for sim in (quick, paper)]
    assert torch.allclose(cycles[0], cycles[1])  # type: ignore[arg-type]


def test_one_round_reports_everything() -> None:
    sim = build(load_spec("rawhfl", ["hops.0.policy.max_steps=2"]))
    _, record, exchanges = run_round(sim, begin(sim))
    assert [exchange.hop for exchange in exchanges] == [0, 0, 0, 0, 1]
    assert record.time_s == 600.0
    assert record.bits == [4 * 16 * 7_248_384.0, 4 * 7_248_384.0]
    assert record.energy_j is not None
    assert record.energy_j > 0
    assert {"accuracy", "bayes", "top_popular", "accuracy_spread"} <= set(record.metrics)
    first = exchanges[0]
    assert len(first.ids) == 16
    assert min(first.notes["eligible"].values) >= 4
    assert first.cpu_hz is not None
    assert first.power_w is not None


def test_learning_keeps_the_order() -> None:
    """One seed at quick scale, five rounds: RawHFL within 3 points of UB, 5 above M2, for a fraction of the joules."""
    ours, joules = curve("z4", 1, 5)
    upper, most = curve("ub", 1, 5)
    common, _ = curve("m2", 1, 5)
    assert ours[-1] > upper[-1] - 3
    assert ours[-1] > common[-1] + 5
    assert joules < most / 50
    assert ours[-1] > 60


def test_full_power_energy_is_below_a_quarter_of_everybodys() -> None:
    paper = planned_energy("rawhfl/paper/z4", 1, 10, "hops.0.policy.mode=paper")
    assert paper < planned_energy("rawhfl/paper/ub", 1, 10) / 4


def test_m1_trains_only_when_everybody_can() -> None:
    sim = build(load_spec("rawhfl/paper/m1"))
    for plan in plan_slots(sim, begin(sim), 5):
        assert bool(plan.x.alloc.active.all()) or not bool(plan.x.alloc.active.any())


def test_erasures_with_the_correction_keep_the_mean_update() -> None:
    """30 % of the payloads are lost at random; the mean of the corrected sums over 4000 slots is the lossless sum."""
    sim = build(load_spec("rawhfl", ["hops.0.link.erasure=0.3"]))
    plan = next(plan_slots(sim, begin(sim), 1))
    ids = plan.x.alloc.active.nonzero().squeeze(1)
    group = sim.topology.parents[0][ids]
    payload = torch.randn(len(ids), 1, 3, generator=Rng(1).torch(), dtype=torch.float64)
    link = sim.hops[0].link
    x, totals = replace(plan.x, ready_s=None, deadline_s=None), []
    for seed in range(4000):
        airtime = link.plan(x, {}, Rng(seed))
        arrived = airtime.arrived[ids]
        info = replace(knowledge(ids, x.parent, {}, arrived=arrived), expect=airtime.expect[ids])
        totals.append(weighted_total(payload, sim.algorithm.weights(NOTHING, info), group, 4))
    drawn = torch.stack(totals)
    exact = weighted_total(payload, torch.full((len(ids),), 0.25, dtype=torch.float64), group, 4)
    assert float(drawn.std(dim=0).min()) > 0
    assert bool(((drawn.mean(dim=0) - exact).abs() < 4.5 * drawn.std(dim=0) / 4000**0.5).all())


@pytest.mark.parametrize(
    ("override", "path"),
    [
        ("hops.0.link.bandwidth_hz=-1", "hops.0.link.bandwidth_hz"),
        ("topology.clients_per_edge=0", "topology.clients_per_edge"),
        ("hops.0.policy.clients=13", "hops.0.policy"),
        ("data.source.similarity=1.5", "data.source.similarity"),
        ("data.source.preferences=[0.5, 0.1, 0, 0, 0, 0, 0, 0]", "data.source.preferences"),
        ("hops.0.deadline_s=null", "hops.0.policy"),
        ("hops.0.channel=null", "hops.0.link"),
        ("hops.0.fleet=null", "hops.0.policy"),
        ("data.partition=iid", "data.partition"),
        ("rounds=200", "data"),
    ],
)
def test_bad_input_is_named(override: str, path: str) -> None:
    with pytest.raises(SpecError) as caught:
        build(load_spec("rawhfl", [override]))
    assert path in {problem.path for problem in caught.value.problems}


def test_clients_without_data_leave_their_place_to_others() -> None:
    """A growing stream without history: only those with samples are eligible, and are selected."""
    sim = build(load_spec("rawhfl", ["data.stream.history=0", "hops.0.policy.max_steps=1"]))
    _, _, exchanges = run_round(sim, begin(sim), evaluate=False)
    first = exchanges[0]
    have = sum(reason != "no_data" for reason in first.dense(48).reason)
    assert 0 < have < 48
    assert sum(first.notes["eligible"].values) <= have
    assert len(first.ids) == 16

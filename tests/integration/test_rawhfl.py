"""RawHFL's row of the table: exact sizes, refusals, and one seed of its learning at quick scale."""

import math
from dataclasses import replace
from functools import cache

import pytest
import torch
from support.exchanges import exchange
from support.receiver import NOTHING, knowledge

from fedradio.core.contracts import Allocation, Message
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


@pytest.mark.wide
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


def test_arrivals_under_fading_with_the_correction_keep_the_mean_update() -> None:
    """Clients plan for the mean channel, Rayleigh fading strikes the upload: (15) with p_sc = Pr(t_cp + t_up <= t_th)
    is unbiased over 20,000 draws, with shares of the selected it is not. Every draw of a cell is a cell of its own."""
    draws = 20_000
    quick = ["hops.0.channel={kind: urban_macro, fading: rayleigh}", "hops.0.policy.max_steps=1"]
    sim = build(load_spec("rawhfl", quick))
    x = next(plan_slots(sim, begin(sim), 1)).x
    assert x.channel is not None
    assert x.alloc.power_w is not None
    assert x.ready_s is not None
    ids = (x.alloc.active & (x.parent == 0)).nonzero().squeeze(1)
    many = ids.repeat(draws)
    parts = torch.randn(2, 1, 1, len(many), generator=Rng(2).torch(), dtype=torch.float64)
    coefficient = torch.complex(parts[0], parts[1]) / 2**0.5
    alloc = Allocation(
        active=torch.ones(len(many), dtype=torch.bool),
        steps=torch.ones_like(many),
        cpu_hz=None,
        power_w=x.alloc.power_w[many],
        reason=torch.zeros_like(many),
    )
    faded = exchange(
        torch.zeros_like(many),
        channel=replace(x.channel, gain=x.channel.gain[:1, many], coefficient=coefficient),
        message=x.message,
        alloc=alloc,
        ready_s=x.ready_s[many],
        deadline_s=x.deadline_s,
    )
    airtime = sim.hops[0].link.plan(faded, {}, Rng(0))
    cell = torch.arange(draws).repeat_interleave(4)
    info = replace(knowledge(torch.arange(len(many)), cell, {}, arrived=airtime.arrived), expect=airtime.expect)
    payload = torch.randn(4, generator=Rng(1).torch(), dtype=torch.float64)

    def far(weight: torch.Tensor) -> float:
        """Distance of the mean of the sums from the lossless sum, in standard errors."""
        totals = (weight.view(draws, 4) * payload).sum(dim=1)
        return abs(float(totals.mean() - 0.25 * payload.sum())) / (float(totals.std()) / draws**0.5)

    assert 0.2 < float(airtime.arrived.double().mean()) < 0.6
    assert far(sim.algorithm.weights(NOTHING, info)) < 4
    assert far(0.25 * airtime.arrived) > 20


def test_the_exact_optimum_under_fading_arrives_as_often_as_the_mean_is_exceeded() -> None:
    """Its uploads end with the deadline on the mean channel: p_sc = Pr(|h|^2 >= 1) = 1/e. Full power has room."""
    rayleigh = "hops.0.channel={kind: urban_macro, fading: rayleigh}"
    sim = build(load_spec("rawhfl/paper/z4", [rayleigh]))
    plan = next(plan_slots(sim, begin(sim), 1))
    assert plan.airtime.expect[plan.x.alloc.active].tolist() == pytest.approx([math.exp(-1)] * 16, rel=1e-6)
    full = build(load_spec("rawhfl/paper/z4", [rayleigh, "hops.0.policy.mode=paper"]))
    plan = next(plan_slots(full, begin(full), 1))
    assert float(plan.airtime.expect[plan.x.alloc.active].min()) > 0.99


def test_a_flat_round_pays_access_and_backhaul() -> None:
    """48 payloads on access, the same 48 on the backhaul; cells that merge send one each."""
    sim = build(load_spec("rawhfl/quick/fedavg_ub", ["hops.0.policy.steps=1"]))
    _, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    assert [exchange.hop for exchange in exchanges] == [0, 1]
    assert record.bits == [48 * 7_248_384.0, 48 * 7_248_384.0]
    assert record.time_s == 150.0
    cells = ["topology={kind: hierarchical, edges: 4, clients_per_edge: 12}", "hops.0.policy.steps=1"]
    sim = build(load_spec("rawhfl/quick/fedavg_ub", cells))
    assert run_round(sim, begin(sim), evaluate=False)[1].bits == [48 * 7_248_384.0, 4 * 7_248_384.0]


def test_payloads_that_were_lost_are_not_passed_on() -> None:
    sim = build(load_spec("rawhfl/quick/fedavg_ub", ["hops.0.policy.steps=1", "hops.0.link.erasure=0.5"]))
    _, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    arrived = sum(exchanges[0].arrived)
    assert 10 < arrived < 38
    assert record.bits == [48 * 7_248_384.0, arrived * 7_248_384.0]


def test_a_flat_network_via_cells_learns_as_one_without() -> None:
    ideal = ["data.source.test_requests=20", "rule.batch=8"]
    link = "{link: {kind: ideal, bits_per_value: 33}, policy: {kind: fixed, steps: 2}}"
    straight = [*ideal, "clock=slowest", "topology.via=null", f"hops=[{link}]"]
    through = [*ideal, "clock=slowest", f"hops=[{link}, {{link: ideal, policy: fixed}}]"]
    models = []
    for overrides in (straight, through):
        sim = build(load_spec("rawhfl/quick/fedavg_ub", overrides))
        models.append(run_round(sim, begin(sim), evaluate=False)[0].memory.shared["w"])
    assert torch.allclose(*models, rtol=0, atol=1e-7)
    assert not torch.equal(models[0], begin(sim).memory.shared["w"])


@pytest.mark.parametrize(
    ("override", "path"),
    [
        ("hops.0.period=2", "hops.0.period"),
        ("algorithm=scaffold", "topology.via"),
        ("hops.1.transforms=[quantise]", "hops.1.transforms"),
        ("topology.via=5", "topology.via"),
    ],
)
def test_what_cells_cannot_pass_on_is_named(override: str, path: str) -> None:
    with pytest.raises(SpecError) as caught:
        build(load_spec("rawhfl/quick/fedavg_ub", [override]))
    assert path in {problem.path for problem in caught.value.problems}


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

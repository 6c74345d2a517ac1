"""Neutral elements and bookkeeping of a round."""

from collections.abc import Callable
from dataclasses import asdict, replace

import pytest
import torch
from torch import Tensor

from fedradio.core.contracts import Clock, Reason, SimState
from fedradio.core.errors import DivergenceError
from fedradio.models.model import wrap
from fedradio.rounds.cohort import train
from fedradio.rounds.exchange import plan_exchange
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import open_round
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec

MakeSpec = Callable[..., Spec]


def after(sim: Simulation, rounds: int = 2) -> SimState:
    state = begin(sim)
    for _ in range(rounds):
        state, _, _ = run_round(sim, state, evaluate=False)
    return state


def weights_after(spec: Spec, rounds: int = 2) -> Tensor:
    return after(build(spec), rounds).memory.shared["w"]


def test_one_plain_round_by_hand(tiny: MakeSpec) -> None:
    """FedAvg after one full-batch step of every client is one gradient step on the pooled data."""
    sim = build(
        tiny("rule.batch=2000", "hops.0.policy.steps=1", "model={kind: logistic}", "algorithm.weighting=samples")
    )
    w = after(sim, 1).memory.shared["w"]
    tape = sim.stream.draw(sim.stream.start(), torch.arange(6), torch.ones(6).long(), 2000, sim.rng)
    index = torch.cat([tape.labelled.index[c, 0, : tape.labelled.count[c, 0]] for c in range(6)])
    x, y = tape.fetch(index)
    x = x.flatten(1).double()
    residual = torch.full((len(y), 10), 0.1, dtype=torch.float64)  # zero weights: uniform probabilities
    residual[torch.arange(len(y)), y] -= 1
    gradient = torch.cat(((residual.T @ x).flatten(), residual.sum(dim=0))) / len(y)
    assert torch.allclose(w.double(), -0.1 * gradient, atol=1e-7)


def test_one_edge_with_period_one_is_flat(tiny: MakeSpec) -> None:
    flat = weights_after(tiny())
    edge = weights_after(
        tiny(
            "topology={kind: hierarchical, edges: 1, clients_per_edge: 6}",
            "hops=[{policy: {kind: fixed, steps: 3}}, {}]",
        )
    )
    assert torch.allclose(edge, flat, rtol=1e-6, atol=1e-8)


def test_edges_with_period_one_are_flat_when_weighed_by_what_arrived(tiny: MakeSpec) -> None:
    """Unequal clients in three cells: mean of cell means with arrived masses is the mean over all."""
    skewed = "data.partition={kind: dirichlet, alpha: 0.5}"
    flat = weights_after(tiny(skewed))
    cells = weights_after(
        tiny(
            skewed,
            "topology={kind: hierarchical, edges: 3, clients_per_edge: 2}",
            "hops=[{policy: {kind: fixed, steps: 3}}, {}]",
        )
    )
    assert torch.allclose(cells, flat, rtol=1e-5, atol=1e-7)


def test_neutral_elements_bit_for_bit(tiny: MakeSpec) -> None:
    fedavg = weights_after(tiny("algorithm={kind: fedavg, weighting: equal}"))
    prox = weights_after(tiny("algorithm={kind: fedprox, mu: 0, weighting: equal}"))
    assert torch.equal(fedavg, prox)
    one = tiny("algorithm={kind: fedavg, weighting: equal}"), tiny("algorithm=scaffold")
    assert torch.equal(weights_after(one[0], 1), weights_after(one[1], 1))  # variates are zero in the first round
    assert not torch.equal(weights_after(one[0], 2), weights_after(one[1], 2))


def test_algorithms_see_the_same_world(tiny: MakeSpec) -> None:
    a, b = build(tiny()), build(tiny("algorithm=scaffold", "rule.momentum=0.5"))
    assert torch.equal(begin(a).memory.shared["w"], begin(b).memory.shared["w"])
    assert torch.equal(a.stream.test().index, b.stream.test().index)
    draws = [s.stream.draw(s.stream.start(), torch.arange(6), torch.full((6,), 4), 16, s.rng) for s in (a, b)]
    assert torch.equal(draws[0].labelled.index, draws[1].labelled.index)


def test_scaffold_keeps_its_invariant(cells: MakeSpec) -> None:
    """c = mean of the clients' variates, with partial participation, cells and unequal steps."""
    state = after(
        build(
            cells(
                "algorithm=scaffold",
                "data.partition={kind: dirichlet, alpha: 0.5}",
                "hops.0.policy={kind: sampling, clients: 2, steps: [1, 5]}",
            )
        ),
        rounds=10,
    )
    c, mine = state.memory.shared["c"], state.memory.client["c"]
    assert float(c.norm()) > 0
    assert float((mine.mean(dim=0) - c).norm()) < 1e-5 * float(c.norm())


def test_variates_move_only_when_acknowledged(cells: MakeSpec) -> None:
    sim = build(cells("algorithm=scaffold", "hops.0.deadline_s=1e-9"))
    state = after(sim, 1)
    assert float(state.memory.client["c"].abs().max()) == 0.0
    assert torch.equal(state.memory.shared["w"], begin(sim).memory.shared["w"])


def test_null_where_undefined(tiny: MakeSpec) -> None:
    state, record, (exchange,) = run_round(*_started(tiny()), evaluate=True)
    assert record.time_s is None
    assert record.energy_j is None
    assert record.compute_j is None
    assert record.tx_j == [0.0]
    assert exchange.seconds is None
    assert exchange.time_s is None
    size = build(tiny()).model.shared.size
    assert record.bits == [6 * 32 * size]
    assert (state.time_s, state.energy_j, state.bits) == (None, None, record.bits[0])


def test_seconds_are_the_slowest_edges_sum(cells: MakeSpec) -> None:
    _, record, exchanges = run_round(*_started(cells("hops.0.policy.steps=[1, 9]")), evaluate=False)
    hop0 = [e for e in exchanges if e.hop == 0]
    per_edge = [[max(e.seconds[i] for i in members) for e in hop0] for members in ([0, 1, 2], [3, 4, 5])]  # type: ignore[index]
    assert record.time_s == pytest.approx(max(map(sum, per_edge)))
    assert record.time_s < sum(max(pair) for pair in zip(*per_edge, strict=True)) or len(set(map(tuple, per_edge))) == 1
    assert record.compute_j == pytest.approx(sum(sum(e.compute_j or []) for e in hop0))
    assert [e.e for e in hop0] == [0, 1]


def test_deadline_clock_and_reasons(cells: MakeSpec) -> None:
    """Computing takes steps * cycles / f; a deadline between the fastest and the slowest loses some clients."""
    _, _, free = run_round(*_started(cells()), evaluate=False)
    times = sorted(free[0].seconds or [])
    deadline = (times[2] + times[3]) / 2
    sim = build(cells("clock=deadline", f"hops.0.deadline_s={deadline}"))
    _, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    first = exchanges[0]
    assert sum(first.arrived) == 3
    assert all(first.active)
    late = [reason for reason, arrived in zip(first.reason, first.arrived, strict=True) if not arrived]
    assert late == [Reason.DEADLINE] * 3
    assert first.time_s == [deadline, deadline]
    assert record.time_s == pytest.approx(2 * deadline)
    waiting = build(cells(f"hops.0.deadline_s={deadline}"))
    _, _, slowest = run_round(waiting, begin(waiting), evaluate=False)
    assert max(slowest[0].time_s or []) <= deadline
    assert sim.warnings


def test_edges_without_news_stay_silent(cells: MakeSpec) -> None:
    sim = build(cells("hops.0.deadline_s=1e-9"))
    state, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    last = exchanges[-1]
    assert last.hop == 1
    assert last.active == [False, False]
    assert last.reason == [Reason.NO_NEWS] * 2
    assert record.bits[1] == 0.0
    assert record.time_s == pytest.approx(2e-9)  # two edge rounds of waiting for the deadline
    assert torch.equal(state.memory.shared["w"], begin(sim).memory.shared["w"])


def test_divergence_names_round_and_clients(tiny: MakeSpec) -> None:
    sim = build(tiny("rule.lr=10000", "rule.momentum=0.99", "hops.0.policy.steps=40", "algorithm.server_lr=10000"))
    with pytest.raises(DivergenceError, match=r"round \d+: .* client\(s\)") as caught:
        after(sim, 20)
    assert caught.value.clients


def test_workers_and_repetition_do_not_change_a_bit(tiny: MakeSpec) -> None:
    spec = tiny("hops.0.policy.steps=[1, 7]", "data.partition={kind: dirichlet, alpha: 0.5}")
    first, again, three = (after(build(spec, workers=n)) for n in (1, 1, 3))
    assert torch.equal(first.memory.shared["w"], again.memory.shared["w"])
    assert torch.equal(first.memory.shared["w"], three.memory.shared["w"])


def test_adam_state_is_kept_per_client_and_only_for_the_active(tiny: MakeSpec) -> None:
    sim = build(tiny("rule={kind: adam, lr: 0.01, batch: 16}", "hops.0.policy={kind: sampling, clients: 2, steps: 3}"))
    state, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    counts = state.memory.client["rule/adam_n"]
    assert counts.tolist() == [3.0 if active else 0.0 for active in exchange.active]
    moved = state.memory.client["rule/adam_m"].abs().sum(dim=1) > 0
    assert moved.tolist() == exchange.active


def test_central_is_one_node_with_everything(cells: MakeSpec) -> None:
    sim = build(cells("algorithm={kind: central, steps: 7}"))
    _, record, exchanges = run_round(sim, begin(sim))
    assert len(exchanges) == 1
    assert exchanges[0].steps == [7]
    assert record.time_s is None
    assert record.bits == [None]
    everything = int(sim.stream.stats(sim.stream.start())["samples"].sum())
    assert everything == 1797 - len(sim.stream.test().index)


def test_records_are_plain_data(cells: MakeSpec) -> None:
    _, record, exchanges = run_round(*_started(cells()))
    for item in (record, *exchanges):
        for value in asdict(item).values():
            assert not isinstance(value, Tensor)


def test_per_client_evaluation_reports_the_spread(tiny: MakeSpec) -> None:
    _, record, _ = run_round(*_started(tiny("data.test=client", "data.partition={kind: shards}")))
    assert {"accuracy", "loss", "accuracy_spread"} <= set(record.metrics)
    assert record.metrics["accuracy_spread"] > 0


def test_top_accuracies_rise_and_change_nothing_else(tiny: MakeSpec) -> None:
    plain = run_round(*_started(tiny("data.test=client")))[1].metrics
    top = run_round(*_started(tiny("data.test=client", "eval_top=3")))[1].metrics
    assert {name: top[name] for name in plain} == plain
    assert set(top) - set(plain) == {f"top_{m}_accuracy{end}" for m in (2, 3) for end in ("", "_spread")}
    assert plain["accuracy"] < top["top_2_accuracy"] < top["top_3_accuracy"] <= 1


def test_three_hops_equal_two_when_the_middle_is_single(cells: MakeSpec) -> None:
    """Clients -> edges -> one hub -> server: the hub only passes on."""
    two = build(cells())
    topology = two.topology
    hub = torch.zeros(1, 2, dtype=torch.float64)
    deeper = replace(
        topology,
        parents=(*topology.parents, torch.zeros(1, dtype=torch.long)),
        positions=(*topology.positions[:2], hub, topology.positions[-1]),
    )
    three = replace(two, topology=deeper, hops=(*two.hops, two.hops[1]))
    a, b = run_round(two, begin(two)), run_round(three, begin(three))
    assert torch.allclose(a[0].memory.shared["w"], b[0].memory.shared["w"], rtol=1e-5, atol=1e-7)
    assert a[1].time_s == pytest.approx(b[1].time_s)
    assert len(b[1].bits) == 3


def _started(spec: Spec) -> tuple[Simulation, SimState]:
    sim = build(spec)
    return sim, begin(sim)


def test_dropout_masks_belong_to_the_client(tiny: MakeSpec) -> None:
    """A client's change is the same whoever else is active, also with dropout."""
    net = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 10)
    )
    sim = replace(build(tiny()), model=wrap(net, (1, 8, 8), 10))
    work = open_round(sim, begin(sim))
    alloc = plan_exchange(sim, work, 0, Clock(0)).alloc
    everyone = train(sim, work.shared[0], None, work.client, work.stream, alloc, Clock(0)).trained.delta
    one = alloc.active & (torch.arange(6) == 4)
    alone = train(
        sim, work.shared[0], None, work.client, work.stream, replace(alloc, active=one), Clock(0)
    ).trained.delta
    assert torch.equal(alone[0], everyone[4])


def test_time_passes_though_nobody_trains(cells: MakeSpec) -> None:
    """With the deadline clock a round lasts its edge rounds, also where no client can afford a step."""
    radio = ("link=digital", "channel=urban_macro", "fleet={kind: cellular, energy_j: [0, 0]}", "policy=budget")
    sim = build(cells("clock=deadline", "hops.0.deadline_s=150", *[f"hops.0.{part}" for part in radio]))
    state, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    assert not any(any(exchange.active) for exchange in exchanges)
    assert record.time_s == 300.0
    assert record.energy_j == 0.0
    assert record.train_loss is None
    assert state.time_s == 300.0


def test_a_rate_of_zero_moves_nothing(tiny: MakeSpec) -> None:
    for algorithm in ("fedavg", "scaffold", "fednova"):
        spec = tiny(f"algorithm={algorithm}", "schedule={kind: linear, rounds: 1}")
        sim = build(spec)
        one = after(sim, 1).memory.shared["w"]
        assert torch.equal(after(sim, 3).memory.shared["w"], one)


def test_clients_without_data_leave_their_place_to_others() -> None:
    """A growing stream without history: only those with samples are eligible, and are selected."""
    sim = build(load_spec("rawhfl", ["data.stream.history=0", "hops.0.policy.max_steps=1"]))
    _, _, exchanges = run_round(sim, begin(sim), evaluate=False)
    first = exchanges[0]
    have = sum(reason != Reason.NO_DATA for reason in first.reason)
    assert 0 < have < 48
    assert sum(first.notes["eligible"]) <= have
    assert sum(first.active) == 16

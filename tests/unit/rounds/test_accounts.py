"""Bits, joules, cycles and local steps of an exchange, against cases computed by hand."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pytest
import torch
from support.worlds import cells, tiny
from torch import Tensor

from fedradio.algorithms.apfl import apfl
from fedradio.algorithms.fedavg import fedavg
from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.core.contracts import (
    Algorithm,
    Channel,
    Clock,
    Fleet,
    Hop,
    Link,
    Policy,
    SimState,
    Stream,
    Topology,
    Transform,
)
from fedradio.engine.rules import sgd
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.links.ideal import ideal
from fedradio.links.over_the_air import over_the_air
from fedradio.models.zoo import logistic
from fedradio.network.channel import urban_macro
from fedradio.policies.budget import budget
from fedradio.policies.fixed import fixed
from fedradio.policies.joint import joint
from fedradio.policies.per_client import per_client
from fedradio.policies.sampling import sampling
from fedradio.rounds.accounts import planned_j
from fedradio.rounds.planning import plan_exchange
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import RoundClock, Simulation, compose
from fedradio.rounds.tiers import start_tiers
from fedradio.transforms.quantise import quantise
from fedradio.transforms.sparsify import top_k


def doubles(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def devices(*cycles_per_bit: float, **powers: float) -> Fleet:
    """CPUs of 8 Hz and a capacitance of 1/16 F: ``n`` cycles take ``n/8`` s and ``n f^2/32 = 2 n`` J. 2 W to send."""
    one = torch.ones(len(cycles_per_bit), dtype=torch.float64)
    return Fleet(doubles(*cycles_per_bit), 8.0 * one, 2.0 * one, 1e3 * one, capacitance=1 / 16, **powers)


@pytest.fixture
def radio(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_gains: Callable[..., Channel],
) -> Callable[..., Simulation]:
    """Four clients of which 0, 1 and 2 send 4 numbers of 10 bits, in 1 s: SNR 1 on 40 Hz is 40 bit/s.

    A local step is one sample of 8 bits. At 1, 1, 5 and 1 cycles per bit it takes 1, 1, 5 and 1 s, and 16 J a cycle per
    bit; so 0 and 1 are done after 2 s, and 2 after 6 s, or when the deadline stops it.
    """

    def make(erasure: float = 0.0, deadline_s: float | None = 3.0, **powers: float) -> Simulation:
        hop = Hop(
            link=digital(bandwidth_hz=40.0, bits_per_value=10.0, erasure=erasure),
            policy=turns([(0, 1, 2)]),
            channel=given_gains((1.0, 1.0, 1.0, 1.0), noise_w_hz=2.0 / 40.0),
            fleet=devices(1.0, 1.0, 5.0, 1.0, **powers),
            deadline_s=deadline_s,
        )
        return compose(
            topology=tree((0, 0, 0, 0)),
            hops=[hop],
            stream=holding((1, 1, 1, 1)),
            model=logistic((1,), 2),
            algorithm=fedavg(),
            rule=sgd(batch=1),
        )

    return make


def test_late_payloads_have_bits(radio: Callable[..., Simulation]) -> None:
    """``bits = s |senders|``, whether in time or not: 3 senders of 40 bits make 120, though one misses 3 s."""
    sim = radio(deadline_s=3.0)
    state, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.ids == [0, 1, 2]
    assert exchange.seconds == pytest.approx([2.0, 2.0, 3.0])
    assert exchange.arrived == [True, True, False]
    assert exchange.why == ["none", "none", "deadline"]
    assert (exchange.rest, exchange.idle) == ("not_selected", {})
    assert exchange.bits == 120.0
    assert record.bits == [120.0]
    assert state.bits == 120.0


def test_erased_payloads_have_bits(radio: Callable[..., Simulation]) -> None:
    """The same of payloads that the channel erases, here all but surely every one: 120 bits were sent, none arrived."""
    sim = radio(erasure=1 - 1e-12, deadline_s=None)
    _, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.arrived == [False] * 3
    assert exchange.dense(4).reason == ["outage", "outage", "outage", "not_selected"]
    assert exchange.bits == 120.0


def test_the_circuit_draws_power_while_on_the_air(radio: Callable[..., Simulation]) -> None:
    """``E = (P + P_circuit) tau``: 2 W and 0.25 W for 1 s are 2.25 J of every sender, and 0 of others.

    With 16, 16 and 80 J of computing a round takes ``112 + 3 * 2.25 = 118.75`` J.
    """
    sim = radio(circuit_w=0.25, deadline_s=6.0)
    state, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.tx_j == pytest.approx([2.25, 2.25, 2.25])
    assert exchange.compute_j == pytest.approx([16.0, 16.0, 80.0])
    assert record.tx_j == pytest.approx([6.75])
    assert record.energy_j == pytest.approx(118.75)
    assert state.energy_j == pytest.approx(118.75)


def test_an_amplifier_draws_more_than_it_radiates(radio: Callable[..., Simulation]) -> None:
    """2 W for 1 s from an amplifier of 40 % are 5 J, with .25 W of circuit power 5.25 J."""
    sim = radio(circuit_w=0.25, pa_efficiency=0.4, deadline_s=6.0)
    _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.tx_j == pytest.approx([5.25, 5.25, 5.25])
    assert record.tx_j == pytest.approx([15.75])


def test_senders_wait_for_the_end_of_the_exchange(radio: Callable[..., Simulation]) -> None:
    """0 and 1 are done after 2 s, 2 would be after 6 s, and the receiver waits for it until the deadline: at .5 W the
    first two wait for 1 s. 2 computes 24 of its 40 cycles until then, 48 of 80 J, and does not wait. 3, which does not
    take part, uses nothing. The plan counts the same."""
    sim = radio(idle_w=0.5)
    state = begin(sim)
    planned, _ = plan_exchange(sim, state, start_tiers(sim.topology, state.memory), 0, Clock(0))
    _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.time_s == [3.0]
    assert exchange.wait_j == pytest.approx([0.5, 0.5, 0.0])
    assert exchange.dense(4).wait_j == pytest.approx([0.5, 0.5, 0.0, 0.0])
    assert exchange.joules == pytest.approx([18.5, 18.5, 48.0])
    assert record.wait_j == pytest.approx([1.0])
    assert record.energy_j == pytest.approx(80 + 4 + 1)
    joules = planned_j(planned)
    assert joules is not None
    assert joules.tolist() == pytest.approx([18.5, 18.5, 48.0, 0.0])


def test_plans_wait_for_the_deadline_though_the_exchange_may_end_before(radio: Callable[..., Simulation]) -> None:
    """With 10 s until the deadline all are in time, and the exchange ends after 6 s: 0 and 1 wait for 4 s at .5 W.
    Plans cannot know who else is there, and count 8, 8 and 4 s of waiting."""
    sim = radio(deadline_s=10.0, idle_w=0.5)
    state = begin(sim)
    planned, _ = plan_exchange(sim, state, start_tiers(sim.topology, state.memory), 0, Clock(0))
    _, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.wait_j == pytest.approx([2.0, 2.0, 0.0])
    joules = planned_j(planned)
    assert joules is not None
    assert joules.tolist() == pytest.approx([18 + 4.0, 18 + 4.0, 82 + 2.0, 0.0])


def test_devices_that_draw_no_power_while_waiting_have_no_record_of_it(radio: Callable[..., Simulation]) -> None:
    _, record, (exchange,) = run_round(*_started(radio()), evaluate=False)
    assert (record.wait_j, exchange.wait_j, exchange.dense(4).wait_j) == (None, None, None)


RAYLEIGH = {"link": digital(), "channel": urban_macro(fading="rayleigh")}
RADIO = {"link": digital(), "channel": urban_macro()}
AIR = {"link": over_the_air(symbol_rate_hz=1e6, power_unit_w=0.1), "channel": urban_macro()}


@pytest.mark.parametrize("radio", [{}, RADIO, RAYLEIGH, AIR], ids=["ideal", "digital", "fading", "air"])
@pytest.mark.parametrize(
    "policy",
    [fixed(steps=3), sampling(clients=2, steps=2), budget(max_steps=4), joint(clients=1, max_steps=4), per_client()],
    ids=lambda policy: type(policy).__name__.lower(),
)
@pytest.mark.parametrize("waits", ["slowest", "deadline"])
def test_energy_of_a_run_is_that_of_who_computed_sent_and_waited(
    policy: Policy, radio: dict[str, Any], waits: RoundClock
) -> None:
    """From what is on record of frequencies, powers, steps and seconds, by the formula of the energy, sender by sender.

    On the air the power is that of the payload: there the energy of sending is at least the circuit's, and senders
    also wait for each other before they send.
    """
    if policy.needs and "rate" not in radio.get("link", ideal()).offers:
        return
    powers = {"circuit_w": 0.3, "cpu_static_w": 0.2, "pa_efficiency": 0.5, "idle_w": 0.05, "energy_j": (50.0, 60.0)}
    sim = cells(policy=policy, deadline_s=3.0, clock=waits, fleet=partial(cellular, **powers), **radio)
    fleet = sim.hops[0].fleet
    assert fleet is not None
    cycles = fleet.cycles_per_bit * sim.stream.sample_bits * sim.rule.batch
    state, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    total = 0.0
    for each in exchanges:
        if each.hop:
            assert (each.compute_j, each.wait_j, sum(each.tx_j or [])) == (None, None, 0.0)
            continue
        assert each.time_s is not None
        assert each.seconds is not None
        assert each.cpu_hz is not None
        assert each.joules is not None
        for i, client in enumerate(each.ids):
            n = float(cycles[client]) * each.steps[i]
            computing_s = n / each.cpu_hz[i]
            computing = 1e-28 * n * each.cpu_hz[i] ** 2 + 0.2 * computing_s
            sending_s = each.seconds[i] - computing_s if each.uses is None else each.uses / 1e6
            sending = 0.3 * sending_s
            if each.power_w is not None:
                sending += each.power_w[i] / 0.5 * sending_s
            elif each.tx_j is not None:
                assert each.tx_j[i] >= sending * (1 - 1e-9)
                sending = each.tx_j[i]
            until_s = each.time_s[int(sim.topology.parents[0][client])]
            waiting = 0.05 * max(until_s - computing_s - sending_s, 0.0)
            if each.why[i] == "none":
                assert each.joules[i] == pytest.approx(computing + sending + waiting, rel=1e-6)
        total += sum(each.joules)
    assert record.energy_j == pytest.approx(total)
    assert state.energy_j == pytest.approx(total)
    assert total > 0


def test_silent_senders_need_no_time_on_the_air(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_gains: Callable[..., Channel],
) -> None:
    """A receiver waits for the symbols of its senders, and not at all if they are silent.

    4 numbers are 2 symbols, which take 2 s at 1 symbol/s. Client 0 reports to edge 0, computes for 1 s and sends until
    3 s; client 1 of edge 1 does not take part. Of the edges, which are ready after 3 s and at once, edge 1 has no news:
    edge 0 sends from 3 s to 5 s, and the server has it all then. Each vector uses the channel twice; if nobody takes
    part, nothing is used, and no time passes.
    """
    air = over_the_air(symbol_rate_hz=1.0, power_unit_w=1.0)
    below = Hop(air, turns([(0,)]), given_gains((1.0, 1.0), noise_w_hz=0.0), devices(1.0, 1.0))
    above = Hop(air, fixed(), given_gains((1.0, 1.0), noise_w_hz=0.0))
    sim = compose(
        topology=tree((0, 1), (0, 0)),
        hops=[below, above],
        stream=holding((1, 1)),
        model=logistic((1,), 2),
        algorithm=fedavg(),
        rule=sgd(batch=1),
    )
    _, record, (training, relay) = run_round(sim, begin(sim), evaluate=False)
    assert (training.ids, training.seconds, training.time_s) == ([0], [3.0], [3.0, 0.0])
    assert (relay.ids, relay.seconds, relay.time_s) == ([0], [5.0], [5.0])
    assert (relay.rest, relay.idle) == ("no_news", {})
    assert (training.uses, relay.uses) == (2.0, 2.0)
    assert record.time_s == 5.0
    silent = replace(sim, hops=(replace(below, policy=turns([()])), above))
    _, record, (training, relay) = run_round(silent, begin(silent), evaluate=False)
    assert (training.uses, relay.uses, record.time_s) == (0.0, 0.0, 0.0)


def test_nodes_are_ready_after_the_seconds_since_the_last_broadcast(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
) -> None:
    """Three hops, two exchanges of the middle one: the second begins when the first ended at the node.

    Clients 0 and 1 take 1 and 3 s for a step, and report to node A and B through edges of their own. So the first
    exchange of the middle hop ends after 1 and 3 s; the second, after as many more, at 2 and 6 s of the round, which
    lasts 6 s. If edges were late by all of the round so far, the second would take 2 and 6 s, and the round 9 s.
    """
    sim = compose(
        topology=tree((0, 1), (0, 1), (0, 0)),
        hops=[
            Hop(ideal(), turns([(0, 1), (0, 1)]), fleet=devices(1.0, 3.0)),
            Hop(ideal(), fixed(), period=2),
            Hop(ideal(), fixed()),
        ],
        stream=holding((1, 1)),
        model=logistic((1,), 2),
        algorithm=fedavg(),
        rule=sgd(batch=1),
    )
    _, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    assert [exchange.hop for exchange in exchanges] == [0, 1, 0, 1, 2]
    assert [exchange.time_s for exchange in exchanges] == [[1.0, 3.0]] * 4 + [[6.0]]
    assert exchanges[4].seconds == [2.0, 6.0]
    assert [exchange.now_s for exchange in exchanges] == [0.0, 0.0, 3.0, 3.0, 0.0]
    assert record.time_s == 6.0


def test_planned_joules_are_those_of_the_senders(radio: Callable[..., Simulation]) -> None:
    """The same joules before anything is sent; a client that is not selected computes and sends nothing."""
    sim = radio(circuit_w=0.25, deadline_s=6.0)
    state = begin(sim)
    planned, _ = plan_exchange(sim, state, start_tiers(sim.topology, state.memory), 0, Clock(0))
    joules = planned_j(planned)
    assert joules is not None
    assert joules.tolist() == pytest.approx([18.25, 18.25, 82.25, 0.0])


@pytest.mark.parametrize(
    ("algorithm", "unlabelled", "passes"),
    [
        (fedavg(), 3, 1.0),
        (apfl(), 3, 2.0),
        (fedcpsl(unlabelled_batch=3), 3, 9.0),
        (fedcpsl(unlabelled_batch=3), 0, 2.0),
        (fedcpsl(unlabelled_batch=3, pseudo_on="labelled"), 0, 9.0),
    ],
    ids=["one_model", "pair", "pair_with_unlabelled", "pair_without_unlabelled", "control"],
)
def test_training_passes_are_computed_and_paid(
    algorithm: Algorithm,
    unlabelled: int,
    passes: float,
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
) -> None:
    """``n = c D passes`` cycles a step, ``n/f`` seconds, ``zeta/2 n f^2`` joules (RawHFL, (10) and (11)).

    One labelled sample of 8 bits a step, at 1 and 3 cycles per bit: 8 and 24 cycles a pass. An own model beside the
    shared one is a second pass. Three unlabelled samples make it ``2 (1 + 3)`` passes, and their pseudo-labels, each a
    third of a pass, ``3/3`` more; a client that has none pays nothing for them. Two steps at 8 Hz take ``2 * 8/8 = 2``
    s a pass, and ``2 * 8 * 2 = 32`` J.
    """
    sim = compose(
        topology=tree((0, 0)),
        hops=[Hop(ideal(), turns([(0, 1)], steps=2), fleet=devices(1.0, 3.0))],
        stream=holding((2, 2), unlabelled=(unlabelled, unlabelled)),
        model=logistic((1,), 2),
        algorithm=algorithm,
        rule=sgd(batch=1),
    )
    _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.notes["cycles"].values == pytest.approx([8.0 * passes, 24.0 * passes])
    assert exchange.seconds == pytest.approx([2.0 * passes, 6.0 * passes])
    assert exchange.compute_j == pytest.approx([32.0 * passes, 96.0 * passes])
    assert record.time_s == pytest.approx(6.0 * passes)
    assert record.compute_j == pytest.approx(128.0 * passes)


def test_a_shared_model_that_rests_costs_its_forward_pass(
    tree: Callable[..., Topology], turns: Callable[..., Policy], holding: Callable[..., Stream]
) -> None:
    """From round 1 on only the own model is trained: 2 passes in round 0, then ``1 + 1/3``, of 8 cycles each."""
    sim = compose(
        topology=tree((0,)),
        hops=[Hop(ideal(), turns([(0,)]), fleet=devices(1.0))],
        stream=holding((1,)),
        model=logistic((1,), 2),
        algorithm=apfl(finetune_after=1),
        rule=sgd(batch=1),
    )
    state, _, (first,) = run_round(sim, begin(sim), evaluate=False)
    _, _, (second,) = run_round(sim, state, evaluate=False)
    assert first.notes["cycles"].values == pytest.approx([16.0])
    assert second.notes["cycles"].values == pytest.approx([32.0 / 3.0])


def test_an_epoch_sees_every_labelled_sample(tree: Callable[..., Topology], holding: Callable[..., Stream]) -> None:
    """``epoch = ceil(labelled / (batch updates_per_step))`` local steps; of all samples where none has a label.

    A step is 2 updates of 2 samples. By hand: 1, 4, 5, 8 and 9 labelled samples are 1, 1, 2, 2 and 3 steps; 2 labelled
    beside 7 others 1 step; 5 samples without labels 2 steps, which a client cannot take where labels are needed.
    """
    sim = compose(
        topology=tree((0,) * 7),
        hops=[Hop(ideal(), fixed(epochs=1))],
        stream=holding((1, 4, 5, 8, 9, 2, 0), unlabelled=(0, 0, 0, 0, 0, 7, 5)),
        model=logistic((1,), 2),
        algorithm=fedavg(),
        rule=sgd(batch=2, updates_per_step=2),
    )
    state = begin(sim)
    assert state.signals["epoch_steps"].tolist() == [1, 1, 2, 2, 3, 1, 2]
    _, _, (exchange,) = run_round(sim, state, evaluate=False)
    assert exchange.steps == [1, 1, 2, 2, 3, 1]
    assert exchange.dense(7).reason == ["none"] * 6 + ["no_data"]


def test_null_where_undefined() -> None:
    state, record, (exchange,) = run_round(*_started(tiny()), evaluate=True)
    assert record.time_s is None
    assert record.energy_j is None
    assert record.compute_j is None
    assert record.tx_j == [0.0]
    assert exchange.seconds is None
    assert exchange.time_s is None
    size = tiny().model.shared.size
    assert record.bits == [6 * 32 * size]
    assert (state.time_s, state.energy_j, state.bits) == (None, None, record.bits[0])


def test_seconds_are_the_slowest_edges_sum() -> None:
    _, record, exchanges = run_round(*_started(cells(policy=fixed(steps=(1, 9)))), evaluate=False)
    hop0 = [e for e in exchanges if e.hop == 0]
    per_edge = [[max(e.seconds[i] for i in members) for e in hop0] for members in ([0, 1, 2], [3, 4, 5])]  # type: ignore[index]
    assert record.time_s == pytest.approx(max(map(sum, per_edge)))
    assert record.time_s < sum(max(pair) for pair in zip(*per_edge, strict=True)) or len(set(map(tuple, per_edge))) == 1
    assert record.compute_j == pytest.approx(sum(sum(e.compute_j or []) for e in hop0))
    assert [e.e for e in hop0] == [0, 1]


def test_deadline_clock_and_reasons() -> None:
    """Computing takes steps * cycles / f; a deadline between the fastest and the slowest loses some clients."""
    _, _, free = run_round(*_started(cells()), evaluate=False)
    times = sorted(free[0].seconds or [])
    deadline = (times[2] + times[3]) / 2
    sim = cells(clock="deadline", deadline_s=deadline)
    _, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    first = exchanges[0]
    assert sum(first.arrived) == 3
    assert first.ids == list(range(6))
    late = [reason for reason, arrived in zip(first.why, first.arrived, strict=True) if not arrived]
    assert late == ["deadline"] * 3
    assert first.time_s == [deadline, deadline]
    assert record.time_s == pytest.approx(2 * deadline)
    waiting = cells(deadline_s=deadline)
    _, _, slowest = run_round(waiting, begin(waiting), evaluate=False)
    assert max(slowest[0].time_s or []) <= deadline
    assert sim.warnings


def test_records_are_plain_data() -> None:
    _, record, exchanges = run_round(*_started(cells()))
    for item in (record, *exchanges):
        for value in asdict(item).values():
            assert not isinstance(value, Tensor)


def _started(sim: Simulation) -> tuple[Simulation, SimState]:
    return sim, begin(sim)


def test_time_passes_though_nobody_trains() -> None:
    """With the deadline clock a round lasts its edge rounds, also where no client can afford a step."""
    radio = {"link": digital(), "channel": urban_macro(), "fleet": partial(cellular, energy_j=(0, 0))}
    sim = cells(clock="deadline", deadline_s=150.0, policy=budget(), **radio)
    state, record, exchanges = run_round(sim, begin(sim), evaluate=False)
    assert not any(exchange.ids for exchange in exchanges)
    assert record.time_s == 300.0
    assert record.energy_j == 0.0
    assert record.train_loss is None
    assert state.time_s == 300.0


@pytest.fixture
def forwarding(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_gains: Callable[..., Channel],
    given_losses: Callable[..., Link],
) -> Callable[..., Simulation]:
    """Clients that send 4 numbers over nodes that pass on every payload, one after the other.

    A client's payload is lost on hop 0 if it is among ``lost``. A forwarded payload has 40 bits, which take 1 s and 2 J
    on a hop above.
    """

    def make(
        *parents: tuple[int, ...], lost: tuple[int, ...] = (), transforms: tuple[Transform, ...] = ()
    ) -> Simulation:
        clients = len(parents[0])
        below = Hop(given_losses(*lost), turns([range(clients)]), transforms=transforms)
        above = [
            Hop(
                digital(bandwidth_hz=40.0, bits_per_value=10.0),
                fixed(),
                given_gains([1.0] * len(parent), noise_w_hz=2.0 / 40.0),
                devices(*[1.0] * len(parent)),
            )
            for parent in parents[1:]
        ]
        return compose(
            topology=replace(tree(*parents), forwards=True),
            hops=[below, *above],
            stream=holding([1] * clients),
            model=logistic((1,), 2),
            algorithm=fedavg(),
            rule=sgd(batch=1),
        )

    return make


def test_a_node_sends_and_pays_for_every_payload_that_it_forwards(forwarding: Callable[..., Simulation]) -> None:
    """Of clients 0, 1, 2 of mast 0 and 3 of mast 1, 1 is lost: masts carry 2 and 1 payloads, for 2 and 1 s, 4 and 2 J.

    Without a fleet of the clients, the seconds from the broadcast on are unknown, but those on the air are paid.
    """
    sim = forwarding((0, 0, 0, 1), (0, 0), lost=(1,))
    _, record, (_, relay) = run_round(sim, begin(sim), evaluate=False)
    assert relay.bits == 120.0
    assert relay.tx_j == pytest.approx([4.0, 2.0])
    below = replace(sim.hops[0], fleet=devices(1.0, 1.0, 1.0, 1.0))
    timed = replace(sim, hops=(below, sim.hops[1]))
    _, record, (_, relay) = run_round(timed, begin(timed), evaluate=False)
    assert relay.seconds == pytest.approx([1.0 + 2.0, 1.0 + 1.0])
    assert record.time_s == pytest.approx(3.0)
    assert record.bits[1] == 120.0


def test_forwarded_payloads_are_late_together(forwarding: Callable[..., Simulation]) -> None:
    """With a deadline of 1.5 s mast 0 gives up in its second payload, after 3 J, and mast 1 is in time."""
    sim = forwarding((0, 0, 1), (0, 0))
    hops = (replace(sim.hops[0], fleet=devices(0.0, 0.0, 0.0)), replace(sim.hops[1], deadline_s=1.5))
    _, _, (_, relay) = run_round(replace(sim, hops=hops), begin(sim), evaluate=False)
    assert relay.arrived == [False, True]
    assert relay.tx_j == pytest.approx([3.0, 2.0])


def test_three_hops_forward_payloads_and_not_nodes(forwarding: Callable[..., Simulation]) -> None:
    """5 clients, 3 masts, 2 regions: masts carry 2, 1 and 2 payloads, regions 3 and 2; a node that hears of none rests.

    With 1 of mast 0 and 3, 4 of mast 2 lost it is 1, 1 and none; region 0 carries both.
    """
    parents = ((0, 0, 1, 2, 2), (0, 0, 1), (0, 0))
    sim = forwarding(*parents)
    _, record, (_, masts, regions) = run_round(sim, begin(sim), evaluate=False)
    assert (masts.bits, regions.bits) == (200.0, 200.0)
    assert masts.tx_j == pytest.approx([4.0, 2.0, 4.0])
    assert regions.tx_j == pytest.approx([6.0, 4.0])
    sim = forwarding(*parents, lost=(1, 3, 4))
    _, record, (_, masts, regions) = run_round(sim, begin(sim), evaluate=False)
    assert (masts.ids, masts.tx_j) == ([0, 1], pytest.approx([2.0, 2.0]))
    assert (regions.ids, regions.bits, regions.tx_j) == ([0], 80.0, pytest.approx([4.0]))
    assert record.bits[1:] == [80.0, 80.0]


def test_payloads_are_forwarded_as_their_clients_coded_them(forwarding: Callable[..., Simulation]) -> None:
    """Half of 4 numbers at 8 bits, two places of 2 bits and a scale of 32: 52 bits a payload."""
    sim = forwarding((0, 0, 1), (0, 0), transforms=(top_k(share=0.5), quantise(bits=8)))
    _, _, (_, relay) = run_round(sim, begin(sim), evaluate=False)
    assert relay.bits == 3 * 52.0
    assert relay.tx_j == pytest.approx([2 * 2.0 * 52 / 40, 2.0 * 52 / 40])

"""Outer hops weigh every node by the mass that has arrived since it last handed its result up, losses on any hop
included; coded payloads are planned, counted and kept as they are heard; receivers that remember always step."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from support.worlds import tiny

from fedradio.algorithms.fedavg import fedavg
from fedradio.algorithms.scaffold import scaffold
from fedradio.algorithms.variates import variate_measures
from fedradio.core.contracts import (
    Algorithm,
    Backend,
    Coded,
    ExchangeRecord,
    Hop,
    Link,
    Policy,
    Sent,
    Slots,
    Stream,
    Topology,
    Transform,
    View,
)
from fedradio.core.rng import Rng
from fedradio.engine.rules import sgd
from fedradio.links.ideal import ideal
from fedradio.models.zoo import logistic
from fedradio.policies.fixed import fixed
from fedradio.receivers.momentum import momentum
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation, compose
from fedradio.transforms.quantise import quantise
from fedradio.transforms.sparsify import random_k, top_k


def one_round(
    topology: Topology,
    policy: Policy,
    periods: list[int],
    stream: Stream,
    backend: Backend,
    *,
    links: Sequence[Link] | None = None,
    algorithm: Algorithm | None = None,
) -> tuple[list[float], list[ExchangeRecord]]:
    """The server's params after a round from 0, averaging with the numbers of samples as masses; and the exchanges.

    All ``links`` are ideal unless given.
    """
    policies = [policy, *[fixed() for _ in periods[1:]]]
    chosen = zip(links or [ideal()] * len(periods), policies, periods, strict=True)
    sim = compose(
        topology=topology,
        hops=[Hop(link, decides, period=period) for link, decides, period in chosen],
        stream=stream,
        model=logistic((1,), 2),
        algorithm=algorithm or fedavg(),
        rule=sgd(),
    )
    sim = replace(sim, backend=backend)
    state, _, exchanges = run_round(sim, begin(sim), evaluate=False)
    return state.memory.shared["w"].tolist(), exchanges


def test_masses_of_all_edge_rounds_count(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
) -> None:
    """``w = sum_e M_e D_e / sum_e M_e``; an edge's mass ``M_e`` and change ``D_e`` add up over its edge rounds.

    Clients 0 and 1 report to edge 0, client 2 to edge 1. They have 1, 2 and 1 samples and change by 1, 2 and 4. Clients
    0 and 2 take part in the first edge round, 1 and 2 in the second. By hand: ``M = (1 + 2, 1 + 1) = (3, 2)``,
    ``D = (1 + 2, 4 + 4) = (3, 8)`` and ``w = (3*3 + 2*8) / 5 = 5``. With the masses of the last edge round alone,
    (2, 1), it would be 14/3.
    """
    w, exchanges = one_round(
        tree((0, 0, 1), (0, 0)), turns([(0, 2), (1, 2)]), [2, 1], holding((1, 2, 1)), given_changes((1.0, 2.0, 4.0))
    )
    assert [exchange.hop for exchange in exchanges] == [0, 0, 1]
    assert w == pytest.approx([5.0] * 4)
    assert exchanges[-1].effective == pytest.approx([25 / 13])  # of shares .6 and .4


def test_masses_begin_at_0_after_every_hand_up(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
) -> None:
    """Three hops: an edge hands up twice a round, and each time only what has arrived since the last time.

    Clients 0, 1 and 2 have edges 0, 1 and 2 of their own; edges 0 and 1 report to node A, edge 2 to node B, A and B to
    the server. The clients have 1, 2 and 4 samples and change by 3, 6 and 2. Clients 0 and 2 take part before the first
    exchange of the middle hop, 0 and 1 before the second. By hand: first A moves by 3 and B by 2, with masses 1 and 4;
    then A by ``(1*3 + 2*6) / 3 = 5`` with mass 3, and edge 2 has no news. So ``D = (8, 2)``, ``M = (1 + 3, 4)`` and
    ``w = (4*8 + 4*2) / 8 = 5``. If edges kept their masses, A would move by ``(2*3 + 2*6) / 4`` the second time, and
    edge 2 would hand up its 4 again.
    """
    w, exchanges = one_round(
        tree((0, 1, 2), (0, 0, 1), (0, 0)),
        turns([(0, 2), (0, 1)]),
        [1, 2, 1],
        holding((1, 2, 4)),
        given_changes((3.0, 6.0, 2.0)),
    )
    assert [exchange.hop for exchange in exchanges] == [0, 1, 0, 1, 2]
    assert w == pytest.approx([5.0] * 4)
    second, last = exchanges[3], exchanges[4]
    assert second.ids == [0, 1]
    assert second.dense(3).reason == ["none", "none", "no_news"]
    assert second.effective == pytest.approx([9 / 5, 0.0])  # of shares 1/3 and 2/3
    assert last.effective == pytest.approx([2.0])  # of equal shares


def test_a_relay_that_is_lost_has_no_weight(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
    given_losses: Callable[..., Link],
) -> None:
    """The mean is over the masses of the relays that arrive; the bits are those of all that were sent.

    Clients 0, 1 and 2 have edges 0, 1 and 2 of their own, 1, 2 and 4 samples, and change by 3, 6 and 2. The relay of
    edge 2 is lost. By hand: ``w = (1*3 + 2*6) / 3 = 5``. If edge 2's mass still divided, it would be 15/7.
    """
    w, exchanges = one_round(
        tree((0, 1, 2), (0, 0, 0)),
        turns([(0, 1, 2)]),
        [1, 1],
        holding((1, 2, 4)),
        given_changes((3.0, 6.0, 2.0)),
        links=[ideal(), given_losses(2)],
    )
    assert w == pytest.approx([5.0] * 4)
    relay = exchanges[1]
    assert (relay.ids, relay.arrived) == ([0, 1, 2], [True, True, False])
    assert relay.why == ["none", "none", "outage"]
    assert relay.effective == pytest.approx([9 / 5])  # of shares 1/3 and 2/3
    assert relay.bits == 3 * 4 * 32.0


def test_masses_are_those_of_the_clients_that_arrive(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
    given_losses: Callable[..., Link],
) -> None:
    """Clients 0 and 1 report to edge 0, client 2 to edge 1; they have 1, 2 and 3 samples and change by 4, 9 and 8. The
    payload of client 1 is lost: ``w = (1*4 + 3*8) / 4 = 7``, and 6 if its samples counted."""
    w, exchanges = one_round(
        tree((0, 0, 1), (0, 0)),
        turns([(0, 1, 2)]),
        [1, 1],
        holding((1, 2, 3)),
        given_changes((4.0, 9.0, 8.0)),
        links=[given_losses(1), ideal()],
    )
    assert w == pytest.approx([7.0] * 4)
    assert exchanges[0].effective == pytest.approx([1.0, 1.0])
    assert exchanges[1].effective == pytest.approx([8 / 5])  # of shares 1/4 and 3/4


def test_masses_of_lost_relays_are_handed_up_by_nobody(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
    given_losses: Callable[..., Link],
) -> None:
    """Three hops with a loss on each outer hop: a node's mass is that of the relays that reached it.

    Clients 0 to 3 have edges 0 to 3 of their own; edges 0 and 1 report to node A, edge 2 to B, edge 3 to C, and all
    nodes to the server. The clients have 1, 2, 3 and 5 samples and change by 4, 9, 8 and 9. Lost are the relay of edge
    1 to A, and that of C to the server. By hand: A moves by 4 with mass 1, B by 8 with mass 3, and
    ``w = (1*4 + 3*8) / 4 = 7``. If A's mass counted edge 1, it would be ``(3*4 + 3*8) / 6 = 6``; if C's divided,
    ``28/9``.
    """
    w, exchanges = one_round(
        tree((0, 1, 2, 3), (0, 0, 1, 2), (0, 0, 0)),
        turns([(0, 1, 2, 3)]),
        [1, 1, 1],
        holding((1, 2, 3, 5)),
        given_changes((4.0, 9.0, 8.0, 9.0)),
        links=[ideal(), given_losses(1), given_losses(2)],
    )
    assert [exchange.hop for exchange in exchanges] == [0, 1, 2]
    assert w == pytest.approx([7.0] * 4)
    assert exchanges[1].effective == pytest.approx([1.0, 1.0, 1.0])
    assert exchanges[2].arrived == [True, True, False]
    assert exchanges[2].effective == pytest.approx([8 / 5])  # of shares 1/4 and 3/4


def test_fixed_shares_do_not_grow_when_relays_are_lost(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
    given_losses: Callable[..., Link],
) -> None:
    """Relays at fixed shares, of all clients below a node: what is lost is missing, and nobody takes its place. Links
    that may lose are refused there; this one, as any of a user's own might, does not say so.

    Clients 0 to 3 have edges 0 to 3 of their own; edges 0 and 1 report to node A, 2 to B, 3 to C. The clients have 1,
    3, 2 and 2 samples and change by 4, 8, 6 and 9; the relays of edge 1 and of C are lost. By hand: A moves by
    ``1/4 * 4 = 1``, and the server, with masses 4, 2 and 2, by ``1/2 * 1 + 1/4 * 6 = 2``. If lost relays kept their
    weights, A would move by ``1 + 3/4 * 8 = 7``, and the server by 7/2 + 6/4 + 9/4; as shares of those that arrived, A
    by 4.
    """
    w, exchanges = one_round(
        tree((0, 1, 2, 3), (0, 0, 1, 2), (0, 0, 0)),
        turns([(0, 1, 2, 3)]),
        [1, 1, 1],
        holding((1, 3, 2, 2)),
        given_changes((4.0, 8.0, 6.0, 9.0)),
        links=[ideal(), given_losses(1), given_losses(2)],
        algorithm=fedavg(normalise="selected"),
    )
    assert w == pytest.approx([2.0] * 4)
    assert exchanges[2].effective == pytest.approx([9 / 5])  # of shares 1/2 and 1/4


class Shorter(Transform):
    """Payloads as they are, in fewer bits than foreseen: 10 and as many more as the sender's number."""

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        return Coded(sent.payload, bits=10.0 + sent.ids.double())


def coded(sim: Simulation, *transforms: Transform) -> Simulation:
    """The same with these transforms on hop 0."""
    return replace(sim, hops=(replace(sim.hops[0], transforms=transforms), *sim.hops[1:]))


def test_bits_are_those_of_the_coded_payload_or_the_fewer_that_were_sent() -> None:
    """The largest tenth of d numbers at 4 bits, places and scale, of six clients; then 10 to 15 bits."""
    sim = tiny()
    chain = (top_k(share=0.1), quantise(bits=4))
    message = sim.message(0)
    for transform in chain:
        message = transform.message(message)
    _, record, _ = run_round(coded(sim, *chain), begin(sim), evaluate=False)
    assert record.bits == [6 * message.bits(32.0)]
    _, record, _ = run_round(coded(sim, Shorter()), begin(sim), evaluate=False)
    assert record.bits == [75.0]
    few = coded(sim, Shorter(), quantise(bits=4))
    few = replace(few, hops=(replace(few.hops[0], link=ideal(bits_per_value=1e-4)),))
    _, record, _ = run_round(few, begin(sim), evaluate=False)
    assert record.bits == [75.0]  # a coder behind it foresees more


def test_clients_keep_what_was_heard_of_those_that_arrived() -> None:
    """The receivers' control variate stays the mean of the clients', behind a coarse code of half of the numbers."""
    sim = coded(tiny(algorithm=scaffold()), random_k(share=0.5), quantise(bits=3))
    state = begin(sim)
    for _ in range(2):
        state, _, _ = run_round(sim, state, evaluate=False)
    measures = variate_measures(state.memory, torch.ones(6).double())
    assert measures["variate_norm"] > 0
    assert measures["variate_error"] < 1e-5


def test_receivers_that_remember_step_even_if_nobody_is_heard(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
) -> None:
    """Momentum .5 on remembered changes of 1: steps 1, then 1.5 although nobody takes part."""
    sim = compose(
        topology=tree((0, 0)),
        hops=[Hop(ideal(), turns([(0, 1)]), receiver=momentum(beta=0.5))],
        stream=holding((1, 1)),
        model=logistic((1,), 2),
        algorithm=fedavg(buffer="gradients"),
        rule=sgd(),
    )
    sim = replace(sim, backend=given_changes((1.0, 1.0)))
    state, _, _ = run_round(sim, begin(sim), evaluate=False)
    assert state.memory.shared["w"].tolist() == pytest.approx([1.0] * 4)
    silent = replace(sim, hops=(replace(sim.hops[0], policy=turns([()])),))
    state, _, _ = run_round(silent, state, evaluate=False)
    assert state.memory.shared["w"].tolist() == pytest.approx([2.5] * 4)


def test_receivers_that_hear_nobody_keep_model_and_momentum(
    tree: Callable[..., Topology],
    turns: Callable[..., Policy],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
    given_losses: Callable[..., Link],
) -> None:
    """Momentum .5 on changes of 1: a step of 1; none when the only payload is lost; then of 1.5, as if nothing had been
    sent in between."""
    hop = Hop(ideal(), turns([(0,)]), receiver=momentum(beta=0.5))
    sim = compose(
        topology=tree((0,)),
        hops=[hop],
        stream=holding((1,)),
        model=logistic((1,), 2),
        algorithm=fedavg(),
        rule=sgd(),
    )
    sim = replace(sim, backend=given_changes((1.0,)))
    state, reached = begin(sim), []
    for link in (ideal(), given_losses(0), ideal()):
        state, _, _ = run_round(replace(sim, hops=(replace(hop, link=link),)), state, evaluate=False)
        reached.append(float(state.memory.shared["w"][0]))
    assert reached == pytest.approx([1.0, 1.0, 2.5])

"""Outer hops weigh every node by the mass that has arrived since it last handed its result up."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from fedradio.algorithms.fedavg import fedavg
from fedradio.core.contracts import Backend, ExchangeRecord, Hop, Policy, Stream, Topology
from fedradio.engine.rules import sgd
from fedradio.links.ideal import ideal
from fedradio.models.zoo import logistic
from fedradio.policies.fixed import fixed
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import compose


def one_round(
    topology: Topology, policy: Policy, periods: list[int], stream: Stream, backend: Backend
) -> tuple[list[float], list[ExchangeRecord]]:
    """The server's params after a round from 0, averaging with the numbers of samples as masses; and the exchanges."""
    policies = [policy, *[fixed() for _ in periods[1:]]]
    sim = compose(
        topology=topology,
        hops=[Hop(ideal(), chosen, period=period) for chosen, period in zip(policies, periods, strict=True)],
        stream=stream,
        model=logistic((1,), 2),
        algorithm=fedavg(),
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

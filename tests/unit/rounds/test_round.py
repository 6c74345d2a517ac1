"""Neutral elements of a round."""

from dataclasses import replace
from functools import partial

import torch
from support.worlds import after, cells, tiny
from torch import Tensor

from fedradio.algorithms.fedavg import fedavg, fedprox
from fedradio.algorithms.fednova import fednova
from fedradio.algorithms.scaffold import scaffold
from fedradio.data.partition import dirichlet
from fedradio.engine.rules import sgd
from fedradio.engine.schedules import linear
from fedradio.models.zoo import logistic
from fedradio.network.topology import hierarchical
from fedradio.policies.fixed import fixed
from fedradio.rounds.round import begin, order, run_round
from fedradio.rounds.simulation import Simulation

SKEWED = partial(dirichlet, alpha=0.5)


def weights_after(sim: Simulation, rounds: int = 2) -> Tensor:
    return after(sim, rounds).memory.shared["w"]


def test_one_plain_round_by_hand() -> None:
    """FedAvg after one full-batch step of every client is one gradient step on the pooled data."""
    sim = tiny(rule=sgd(lr=0.1, batch=2000), policy=fixed(steps=1), model=logistic, algorithm=fedavg())
    w = after(sim, 1).memory.shared["w"]
    tape = sim.stream.draw(sim.stream.start(), torch.arange(6), torch.ones(6).long(), 2000, sim.rng)
    index = torch.cat([tape.labelled.index[c, 0, : tape.labelled.count[c, 0]] for c in range(6)])
    x, y = tape.fetch(index)
    x = x.flatten(1).double()
    residual = torch.full((len(y), 10), 0.1, dtype=torch.float64)  # zero weights: uniform probabilities
    residual[torch.arange(len(y)), y] -= 1
    gradient = torch.cat(((residual.T @ x).flatten(), residual.sum(dim=0))) / len(y)
    assert torch.allclose(w.double(), -0.1 * gradient, atol=1e-7)


def test_one_edge_with_period_one_is_flat() -> None:
    flat = weights_after(tiny())
    edge = weights_after(cells(topology=partial(hierarchical, edges=1, clients_per_edge=6), fleet=None, period=1))
    assert torch.allclose(edge, flat, rtol=1e-6, atol=1e-8)


def test_edges_with_period_one_are_flat_when_weighed_by_what_arrived() -> None:
    """Unequal clients in three cells: mean of cell means with arrived masses is the mean over all."""
    flat = weights_after(tiny(partition=SKEWED))
    three = partial(hierarchical, edges=3, clients_per_edge=2)
    edges = weights_after(cells(topology=three, partition=SKEWED, fleet=None, period=1))
    assert torch.allclose(edges, flat, rtol=1e-5, atol=1e-7)


def test_neutral_elements_bit_for_bit() -> None:
    plain = weights_after(tiny(algorithm=fedavg(weighting="equal")))
    prox = weights_after(tiny(algorithm=fedprox(mu=0, weighting="equal")))
    assert torch.equal(plain, prox)
    one = tiny(algorithm=fedavg(weighting="equal")), tiny(algorithm=scaffold())
    assert torch.equal(weights_after(one[0], 1), weights_after(one[1], 1))  # variates are zero in the first round
    assert not torch.equal(weights_after(one[0], 2), weights_after(one[1], 2))


def test_workers_and_repetition_do_not_change_a_bit() -> None:
    first, again, three = (after(tiny(policy=fixed(steps=(1, 7)), partition=SKEWED, workers=n)) for n in (1, 1, 3))
    assert torch.equal(first.memory.shared["w"], again.memory.shared["w"])
    assert torch.equal(first.memory.shared["w"], three.memory.shared["w"])


def test_a_rate_of_zero_moves_nothing() -> None:
    fading = replace(sgd(lr=0.1, batch=16), schedule=linear(rounds=1))
    for algorithm in (fedavg(), scaffold(), fednova()):
        sim = tiny(algorithm=algorithm, rule=fading)
        one = after(sim, 1).memory.shared["w"]
        assert torch.equal(after(sim, 3).memory.shared["w"], one)


def test_the_order_of_exchanges_by_hand() -> None:
    assert list(order(cells(period=2))) == [0, 0, 1]
    assert list(order(tiny())) == [0]
    sim = cells(period=3)
    _, _, exchanges = run_round(sim, begin(sim))
    assert [record.hop for record in exchanges] == list(order(sim)) == [0, 0, 0, 1]

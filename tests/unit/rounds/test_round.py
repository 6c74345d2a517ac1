"""Neutral elements of a round, and the randomness of its exchanges."""

from dataclasses import dataclass, field, replace
from functools import partial

import torch
from support.worlds import after, cells, tiny
from torch import Tensor

from fedradio.algorithms.fedavg import fedavg, fedprox
from fedradio.algorithms.fednova import fednova
from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import (
    Airtime,
    Allocation,
    Channel,
    ChannelState,
    Coded,
    Delivery,
    Exchange,
    Hop,
    Policy,
    Sent,
    Site,
    Slots,
    Trained,
    TrainJob,
    Transform,
    View,
)
from fedradio.core.rng import Rng
from fedradio.data.partition import dirichlet
from fedradio.engine import Engine
from fedradio.engine.rules import sgd
from fedradio.engine.schedules import linear
from fedradio.links.ideal import Ideal
from fedradio.models.zoo import logistic
from fedradio.network.topology import hierarchical
from fedradio.policies.effort import effort
from fedradio.policies.fixed import Fixed, fixed
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


@dataclass(frozen=True)
class NotingPolicy(Policy):
    """Everybody takes part; it notes the keys of the generators that it is given, as the parts below."""

    keys: list[int] = field(default_factory=list)

    @property
    def everyone(self) -> bool:
        return True

    def decide(self, view: View, state: Slots, rng: Rng) -> tuple[Allocation, Slots]:
        self.keys.append(rng.key())
        return Fixed(effort(1, None)).decide(view, state, rng)


@dataclass(frozen=True)
class NotingLink(Ideal):
    keys: list[int] = field(default_factory=list)

    def plan(self, x: Exchange, state: Slots, rng: Rng) -> Airtime:
        self.keys.append(rng.key())
        return super().plan(x, state, rng)

    def combine(self, x: Exchange, airtime: Airtime, sent: Sent, state: Slots, rng: Rng) -> tuple[Delivery, Slots]:
        self.keys.append(rng.key())
        return super().combine(x, airtime, sent, state, rng)


@dataclass(frozen=True)
class NotingTransform(Transform):
    keys: list[int] = field(default_factory=list)

    def encode(self, x: View, sent: Sent, mine: Slots, rng: Rng) -> Coded:
        self.keys.append(rng.key())
        return Coded(sent.payload)


@dataclass(frozen=True)
class NotingChannel(Channel):
    keys: list[int] = field(default_factory=list)

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        self.keys.append(rng.key())
        gain = torch.ones(len(site.receivers_m), len(site.senders_m), dtype=torch.float64)
        return ChannelState(gain, noise_w_hz=1.0), state


class NotingBackend(Engine):
    def __init__(self, keys: list[int]) -> None:
        super().__init__(1)
        self.keys = keys

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        self.keys.append(job.rng.key())
        return super().train(job, groups)


def test_no_two_parts_share_a_generator_and_none_draws_twice_from_one() -> None:
    """Two rounds of two edge rounds and a relay are six exchanges. In each, the policy, the link's plan and its noise
    and two transforms draw for themselves; in four, clients draw mini-batches. A hop's channel names the time itself,
    so that it can keep what lasts: it is given one generator a hop."""
    keys, channels = list[int](), list[int]()
    link, policy, channel = NotingLink(32.0, keys), NotingPolicy(keys), NotingChannel(channels)
    hop = Hop(link, policy, channel, transforms=(NotingTransform(keys), NotingTransform(keys)))
    after(replace(cells(backend=NotingBackend(keys)), hops=(replace(hop, period=2), hop)), 2)
    assert len(keys) == 6 * 5 + 4
    assert len(set(keys)) == len(keys)
    assert len(channels) == 6
    assert len({*channels}) == 2
    assert channels[:3] == channels[3:]
    assert channels[0] == channels[1] != channels[2]

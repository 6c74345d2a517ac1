"""Norm layers on the side channel: averaged with the weights of the payload, counted, and what is evaluated."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest
import torch
from support.worlds import cells, tiny
from torch import nn

from fedradio.algorithms.fedavg import fedavg
from fedradio.core.contracts import Backend, Channel, Fleet, Hop, Link, Memory, Stream, Topology
from fedradio.core.rng import Rng
from fedradio.engine.rules import sgd
from fedradio.links.ideal import ideal
from fedradio.links.over_the_air import over_the_air
from fedradio.models.model import FlatModel, wrap
from fedradio.network.topology import hierarchical
from fedradio.policies.fixed import fixed
from fedradio.rounds.norm_layers import LOCAL, NORMS, averaged_norms, global_norms, without_norms
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation, compose

AIR = over_the_air(symbol_rate_hz=1e6, power_unit_w=1.0)


def with_norms(sim: Simulation, norms: str) -> Simulation:
    first, second = nn.Linear(64, 12), nn.Linear(12, 10)
    module = nn.Sequential(nn.Flatten(), first, nn.BatchNorm1d(12), nn.ReLU(), second)
    for layer in (first, second):
        nn.init.uniform_(layer.weight, -0.2, 0.2, generator=Rng(1).torch())
        nn.init.zeros_(layer.bias)
    return replace(sim, model=wrap(module, sim.stream.shape, 10, norms))  # type: ignore[arg-type]


def test_mean_by_hand() -> None:
    """Edge 0 hears 2 (weight .25) and 6 (weight .75), edge 1 nobody: 5, and what it had."""
    own, rows, weight = torch.tensor([[1.0], [9.0]]), torch.tensor([[2.0], [6.0]]), torch.tensor([0.5, 1.5]).double()
    assert averaged_norms(own, rows, weight, torch.tensor([0, 0])).tolist() == [[5.0], [9.0]]


def test_the_global_models_are_the_averaged_ones_or_the_clients_mean() -> None:
    sent, kept = torch.tensor([7.0]), torch.tensor([[1.0], [3.0]])
    assert global_norms(Memory({NORMS: sent})) is sent
    assert global_norms(Memory({}, {LOCAL: kept})).tolist() == [2.0]  # type: ignore[union-attr]
    assert global_norms(Memory({"w": sent})) is None
    assert list(without_norms({"w": sent, NORMS: sent})) == ["w"]


def test_it_travels_and_is_counted() -> None:
    sim = with_norms(cells(), "shared")
    state = begin(sim)
    assert LOCAL not in state.memory.client
    start = state.memory.shared[NORMS].clone()
    assert start.tolist() == [1.0] * 12 + [0.0] * 12 + [0.0] * 12 + [1.0] * 12
    for _ in range(3):
        state, record, _ = run_round(sim, state)
    assert not torch.equal(state.memory.shared[NORMS], start)
    payload = 32.0 * (64 * 12 + 12 + 12 * 10 + 10)
    side = 32.0 * 48
    assert record.bits == pytest.approx([2 * 6 * (payload + side), 2 * (payload + side)])
    assert record.metrics["accuracy"] > 0.3


def test_local_norms_stay_where_they_are() -> None:
    sim = with_norms(cells(), "local")
    state, _, _ = run_round(sim, begin(sim))
    assert NORMS not in state.memory.shared
    assert state.memory.client[LOCAL].shape == (6, 48)


def test_one_edge_with_period_one_is_flat() -> None:
    flat = with_norms(tiny(algorithm=fedavg(weighting="equal")), "shared")
    one = with_norms(
        cells(
            algorithm=fedavg(weighting="equal"),
            topology=partial(hierarchical, edges=1, clients_per_edge=6),
            period=1,
        ),
        "shared",
    )
    a, b = run_round(flat, begin(flat))[0], run_round(one, begin(one))[0]
    for name in ("w", NORMS):
        assert torch.allclose(a.memory.shared[name], b.memory.shared[name], atol=1e-6)


def normed() -> FlatModel:
    """One feature, two classes, and behind them a layer norm with two scales that travel on the side channel."""
    return wrap(nn.Sequential(nn.Linear(1, 2), nn.LayerNorm(2, bias=False)), (1,), 2, norms="shared")


@pytest.mark.parametrize(("parents", "air"), [([(0, 0)], 0), ([(0, 1), (0, 0)], 1)], ids=["clients", "edges"])
def test_norms_weigh_senders_as_the_air_does(
    parents: Sequence[Sequence[int]],
    air: int,
    tree: Callable[..., Topology],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
    given_gains: Callable[..., Channel],
) -> None:
    """``s = sum_m a_m e_m s_m / sum_m a_m e_m`` with weights ``a`` and shares of the air ``e_m = M beta_m / sum beta``.

    Two clients, on the air themselves or below edges of their own that are, with gains 8 and 1: ``e = 2 (8, 1) / 9``.
    They have 1 and 2 samples, so ``a = (1, 2) / 3``, and their norm layers become 5 and 10. By hand: ``a e`` is as
    (8, 2), the shares are .8 and .2, and ``s = .8 * 5 + .2 * 10 = 6``; worth ``1 / (.64 + .04) = 25/17`` equal senders.
    With the weights alone it would be 25/3, with the gains alone 50/9.
    """
    hops = [Hop(ideal(), fixed()) for _ in parents]
    hops[air] = Hop(AIR, fixed(), channel=given_gains((8.0, 1.0)))
    sim = compose(
        topology=tree(*parents), hops=hops, stream=holding((1, 2)), model=normed(), algorithm=fedavg(), rule=sgd()
    )
    sim = replace(sim, backend=given_changes((0.0, 0.0), norms=(5.0, 10.0)))
    state, _, exchanges = run_round(sim, begin(sim), evaluate=False)
    assert state.memory.shared["model/norms"].tolist() == pytest.approx([6.0, 6.0])
    assert exchanges[air].effective == pytest.approx([25 / 17])


@pytest.mark.parametrize(("link", "bits"), [(AIR, 64.0), (ideal(), 2 * (64.0 + 128.0))], ids=["air", "wire"])
def test_only_those_who_send_are_counted(
    link: Link,
    bits: float,
    tree: Callable[..., Topology],
    holding: Callable[..., Stream],
    given_changes: Callable[..., Backend],
    given_gains: Callable[..., Channel],
) -> None:
    """Two scales of 32 bits a client; the second needs 256 s to train, and 1 s is given.

    On the air it stays silent, payload and norm layers: 64 bits on the side channel, and symbols have none. Elsewhere
    it sends in vain: 4 numbers and 2 scales each, late or not.
    """
    one = torch.ones(2, dtype=torch.float64)
    fleet = Fleet(one, torch.tensor([1e9, 1.0]).double(), one, one, capacitance=0.0)
    hop = Hop(link, fixed(steps=1), given_gains((1.0, 1.0)), fleet, deadline_s=1.0)
    sim = compose(
        topology=tree((0, 0)), hops=[hop], stream=holding((1, 1)), model=normed(), algorithm=fedavg(), rule=sgd()
    )
    sim = replace(sim, backend=given_changes((0.0, 0.0), norms=(5.0, 10.0)))
    _, record, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    assert exchange.arrived == [True, False]
    assert record.bits == [bits]

"""Weights of federated averaging, by hand."""

import pytest
import torch
from support.receiver import NOTHING, info
from support.worlds import tiny
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from fedradio.algorithms.fedavg import fedavg, fedprox
from fedradio.algorithms.fednova import fednova
from fedradio.core.contracts import LocalRule
from fedradio.core.errors import SpecError
from fedradio.engine.rules import sgd
from fedradio.rounds.cohort import train
from fedradio.rounds.planning import plan_exchange
from fedradio.rounds.round import begin
from fedradio.rounds.tiers import start_tiers


def test_shares_of_samples_within_a_receiver() -> None:
    assert fedavg().weights(NOTHING, info()).tolist() == [0.25, 0.75, 0.25, 0.75]
    assert fedavg(weighting="equal").weights(NOTHING, info()).tolist() == [0.5] * 4


def test_normalised_over_the_arrived_or_the_selected() -> None:
    lost = info([True, False, False, False], expect=0.5)
    assert fedavg().weights(NOTHING, lost).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert fedavg(normalise="selected").weights(NOTHING, lost).tolist() == [0.25, 0.0, 0.0, 0.0]
    assert fedavg(normalise="inverse").weights(NOTHING, lost).tolist() == [0.5, 0.0, 0.0, 0.0]


def test_dividing_by_the_arrival_probability_is_unbiased() -> None:
    """E[a_i] over random losses equals the share without losses; 4 standard errors of 4000 draws."""
    generator = torch.Generator().manual_seed(1)
    draws = torch.stack(
        [
            fedavg(normalise="inverse").weights(NOTHING, info((torch.rand(4, generator=generator) < 0.7).tolist(), 0.7))
            for _ in range(4000)
        ]
    )
    error = (draws.mean(dim=0) - torch.tensor([0.25, 0.75, 0.25, 0.75])).abs()
    assert bool((error < 4 * draws.std(dim=0) / 4000**0.5).all())


def test_only_what_is_needed_is_revealed() -> None:
    assert fedavg(weighting="equal").reveals == frozenset()
    assert fedavg().reveals == {"samples"}
    assert fednova().reveals == {"samples", "effective"}


def test_fedprox_sets_the_rule_and_fednova_refuses_adam() -> None:
    assert fedprox(mu=0.3).rule(LocalRule(lr=0.1)).prox == 0.3
    with pytest.raises(SpecError, match="sgd"):
        fednova().rule(LocalRule(lr=0.1, optimiser="adam"))


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_fedprox_minimises_its_printed_cost(momentum: float) -> None:
    """Algorithm 7, line 10, by autograd: SGD on ``f_u(w) + mu/2 |w - w0|^2`` over the very batches of the round."""
    mu, rule = 0.9, sgd(lr=0.2, batch=16, momentum=momentum)
    sim = tiny(algorithm=fedprox(mu=mu, buffer="models"), rule=rule)
    state = begin(sim)
    tiers = start_tiers(sim.topology, state.memory)
    planned, state = plan_exchange(sim, state, tiers, 0, sim.clock(0, 0))
    found = train(sim, state, tiers[0], planned.x).trained.delta
    w0, ids, updates = state.memory.shared["w"], torch.arange(6), torch.full((6,), 3)
    draws = sim.rng.child("train", 0, 0).child("batches")
    batches = sim.stream.draw(state.parts.get("data.stream", sim.stream.start()), ids, updates, 16, draws)
    for client in (0, 5):
        w, v = w0.clone().requires_grad_(), torch.zeros_like(w0)
        for j in range(3):
            x, y = batches.fetch(batches.labelled.index[client, j, : batches.labelled.count[client, j]])
            logits = functional_call(sim.model.module, sim.model.shared.views(w), (x,))
            cost = cross_entropy(logits, y) + mu / 2 * (w - w0).square().sum()
            (slope,) = torch.autograd.grad(cost, w)
            v = momentum * v + slope
            w = (w - 0.2 * v).detach().requires_grad_()
        assert torch.allclose(found[client], w.detach() - w0, atol=1e-6)
        assert not torch.allclose(found[client], torch.zeros_like(w0), atol=1e-3)

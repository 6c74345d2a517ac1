"""Weights of federated averaging, by hand."""

import pytest
import torch
from support.receiver import NOTHING, info

from fedradio.algorithms.fedavg import fedavg, fedprox
from fedradio.algorithms.fednova import fednova
from fedradio.core.contracts import LocalRule
from fedradio.core.errors import SpecError


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

import pytest
import torch

from fedradio.algorithms.fedavg import fedavg, fedprox
from fedradio.algorithms.fednova import fednova
from fedradio.core.contracts import Info, LocalRule
from fedradio.core.errors import SpecError


def info(arrived: list[bool] | None = None, expect: float = 1.0) -> Info:
    """Four clients of two receivers with 10, 30, 5, 15 samples and 1, 2, 4, 4 effective steps."""
    got = torch.tensor(arrived or [True] * 4)
    known = {
        "samples": torch.tensor([10, 30, 5, 15]),
        "effective": torch.tensor([1.0, 2.0, 4.0, 4.0], dtype=torch.float64),
    }
    group = torch.tensor([0, 0, 1, 1])
    return Info(torch.arange(4), group, 2, group, got, torch.full((4,), expect).double(), known)


def test_shares_of_samples_within_a_receiver() -> None:
    assert fedavg().weights({}, info()).tolist() == [0.25, 0.75, 0.25, 0.75]
    assert fedavg(weighting="equal").weights({}, info()).tolist() == [0.5] * 4


def test_normalised_over_the_arrived_or_the_selected() -> None:
    lost = info([True, False, False, False], expect=0.5)
    assert fedavg().weights({}, lost).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert fedavg(normalise="selected").weights({}, lost).tolist() == [0.25, 0.0, 0.0, 0.0]
    assert fedavg(normalise="inverse").weights({}, lost).tolist() == [0.5, 0.0, 0.0, 0.0]


def test_dividing_by_the_arrival_probability_is_unbiased() -> None:
    """E[a_i] over random losses equals the share without losses; 4 standard errors of 4000 draws."""
    generator = torch.Generator().manual_seed(1)
    draws = torch.stack(
        [
            fedavg(normalise="inverse").weights({}, info((torch.rand(4, generator=generator) < 0.7).tolist(), 0.7))
            for _ in range(4000)
        ]
    )
    error = (draws.mean(dim=0) - torch.tensor([0.25, 0.75, 0.25, 0.75])).abs()
    assert bool((error < 4 * draws.std(dim=0) / 4000**0.5).all())


def test_fednova_by_hand() -> None:
    """Receiver 0: p = (.25, .75), tau = (1, 2), tau_eff = 1.75 -> weights .25*1.75/1 and .75*1.75/2."""
    weights = fednova().weights({}, info())
    assert weights.tolist() == pytest.approx([0.4375, 0.65625, 0.25, 0.75])


def test_fednova_with_equal_steps_is_fedavg() -> None:
    equal = info()
    equal.known["effective"].fill_(3.0)
    assert torch.allclose(fednova().weights({}, equal), fedavg().weights({}, equal))


def test_only_what_is_needed_is_revealed() -> None:
    assert fedavg(weighting="equal").reveals == frozenset()
    assert fedavg().reveals == {"samples"}
    assert fednova().reveals == {"samples", "effective"}


def test_fedprox_sets_the_rule_and_fednova_refuses_adam() -> None:
    assert fedprox(mu=0.3).rule(LocalRule(lr=0.1)).prox == 0.3
    with pytest.raises(SpecError, match="sgd"):
        fednova().rule(LocalRule(lr=0.1, optimiser="adam"))


def test_effective_steps_by_brute_force() -> None:
    """Qt is how far Q momentum steps carry a constant unit gradient."""
    rule = LocalRule(lr=1.0, momentum=0.8)
    for q in (1, 2, 7, 40):
        velocity = moved = 0.0
        for _ in range(q):
            velocity = 0.8 * velocity + 1.0
            moved += velocity
        assert rule.effective_steps(torch.tensor([q])).item() == pytest.approx(moved, rel=1e-9)
    assert LocalRule(lr=1.0).effective_steps(torch.tensor([5])).item() == 5.0

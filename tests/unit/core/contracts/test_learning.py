"""The local rule: effective steps, rates, passes."""

from dataclasses import replace

import pytest
import torch

from fedradio.core.contracts import LocalRule, Objective, Start


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


def test_rates_follow_the_schedule() -> None:
    rule = LocalRule(lr=0.5, schedule=lambda t, j: 0.1**t / (1 + j))
    assert rule.rates(0, 3) == pytest.approx([0.5, 0.25, 0.5 / 3])
    assert rule.rates(1, 1) == pytest.approx([0.05])
    assert LocalRule(lr=0.5).rates(7, 2) == [0.5, 0.5]


def test_passes_by_hand() -> None:
    """Two unlabelled samples beside each labelled one: 3 passes, twice for a pair, and 2/3 for the pseudo-labels."""
    rule = LocalRule(lr=0.1, batch=4)
    assert rule.passes == 1.0
    plain = Objective(alpha_r=0.1, unlabelled_batch=8)
    assert replace(rule, objective=plain).passes == 3.0
    assert replace(rule, objective=replace(plain, alpha_p=0.1)).passes == pytest.approx(3 + 2 / 3)
    assert replace(rule, objective=replace(plain, alpha_p=0.1, pair=True)).passes == pytest.approx(6 + 2 / 3)


def test_slots_that_an_optimiser_wants() -> None:
    assert LocalRule(lr=0.1).state_names == ()
    assert LocalRule(lr=0.1, momentum=0.9).state_names == ("momentum",)
    assert LocalRule(lr=0.1, optimiser="adam").state_names == ("adam_m", "adam_v", "adam_n")


def test_clients_keep_their_number_in_a_cohort() -> None:
    start = Start(torch.zeros(1, 2), torch.tensor([0, 0]))
    assert start.client(1) == 1
    assert replace(start, ids=torch.tensor([4, 9])).client(1) == 9

"""The local rule: effective steps, rates, passes."""

from dataclasses import replace

import pytest
import torch

from fedradio.algorithms.apfl import finetuned
from fedradio.core.contracts import EpochsOver, LocalRule, Start
from fedradio.losses.fedcpsl import FedCpslLoss


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
    assert rule.passes() == 1.0
    plain = FedCpslLoss(alpha_r=0.1, unlabelled_batch=8)
    assert replace(rule, loss=plain).passes() == 3.0
    assert replace(rule, loss=replace(plain, alpha_p=0.1)).passes() == pytest.approx(3 + 2 / 3)
    pair = replace(rule, loss=replace(plain, alpha_p=0.1, pair=True))
    assert pair.passes() == pytest.approx(6 + 2 / 3)
    assert pair.passes(unlabelled=False) == 2.0
    assert pair.passes(labelled=False) == pytest.approx(4 + 2 / 3)


def test_a_model_that_rests_is_not_trained() -> None:
    """From round 2 on the shared model makes forward passes only, a third of a training pass: 3 (1 + 1/3) + 2/3. An own
    model that has not begun costs nothing: 3 + 2/3."""
    loss = FedCpslLoss(0.1, 0.1, 8, pair=True)
    rule = LocalRule(lr=0.1, batch=4, loss=loss)
    tuned = finetuned(rule, 2)
    assert [tuned.passes(t) for t in (1, 2)] == pytest.approx([6 + 2 / 3, 4 + 2 / 3])
    phases = finetuned(rule, 2, begin=2)
    assert [phases.passes(t) for t in (1, 2)] == pytest.approx([3 + 2 / 3, 4 + 2 / 3])


@pytest.mark.parametrize(
    ("over", "wanted"),
    [("labelled", [8, 8, 68, 1]), ("unlabelled", [68, 8, 68, 1]), ("all", [38, 8, 68, 1])],
)
def test_steps_of_an_epoch_by_hand(over: EpochsOver, wanted: list[int]) -> None:
    """240 and 2160 samples, 32 of each an update: 7.5, 67.5 or 2400/64 = 37.5 steps, rounded up. Then 240 labelled ones
    alone, 2160 unlabelled ones alone, and one sample of each kind."""
    labelled, unlabelled = torch.tensor([240, 240, 0, 1]), torch.tensor([2160, 0, 2160, 1])
    rule = LocalRule(lr=0.1, epochs_over=over, loss=FedCpslLoss(0.1, 0.1, 32))
    assert rule.epoch.steps(labelled, unlabelled).tolist() == wanted
    half = replace(rule, updates_per_step=2).epoch.steps(labelled, unlabelled)
    assert half.tolist() == [-(-steps // 2) for steps in wanted]


def test_a_rule_without_unlabelled_costs_counts_them_by_its_own_batch() -> None:
    """So that ``epochs_over: unlabelled`` gives methods with and without unlabelled costs the same number of steps."""
    rule = LocalRule(lr=0.1, batch=16, epochs_over="unlabelled")
    assert rule.epoch.steps(torch.tensor([10]), torch.tensor([33])).tolist() == [3]


def test_slots_that_an_optimiser_wants() -> None:
    assert LocalRule(lr=0.1).state_names == ()
    assert LocalRule(lr=0.1, momentum=0.9).state_names == ("momentum",)
    assert LocalRule(lr=0.1, optimiser="adam").state_names == ("adam_m", "adam_v", "adam_n")


def test_clients_keep_their_number_in_a_cohort() -> None:
    start = Start(torch.zeros(1, 2), torch.tensor([0, 0]))
    assert start.client(1) == 1
    assert replace(start, ids=torch.tensor([4, 9])).client(1) == 9

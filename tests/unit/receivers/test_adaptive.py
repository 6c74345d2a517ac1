"""Adaptive server optimisers against the numbers of a calculation by hand, in float64."""

import pytest
import torch

from fedradio.core.contracts import Clock, ReceiverRule
from fedradio.receivers.adaptive import adagrad, adam, yogi

HEARD = torch.tensor([True])


def position(rule: ReceiverRule, changes: tuple[float, ...] = (1.0, 0.5)) -> float:
    """Sum of the steps for some changes of a single number."""
    w = torch.zeros(1, dtype=torch.float64)
    state, at = rule.start(1, w), 0.0
    for change in changes:
        step, state = rule.step(torch.tensor([[change]], dtype=torch.float64), HEARD, state, Clock(0))
        at += float(step)
    return at


def test_one_step_of_adam_by_hand() -> None:
    """m = .1, v = .99 * .01 + .01 = .0199: .1 * .1/(sqrt .0199 + .1)."""
    assert position(adam(lr=0.1, tau=0.1), (1.0,)) == pytest.approx(0.01 / (0.0199**0.5 + 0.1), rel=1e-12)


@pytest.mark.parametrize(
    ("rule", "at"),
    [
        (adam(lr=0.1, beta1=0.9, beta2=0.99, tau=0.1), 0.0977071),
        (yogi(lr=0.1, beta1=0.9, beta2=0.99, tau=0.1), 0.0974214),
        (adagrad(lr=0.1, beta1=0.9, tau=0.1), 0.0205018),
    ],
    ids=["adam", "yogi", "adagrad"],
)
def test_two_changes(rule: ReceiverRule, at: float) -> None:
    assert position(rule) == pytest.approx(at, abs=5e-8)


def test_a_corrected_first_step_is_that_of_the_change_alone() -> None:
    """m/(1 - b1) = D and v/(1 - b2) = D^2 + b2/(1 - b2) tau^2."""
    expected = 0.1 * 1.0 / ((1.0 + 99 * 1e-4) ** 0.5 + 0.01)
    assert position(adam(lr=0.1, tau=0.01, correct=True), (1.0,)) == pytest.approx(expected, rel=1e-12)


def test_receivers_that_heard_nobody_keep_everything() -> None:
    for rule in (adam(correct=True), yogi(), adagrad()):
        state = rule.start(2, torch.zeros(3))
        step, after = rule.step(torch.ones(2, 3), torch.tensor([True, False]), state, Clock(0))
        assert step[1].tolist() == [0.0] * 3
        assert float(step[0].min()) > 0
        assert all(torch.equal(after[name][1], rows[1]) for name, rows in state.items())
        assert all(not torch.equal(after[name][0], rows[0]) for name, rows in state.items())

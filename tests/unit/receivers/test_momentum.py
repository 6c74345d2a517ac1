"""Server momentum, by hand."""

import torch

from fedradio.core.contracts import Clock, Slots
from fedradio.receivers.momentum import momentum


def test_by_hand() -> None:
    """beta .5, rate 2, changes 1 and 1: v = 1, 1.5; steps 2, 3."""
    rule = momentum(beta=0.5, lr=2.0)
    state: Slots = rule.start(1, torch.zeros(1))
    steps = []
    for _ in range(2):
        step, state = rule.step(torch.ones(1, 1), torch.tensor([True]), state, Clock(0))
        steps.append(float(step))
    assert steps == [2.0, 3.0]


def test_receivers_that_heard_nobody_keep_everything() -> None:
    rule = momentum(beta=0.5)
    state = {"v": torch.full((2, 3), 4.0)}
    step, after = rule.step(torch.ones(2, 3), torch.tensor([False, True]), state, Clock(0))
    assert step.tolist() == [[0.0] * 3, [3.0] * 3]
    assert after["v"].tolist() == [[4.0] * 3, [3.0] * 3]


def test_without_momentum_the_change_is_the_step_itself() -> None:
    change = torch.randn(2, 3)
    rule = momentum(beta=0.0, lr=1.0)
    step, _ = rule.step(change, torch.tensor([True, True]), rule.start(2, change[0]), Clock(0))
    assert step is change

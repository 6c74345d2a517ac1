"""Receiver rules after a merge."""

import torch

from fedradio.core.contracts import Clock
from fedradio.receivers.momentum import momentum
from fedradio.rounds.receiving import stepped


def test_the_model_takes_the_step_and_other_vectors_move_as_merged() -> None:
    """Change 2, rate 3: w goes from 1 to 7; a receiver that heard nobody stays."""
    before = {"w": torch.ones(2, 1), "c": torch.zeros(2, 1)}
    merged = {"w": torch.full((2, 1), 3.0), "c": torch.ones(2, 1)}
    rule = momentum(beta=0.5, lr=3.0)
    heard = torch.tensor([True, False])
    shared, slots = stepped(rule, before, merged, heard, rule.start(2, torch.zeros(1)), Clock(0))
    assert shared["w"].tolist() == [[7.0], [1.0]]
    assert torch.equal(shared["c"], merged["c"])
    assert slots["v"].tolist() == [[2.0], [0.0]]


def test_a_rule_that_does_nothing_leaves_the_merge_as_it_is() -> None:
    before, merged = {"w": torch.randn(2, 3)}, {"w": torch.randn(2, 3)}
    rule = momentum(beta=0.0)
    shared, _ = stepped(rule, before, merged, torch.tensor([True, True]), rule.start(2, before["w"][0]), Clock(0))
    assert shared is merged

"""The local rule: effective steps, rates, passes."""

import pytest
import torch

from fedradio.core.contracts import LocalRule


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

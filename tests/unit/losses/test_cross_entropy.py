"""Cross entropy as a function of outputs: by hand, against autograd, and the same training as by the fused kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from fedradio.core.contracts import Batch, LocalRule, Loss, Outputs
from fedradio.core.contracts.loss import slopes_by_autograd
from fedradio.core.rng import Rng
from fedradio.losses.cross_entropy import CrossEntropy


def test_one_sample_and_padding_by_hand() -> None:
    """z = (log 3, 0): h = (3/4, 1/4); label 1 costs log 4, the slope is h - (0, 1). The second sample is padding."""
    z = torch.tensor([[[math.log(3.0), 0.0], [5.0, 1.0]]], dtype=torch.float64)
    batch = Batch(torch.tensor([[1, 0]]), torch.tensor([[1.0, 0.0]]).double(), z[:, :0], z[:, :0, 0])
    cost, slopes = CrossEntropy().slopes({"w": Outputs(z)}, batch)
    assert cost.tolist() == pytest.approx([math.log(4.0)])
    assert slopes["w"].logits.flatten().tolist() == pytest.approx([0.75, -0.75, 0.0, 0.0])


def test_closed_slopes_are_those_of_autograd() -> None:
    g = Rng(0).torch()
    z = torch.randn(3, 4, 5, generator=g, dtype=torch.float64)
    y = torch.randint(5, (3, 4), generator=g)
    batch = Batch(y, torch.rand(3, 4, generator=g).double(), z[:, :0], z[:, :0, 0])
    closed = CrossEntropy().slopes({"w": Outputs(z)}, batch)
    found = slopes_by_autograd(CrossEntropy(), {"w": Outputs(z)}, batch)
    torch.testing.assert_close(closed[0], found[0])
    torch.testing.assert_close(closed[1]["w"].logits, found[1]["w"].logits)


class Near(Loss):
    """The example of the contract: cross entropy and the squared distance from the received model's logits."""

    anchors = ("received",)

    def costs(self, out: Mapping[str, Outputs], batch: Batch) -> Mapping[str, Tensor]:
        z, before = out["w"].logits, out["received"].logits
        ce = torch.nn.functional.cross_entropy(z.transpose(1, 2), batch.y, reduction="none")
        return {"w": batch.mean(ce + (z - before).square().sum(-1))}


def test_an_anchor_is_a_third_of_a_pass() -> None:
    assert LocalRule(lr=0.1, loss=Near()).passes() == pytest.approx(4 / 3)
    assert LocalRule(lr=0.1, loss=CrossEntropy()).passes() == LocalRule(lr=0.1).passes() == 1.0

"""Macro F1 by hand and against scikit-learn's."""

import pytest
import torch
from sklearn.metrics import f1_score

from fedradio.core.rng import Rng
from fedradio.metrics.f1 import macro_f1


def test_macro_f1_by_hand() -> None:
    """Labels 0, 0, 1, 2, predictions 0, 1, 1, 1: F1 is 2/3, 2/4 and 0; class 3 occurs nowhere and does not count."""
    logits = torch.eye(4)[torch.tensor([0, 1, 1, 1])]
    scores = macro_f1().score(logits, torch.tensor([0, 0, 1, 2]), torch.zeros(4).long())
    assert scores == {"macro_f1": pytest.approx(7 / 18)}


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_macro_f1_against_scikit_learn(classes: int) -> None:
    """Also with many classes that occur among the labels or the predictions only, or nowhere."""
    g = Rng(classes).torch()
    logits = torch.randn(80, classes, generator=g)
    y = torch.where(torch.rand(80, generator=g) < 0.5, logits.argmax(1), torch.randint(classes, (80,), generator=g))
    wanted = f1_score(y.numpy(), logits.argmax(1).numpy(), average="macro")
    assert macro_f1().score(logits, y, torch.zeros(80).long())["macro_f1"] == pytest.approx(wanted, rel=1e-12)

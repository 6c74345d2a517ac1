"""Macro F1 by hand and against its definition, class by class."""

import pytest
import torch

from fedradio.core.rng import Rng
from fedradio.metrics.f1 import macro_f1


def test_macro_f1_by_hand() -> None:
    """Labels 0, 0, 1, 2, predictions 0, 1, 1, 1: F1 is 2/3, 2/4 and 0; class 3 occurs nowhere and does not count."""
    logits = torch.eye(4)[torch.tensor([0, 1, 1, 1])]
    scores = macro_f1().score(logits, torch.tensor([0, 0, 1, 2]), torch.zeros(4).long())
    assert scores == {"macro_f1": pytest.approx(7 / 18)}


def f1_of(of: int, y: list[int], predicted: list[int]) -> float:
    """Harmonic mean of the precision and the recall of one class; 0 without a hit."""
    hits = sum(a == b == of for a, b in zip(y, predicted, strict=True))
    if hits == 0:
        return 0.0
    precision, recall = hits / predicted.count(of), hits / y.count(of)
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_macro_f1_is_the_mean_of_harmonic_means(classes: int) -> None:
    """Also with many classes that occur among the labels or the predictions only, or nowhere."""
    g = Rng(classes).torch()
    logits = torch.randn(80, classes, generator=g)
    y = torch.where(torch.rand(80, generator=g) < 0.5, logits.argmax(1), torch.randint(classes, (80,), generator=g))
    true, predicted = y.tolist(), logits.argmax(1).tolist()
    occurring = {*true, *predicted}
    wanted = sum(f1_of(one, true, predicted) for one in occurring) / len(occurring)
    assert macro_f1().score(logits, y, torch.zeros(80).long())["macro_f1"] == pytest.approx(wanted, rel=1e-12)

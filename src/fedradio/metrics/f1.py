"""F1 score, for imbalanced classes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import Metric
from fedradio.core.registry import register


@dataclass(frozen=True)
class MacroF1(Metric):
    """``mean_c 2 tp_c / (predicted_c + true_c)`` over the classes that occur among labels or predictions.

    By hand: labels 0, 0, 1, 2 and predictions 0, 1, 1, 1 give 2/3, 2/4 and 0, in the mean 7/18.
    """

    names = ("macro_f1",)

    def score(self, logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
        predicted, classes = logits.argmax(dim=1), logits.shape[1]
        hits = torch.bincount(y[predicted == y], minlength=classes).double()
        occurring = torch.bincount(predicted, minlength=classes) + torch.bincount(y, minlength=classes)
        seen = occurring > 0
        return {"macro_f1": float((2.0 * hits[seen] / occurring[seen]).mean())}


@register("metric", "macro_f1")
def macro_f1() -> MacroF1:
    """Macro F1: harmonic mean of precision and recall, averaged over classes, on all test samples pooled.

    Every class has the same weight, however rare it is.
    """
    return MacroF1()

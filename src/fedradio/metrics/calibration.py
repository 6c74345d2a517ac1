"""Calibration: whether predictions are as confident as they are accurate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Metric
from fedradio.core.registry import Arg, register


@dataclass(frozen=True)
class Calibration(Metric):
    """``sum_b (n_b/n) |accuracy_b - confidence_b| = sum_b |sum_{i in b} (hit_i - confidence_i)| / n``.

    Sample ``i`` is in bin ``b`` if its largest probability is in ``(b/bins, (b+1)/bins]``. By hand: two bins,
    confidences .9 (hit), .8, .6 (hit) and .4: (|2 - 2.3| + |0 - .4|)/4 = .175.
    """

    bins: int
    names = ("calibration_error",)
    better = "less"

    def score(self, logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
        likeliest = logits.max(dim=1)
        confidence = likeliest.values.double().exp()
        place = (torch.ceil(confidence.nan_to_num() * self.bins).long() - 1).clamp(0, self.bins - 1)
        gap = torch.bincount(place, weights=(likeliest.indices == y).double() - confidence, minlength=self.bins)
        return {"calibration_error": float(gap.abs().sum() / len(y))}


@register("metric", "calibration", paper="Guo et al., On Calibration of Modern Neural Networks, arXiv:1706.04599")
def calibration(
    *,
    bins: Annotated[int, Arg("number of equal-width bins of the confidence", ge=1, le=1000)] = 15,
) -> Calibration:
    """Expected calibration error: the gap between accuracy and confidence, averaged over bins of confidence.

    Confidence is the largest predicted probability of a sample; all test samples are pooled. Lower is better.
    """
    return Calibration(bins)

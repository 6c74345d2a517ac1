"""Top-m accuracy, and the accuracy of the worst-off groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import Metric
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register


@dataclass(frozen=True)
class Top(Metric):
    """Share of samples whose label is among the ``m`` likeliest classes: mean over groups, as of the accuracy."""

    m: int

    @property
    def names(self) -> tuple[str, ...]:
        return (f"top_{self.m}_accuracy",)

    def score(self, logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
        classes = logits.shape[1]
        if self.m > classes:
            raise SpecError(Problem("metric.m", f"the data has {classes} classes", f"from 1 to {classes}", self.m))
        hits = rank(logits, y[:, None]).squeeze(1) < self.m
        return {self.names[0]: float(group_means(hits, client).mean())}


@register("metric", "top")
def top(
    *,
    m: Annotated[int, Arg("number of most likely classes that may contain the label", ge=1, le=10_000)] = 5,
) -> Top:
    """Top-m accuracy: the label is among the ``m`` most likely classes.

    ``eval_top`` reports all of them up to a given m; this metric reports a single one.
    """
    return Top(m)


@dataclass(frozen=True)
class Worst(Metric):
    """Mean accuracy of the ``ceil(share G)`` of ``G`` groups with samples that have the lowest, at least one.

    By hand: accuracies .9, .5, .7, .6 and a share of .5 give (.5 + .6)/2 = .55.
    """

    share: float
    names = ("worst_accuracy",)

    def score(self, logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
        accuracy = group_means(logits.argmax(dim=1) == y, client).sort().values
        count = max(1, math.ceil(self.share * len(accuracy) - 1e-9))  # .07 * 100 is 7.000000000000001
        return {"worst_accuracy": float(accuracy[:count].mean())}


@register("metric", "worst", paper="Li et al., Fair Resource Allocation in Federated Learning, arXiv:1905.10497")
def worst(
    *,
    share: Annotated[float, Arg("fraction of the groups that counts as the worst", gt=0, le=1)] = 0.1,
) -> Worst:
    """Worst clients: mean accuracy of the evaluation groups with the lowest accuracy, by default the lowest tenth.

    Groups are clients if each has its own test samples or its own model. With a single group this is the accuracy.
    """
    return Worst(share)


def rank(likelihood: Tensor, y: Tensor) -> Tensor:
    """Rank ``[n, 1]`` of the label ``y [n, 1]`` among the classes by decreasing likelihood, 0 the first.

    Of equals the lower class is first, as in argmax; NaN comes last.
    """
    own = likelihood.gather(1, y)
    number = torch.arange(likelihood.shape[1], device=y.device)
    behind = (likelihood < own) | ((likelihood == own) & (number >= y))
    return likelihood.shape[1] - behind.sum(dim=1, keepdim=True)


def group_means(values: Tensor, group: Tensor) -> Tensor:
    """Mean of ``values [n]`` in every group that has samples, in double precision."""
    count = torch.bincount(group)
    total = torch.bincount(group, weights=values.double())
    return total[count > 0] / count[count > 0]

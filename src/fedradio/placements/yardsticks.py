"""Yardsticks: the placement that knows the law of requests, and one that knows nothing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import CacheView, Foresight, Placement
from fedradio.core.registry import register
from fedradio.placements.counting import MoveCost, Name


@dataclass(frozen=True)
class Oracle(Placement):
    """``v_bn = sum_{c in b} p_c P_c(n | state_c)`` with the true law and the true activity ``p_c``.

    At a price of 0 no placement expects more hits in the next slot. It is not the best for the backhaul: what it moves
    ahead travels as far as what is missed.
    """

    cost: float | None = 0.0
    label: str = "oracle"

    @property
    def name(self) -> str:
        return self.label

    @property
    def needs(self) -> frozenset[Foresight]:
        return frozenset({"law"})

    @property
    def move_cost(self) -> float | None:
        return self.cost

    def scores(self, view: CacheView) -> Tensor:
        return view.demand("law", view.activity)


@dataclass(frozen=True)
class Random(Placement):
    """Uniform scores, new ones at every placement."""

    cost: float | None = 0.0
    label: str = "random"

    @property
    def name(self) -> str:
        return self.label

    @property
    def move_cost(self) -> float | None:
        return self.cost

    def scores(self, view: CacheView) -> Tensor:
        return torch.from_numpy(view.rng.numpy().random(tuple(view.counts.shape)))


@register("placement", "oracle")
def oracle(*, move_cost: MoveCost = 0.0, name: Name = None) -> Oracle:
    """The files most likely to be requested under the true request distribution: the most hits possible in a slot."""
    return Oracle(move_cost, name or "oracle")


@register("placement", "random")
def random(*, move_cost: MoveCost = 0.0, name: Name = None) -> Random:
    """Random files, redrawn at every placement."""
    return Random(move_cost, name or "random")

"""Placements by what was asked for (LFU, LRU), by what the clients' model predicts, and two baselines.

All scores are expected requests of the next slot, so that they have one unit, that of the price of moving a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedradio.core.contracts import CacheView, Placement
from fedradio.core.registry import Arg, register

MoveCost = Annotated[
    float | None,
    Arg(
        "cost of prefetching a file; null: nothing is prefetched, edges only keep files that pass through",
        "misses",
        ge=0,
        le=1e6,
    ),
]
Name = Annotated[str | None, Arg("name in tables; null: the name of its kind")]
Window = Annotated[
    int | None, Arg("count only this many of an edge's last requests; null: all of them", ge=1, le=100_000)
]


def shares(view: CacheView, counts: Tensor) -> Tensor:
    """Expected requests of a slot by the shares of past ones, ``rate_b counts_bn / sum_n counts_bn``, ``[R, N]``; 0
    before the first request."""
    return view.edge_rate[:, None] * counts / counts.sum(dim=1, keepdim=True).clamp(min=1)


@dataclass(frozen=True)
class CellPopular(Placement):
    """``v_bn = rate_b counts_bn / sum_n counts_bn`` with the counts of edge ``b`` alone."""

    name: str = "cell_popular"
    move_cost: float | None = None
    window: int = 0

    def scores(self, view: CacheView) -> Tensor:
        return shares(view, view.counted(self.window or None))


@dataclass(frozen=True)
class Popular(CellPopular):
    """``v_bn = rate_b counts_n / sum_n counts_n`` with the counts of all edges together."""

    name: str = "popular"

    def scores(self, view: CacheView) -> Tensor:
        return shares(view, view.counted(self.window or None).sum(dim=0, keepdim=True))


@dataclass(frozen=True)
class Predicted(CellPopular):
    """``v_bn = blend sum_{c in b} p_c Phat_c(n) + (1 - blend) rate_b counts_bn / sum_n counts_bn``."""

    name: str = "predicted"
    move_cost: float | None = 0.001
    blend: float = 1.0
    needs = frozenset({"model"})

    def scores(self, view: CacheView) -> Tensor:
        predicted = view.demand("model")
        return predicted if self.blend == 1 else self.blend * predicted + (1 - self.blend) * super().scores(view)


@dataclass(frozen=True)
class LeastRecentlyUsed(Placement):
    """Every missed file is kept, and the least recently requested one leaves; nothing is prefetched."""

    name: str = "lru"
    recency = True

    def scores(self, view: CacheView) -> Tensor:
        return view.used.double() + 1


@dataclass(frozen=True)
class Oracle(Placement):
    """``v_bn = sum_{c in b} p_c P_c(n | state_c)`` with the true law and the true activity ``p_c``.

    At a price of 0 no placement expects more hits in the next slot. It is not the best for the backhaul: what it moves
    ahead travels as far as what is missed.
    """

    name: str = "oracle"
    move_cost: float | None = 0.0
    needs = frozenset({"law"})

    def scores(self, view: CacheView) -> Tensor:
        return view.demand("law", view.activity)


@dataclass(frozen=True)
class Random(Placement):
    """Uniform scores, new ones at every placement."""

    name: str = "random"
    move_cost: float | None = 0.0

    def scores(self, view: CacheView) -> Tensor:
        return torch.from_numpy(view.rng.numpy().random(tuple(view.counts.shape)))


@register("placement", "cell_popular")
def cell_popular(*, move_cost: MoveCost = None, window: Window = None, name: Name = None) -> CellPopular:
    """The files requested most often in the cell (LFU with admission), so far or within a window."""
    return CellPopular(name or "cell_popular", move_cost, window or 0)


@register("placement", "popular")
def popular(*, move_cost: MoveCost = None, window: Window = None, name: Name = None) -> Popular:
    """The files requested most often across all cells."""
    return Popular(name or "popular", move_cost, window or 0)


@register("placement", "predicted", paper="RawHFL, footnote 2")
def predicted(
    *,
    blend: Annotated[
        float, Arg("weight of the model in the scores; the rest comes from the cell's request counts", ge=0, le=1)
    ] = 1.0,
    move_cost: MoveCost = 0.001,
    window: Window = None,
    name: Name = None,
) -> Predicted:
    """The files predicted by the federated model: every client runs it on its own state and informs its edge.

    The cost of prefetching avoids swapping files with nearly equal scores: predicted probabilities are always positive,
    so at a cost of 0 free space is filled with arbitrary files that change from slot to slot.
    """
    return Predicted(name or "predicted", move_cost, window or 0, blend)


@register("placement", "lru")
def lru(*, name: Name = None) -> LeastRecentlyUsed:
    """The most recently requested files (LRU): a missed file is kept and evicts the least recently requested one."""
    return LeastRecentlyUsed(name or "lru")


@register("placement", "oracle")
def oracle(*, move_cost: MoveCost = 0.0, name: Name = None) -> Oracle:
    """The files most likely to be requested under the true request distribution: the most hits possible in a slot."""
    return Oracle(name or "oracle", move_cost)


@register("placement", "random")
def random(*, move_cost: MoveCost = 0.0, name: Name = None) -> Random:
    """Random files, redrawn at every placement."""
    return Random(name or "random", move_cost)

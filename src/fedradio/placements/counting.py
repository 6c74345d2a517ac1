"""Placements by counting: what was asked for most often in the cell, or everywhere (LFU)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

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


def counted_demand(view: CacheView, window: int | None = None) -> Tensor:
    """Expected requests of a slot by the shares of past ones, ``rate_b counts_bn / sum_n counts_bn``, ``[R, N]``; 0
    before an edge's first request."""
    counts = view.counted(window)
    return view.edge_rate[:, None] * counts / counts.sum(dim=1, keepdim=True).clamp(min=1)


@dataclass(frozen=True)
class CellPopular(Placement):
    """``v_bn = rate_b counts_bn / sum_n counts_bn`` with the counts of edge ``b`` alone."""

    cost: float | None = None
    last: int | None = None
    label: str = "cell_popular"

    @property
    def name(self) -> str:
        return self.label

    @property
    def move_cost(self) -> float | None:
        return self.cost

    @property
    def window(self) -> int:
        return self.last or 0

    def scores(self, view: CacheView) -> Tensor:
        return counted_demand(view, self.last)


@dataclass(frozen=True)
class Popular(CellPopular):
    """``v_bn = rate_b counts_n / sum_n counts_n`` with the counts of all edges together."""

    def scores(self, view: CacheView) -> Tensor:
        counts = view.counted(self.last).sum(dim=0, keepdim=True)
        return view.edge_rate[:, None] * counts / counts.sum().clamp(min=1)


@register("placement", "cell_popular")
def cell_popular(*, move_cost: MoveCost = None, window: Window = None, name: Name = None) -> CellPopular:
    """The files requested most often in the cell (LFU with admission), so far or within a window."""
    return CellPopular(move_cost, window, name or "cell_popular")


@register("placement", "popular")
def popular(*, move_cost: MoveCost = None, window: Window = None, name: Name = None) -> Popular:
    """The files requested most often across all cells."""
    return Popular(move_cost, window, name or "popular")

"""Placement by what the clients' model foresees, mixed with what an edge has counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from fedradio.core.contracts import CacheView, Foresight, Placement
from fedradio.core.registry import Arg, register
from fedradio.placements.counting import MoveCost, Name, Window, counted_demand


@dataclass(frozen=True)
class Predicted(Placement):
    """``v_bn = blend sum_{c in b} p_c Phat_c(n) + (1 - blend) rate_b counts_bn / sum_n counts_bn``.

    Counts are shares of past requests; times ``rate_b = sum_{c in b} p_c`` they are requests a slot, as the model's
    sum is: both have one unit, that of the price of moving.
    """

    blend: float = 1.0
    cost: float | None = 0.001
    last: int | None = None
    label: str = "predicted"

    @property
    def name(self) -> str:
        return self.label

    @property
    def needs(self) -> frozenset[Foresight]:
        return frozenset({"model"})

    @property
    def move_cost(self) -> float | None:
        return self.cost

    @property
    def window(self) -> int:
        return self.last or 0

    def scores(self, view: CacheView) -> Tensor:
        foreseen = view.demand("model")
        return (
            foreseen if self.blend == 1 else self.blend * foreseen + (1 - self.blend) * counted_demand(view, self.last)
        )


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
    return Predicted(blend, move_cost, window, name or "predicted")

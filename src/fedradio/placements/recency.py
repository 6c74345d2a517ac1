"""Placement by recency (LRU)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedradio.core.contracts import CacheView, Placement
from fedradio.core.registry import register
from fedradio.placements.counting import Name


@dataclass(frozen=True)
class Lru(Placement):
    """Every missed file is kept, and the least recently requested one leaves; nothing is prefetched."""

    label: str = "lru"

    @property
    def name(self) -> str:
        return self.label

    @property
    def recency(self) -> bool:
        return True

    def scores(self, view: CacheView) -> Tensor:
        return view.used.double() + 1


@register("placement", "lru")
def lru(*, name: Name = None) -> Lru:
    """The most recently requested files (LRU): a missed file is kept and evicts the least recently requested one."""
    return Lru(name or "lru")

"""Balances of caches as summaries hold them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fedradio.runs.cache_summary import CacheSummary, ShelfSummary


def shelf(name: str, knows: Any = "counts", **numbers: Any) -> ShelfSummary:
    """A shelf of 8 files with these numbers."""
    values: dict[str, Any] = {
        "placement": name,
        "knows": knows,
        "capacity": 8,
        "hit_ratio": 0.5,
        "expected": 0.5,
        "net_bits": 5e9,
        "seconds": 2.0,
        "files": 0.5,
        "miss_bits": 4e9,
        "moved_bits": 1e9,
        "learning_bits": 0.0,
        "control_bits": 0.0,
        "report_bits": 0.0,
        "rival": None,
        "payback": None,
        "break_even_bits": None,
        "late": 0,
    }
    return ShelfSummary(**values | numbers)


def balance(*shelves: ShelfSummary) -> CacheSummary:
    return CacheSummary(100, 24, 256, {each.placement: each for each in shelves})


def plain(*shelves: ShelfSummary) -> dict[str, Any]:
    """The balance as plain data of ``summary.json``."""
    return asdict(balance(*shelves))

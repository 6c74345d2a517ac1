"""Synchronous learning: receivers wait for all clients of an exchange."""

from __future__ import annotations

from fedradio.core.contracts import GatherAll
from fedradio.core.registry import register


@register("gather", "all")
def gather_all() -> GatherAll:
    """Synchronous: receivers merge all updates of an exchange at once, after the last of them or the deadline."""
    return GatherAll()

"""Text and tables shared by several reports: counts with nouns, rough durations, frameless tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table


def count(number: int, word: str) -> str:
    """A number with its noun, plural unless the number is 1."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def rough(seconds: float) -> str:
    """An expected duration, rounded to seconds, minutes, hours or days."""
    for limit, unit, name in ((90, 1, "s"), (90 * 60, 60, "min"), (72 * 3600, 3600, "h")):
        if seconds < limit:
            return f"{max(1, round(seconds / unit))} {name}"
    return f"{round(seconds / 86400)} days"


def plain_table(header: Sequence[str]) -> Table:
    """An empty table without a frame."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        table.add_column(name, overflow="fold")
    return table

"""Text and tables shared by several reports: counts with nouns, rough durations, frameless and Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

Cell = str | Text | None


def count(number: int, word: str) -> str:
    """A number with its noun, plural unless the number is 1."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def rough(seconds: float) -> str:
    """An expected duration, rounded to seconds, minutes, hours or days."""
    for limit, unit, name in ((90, 1, "s"), (90 * 60, 60, "min"), (72 * 3600, 3600, "h")):
        if seconds < limit:
            return f"{max(1, round(seconds / unit))} {name}"
    return f"{round(seconds / 86400)} days"


def plain_table(
    head: Sequence[str],
    rows: Iterable[Sequence[Cell]] = (),
    caption: str = "",
    left: int | None = None,
    wide: bool = True,
) -> Table:
    """A table without a frame: columns after the first ``left`` (None: all) are right-aligned; None is a dash."""
    made = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        show_header=any(head),
        caption=caption or None,
        caption_justify="left",
    )
    for place, title in enumerate(head):
        right = left is not None and place >= left
        made.add_column(Text(title), justify="right" if right else "left", overflow="fold", no_wrap=right and not wide)
    for row in rows:
        made.add_row(*(Text("-") if cell is None else Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; empty without rows."""
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines)

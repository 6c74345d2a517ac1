"""Progress callbacks of long operations."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Called with a description of the present step and the share of it that is done, None where that is unknown."""


def silent(what: str, share: float | None) -> None:
    """A callback that reports nothing."""


def unheard(text: str) -> None:
    """A listener to notes that does nothing with them."""

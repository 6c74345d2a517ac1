"""How long work tells that it goes on."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Hears what is being done and which share of it is done; None where that share is unknown."""


def silent(what: str, share: float | None) -> None:
    """Progress that nobody hears."""

"""How many examples a property is tried on."""

from __future__ import annotations

from hypothesis import settings

WIDE, QUICK = 100, 20
"""Examples of a property that does not say how many."""


def examples(number: int) -> settings:
    """So many examples in the profile ``wide`` of ``tests/conftest.py``, a fifth of them in ``quick``."""
    return settings(max_examples=max(1, number * settings.default.max_examples // WIDE))

"""Shipped costs of units in tests."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fedradio.papers import costs
from fedradio.papers.items import Item
from fedradio.papers.plan import group, plan_reproduction
from fedradio.papers.scales import SCALES


def each_takes(patch: pytest.MonkeyPatch, items: Iterable[Item], cpu_s: float) -> None:
    """One seed of every run and study of these items ships with so many CPU seconds."""
    plans = [plan_reproduction(item, scale, 1) for item in items for scale in SCALES]
    table = {group(unit.work): cpu_s for plan in plans for unit in plan.units}
    patch.setattr(costs, "shipped_costs", lambda: table)

"""CPU seconds of runs and studies of the published items: the shipped table, and what this machine has measured.

``published/costs.json`` holds the CPU seconds of one seed of every run and study on the machine that measured them
(``tools/costs.py``). On another machine they are multiplied by its factor, the median of measured over shipped seconds
of all units that were measured there, too: what was only estimated there says nothing about the speed of a machine.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources
from statistics import median
from typing import Any

from fedradio.runs.speed import measured

LEAST_S = 0.5
"""Shipped CPU seconds below which a unit says nothing about the speed of a machine."""


def shipped_costs() -> Mapping[str, float]:
    """CPU seconds of one seed by the label of a unit without its seed, on the machine that measured them."""
    costs: dict[str, float] = _table()["cpu_s"]
    return costs


def estimated_there() -> frozenset[str]:
    """Labels of the shipped costs that were not measured: they are those of units that are alike."""
    return frozenset(_table()["estimated"])


@functools.cache
def _table() -> Mapping[str, Any]:
    """The shipped table."""
    file = resources.files("fedradio") / "published" / "costs.json"
    table: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return table


def expected_costs() -> Mapping[str, float]:
    """CPU seconds of one seed on this machine: as measured, else the shipped ones times the machine's factor."""
    shipped, here, estimated = shipped_costs(), measured().units, estimated_there()
    factor = machine_factor({label: cpu_s for label, cpu_s in shipped.items() if label not in estimated}, here)
    return {label: factor * cpu_s for label, cpu_s in shipped.items()} | dict(here)


def machine_factor(there: Mapping[str, float], here: Mapping[str, float]) -> float:
    """CPU seconds of this machine for one of the machine whose measured seconds ship; 1 before anything is measured.

    By hand: 30, 12 and 5 seconds measured where 10, 10 and 5 are shipped make a factor of 1.2.
    """
    ratios = [cpu_s / there[label] for label, cpu_s in here.items() if there.get(label, 0.0) >= LEAST_S]
    return median(ratios) if ratios else 1.0

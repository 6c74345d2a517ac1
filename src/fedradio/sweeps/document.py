"""The plan of a sweep as the data of its file ``sweep.json``, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedradio._version import __version__
from fedradio.core.format import FORMAT
from fedradio.results.sweep_file import read_sweep_file
from fedradio.spec.spec import Spec
from fedradio.sweeps.grid import GridVariant, SweepPlan


def read_sweep(folder: Path) -> SweepPlan:
    """The sweep of a folder: all runs that it has, or will have."""
    stored = read_sweep_file(folder)
    variants = tuple(
        GridVariant(cell.set, Spec(cell.spec), tuple(map(int, cell.runs)), cell.stem, cell.label)
        for cell in stored.cells
    )
    return SweepPlan(stored.name, stored.base, stored.axes, tuple(stored.seeds), variants)


def sweep_document(plan: SweepPlan) -> dict[str, Any]:
    """A sweep as plain data for ``sweep.json``."""
    variants = [
        {
            "label": variant.label,
            "stem": variant.stem,
            "runs": {str(seed): variant.folder(seed) for seed in variant.seeds},
            "set": dict(variant.changes),
            "spec": variant.spec.plain,
        }
        for variant in plan.variants
    ]
    head = {"format": FORMAT, "fedradio": __version__, "name": plan.name}
    return {**head, "axes": plan.axes, "seeds": plan.seeds, "base": plan.base, "cells": variants}

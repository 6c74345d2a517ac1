"""The file ``sweep.json`` of a sweep folder: its axes, seeds and variants, written and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedradio._version import __version__
from fedradio.core.errors import StoreError
from fedradio.results.run import MARKER
from fedradio.spec.spec import Spec
from fedradio.sweeps.grid import STEM, GridVariant, SweepPlan

FORMAT = 1
"""Number of the format of ``sweep.json``; a reader refuses all others."""

RUNS = "runs"
"""Folder of the runs inside that of the sweep."""

SPEC_KEYS = ("name", "about", "seed", "rounds", "algorithm", "topology", "data", "hops")
"""Keys of a spec that readers of a sweep rely on."""


def read_sweep(folder: Path) -> SweepPlan:
    """The sweep of a folder: all runs that it has, or will have."""
    path = folder / MARKER
    try:
        document = json.loads(path.read_bytes())
        number, version = document["format"], document["fedradio"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder} is not a sweep: no readable {MARKER} ({type(error).__name__})") from None
    if number != FORMAT:
        raise StoreError(f"{path} has format {number}, fedradio {__version__} reads {FORMAT}; use fedradio {version}")
    try:
        variants = tuple(_variant(variant) for variant in document["cells"])
        seeds = tuple(map(int, document["seeds"]))
        return SweepPlan(str(document["name"]), dict(document["base"]), dict(document["axes"]), seeds, variants)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is damaged: {type(error).__name__}: {error}") from None


def _variant(plain: Mapping[str, Any]) -> GridVariant:
    spec, stem = dict(plain["spec"]), str(plain["stem"])
    if not STEM.fullmatch(stem):
        raise ValueError(f"{stem!r} is no beginning of a run folder's name")
    if lacking := [key for key in SPEC_KEYS if key not in spec]:
        raise KeyError(", ".join(lacking))
    return GridVariant(dict(plain["set"]), Spec(spec), tuple(map(int, plain["runs"])), stem, str(plain["label"]))


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

"""Shared pieces of the tests: a tiny spec that runs in a blink, and overrides on it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from fedradio.experiment.read import apply_overrides
from fedradio.experiment.spec import Spec, check_spec

TINY: dict[str, Any] = {
    "name": "tiny",
    "seed": 3,
    "rounds": 2,
    "topology": {"kind": "flat", "clients": 6},
    "hops": [{"link": "ideal", "policy": {"kind": "fixed", "steps": 3}}],
    "data": {"source": "digits", "partition": "iid"},
    "model": {"kind": "mlp", "hidden": [16]},
    "rule": {"kind": "sgd", "lr": 0.1, "batch": 16},
}

CELLS: dict[str, Any] = TINY | {
    "topology": {"kind": "hierarchical", "edges": 2, "clients_per_edge": 3},
    "hops": [
        {"link": "ideal", "policy": {"kind": "fixed", "steps": 3}, "fleet": "cellular", "period": 2},
        {"link": "ideal", "policy": "fixed"},
    ],
}


@pytest.fixture
def tiny() -> Callable[..., Spec]:
    """``tiny("rule.lr=0.5")``: six clients, a small network on digits, two rounds."""
    return lambda *overrides: check_spec(apply_overrides(copy.deepcopy(TINY), overrides))


@pytest.fixture
def cells() -> Callable[..., Spec]:
    """The same clients in two cells below a server, with devices that take time and energy."""
    return lambda *overrides: check_spec(apply_overrides(copy.deepcopy(CELLS), overrides))

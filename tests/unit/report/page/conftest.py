"""Runs and a sweep to make pages of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.batches import sweep_here
from support.past import two_rounds, written

from fedradio.results.run import Run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep


@pytest.fixture
def made(tmp_path: Path, cells: Callable[..., Spec]) -> Path:
    """A run with edges, seconds and joules in which clients are sampled."""
    folder = tmp_path / "cells-run"
    run(cells("hops.0.policy={kind: sampling, clients: 2, steps: 2}", "data.test=client"), folder)
    return folder


@pytest.fixture
def source(tmp_path: Path, cells: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec for sweeps, whose runs are made in this process."""
    sweep_here(monkeypatch)
    path = tmp_path / "small.yaml"
    path.write_text(cells().yaml())
    return path


@pytest.fixture
def swept(tmp_path: Path, source: Path) -> Path:
    """Two cells on two seeds, all complete."""
    return run_sweep(plan_sweep(source, ["rule.lr=0.1,0.3"], seeds=[1, 2]), tmp_path / "swept").folder


@pytest.fixture
def small(tmp_path: Path, tiny: Callable[..., Spec]) -> Run:
    """Two clients and two rounds of three, written by hand: see :func:`support.past.two_rounds`."""
    return two_rounds(tmp_path / "small", tiny("topology.clients=2", "rounds=3"))


@pytest.fixture
def empty(tmp_path: Path, tiny: Callable[..., Spec]) -> Run:
    """A run that was killed before its first round."""
    return written(tmp_path / "empty", tiny(), [])

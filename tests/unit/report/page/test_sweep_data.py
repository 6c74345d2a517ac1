"""Cells of a sweep: means over complete runs, differences paired by seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedradio.report.page.sweep_data import NOTHING, SweptRun, SweptVariant, read_sweep_data
from fedradio.report.style import style
from fedradio.sweeps.grid import plan_sweep


def run(accuracy: float | None, status: str = "complete") -> SweptRun:
    return SweptRun(Path(), status, 2, {"accuracy": accuracy}, NOTHING, {})


def variant(source: Path, runs: dict[int, SweptRun | None]) -> SweptVariant:
    return SweptVariant("variant-0", plan_sweep(source).variants[0], style("fedavg"), runs)


def test_means_are_of_complete_runs(source: Path) -> None:
    found = variant(source, {1: run(0.5), 2: run(0.7), 3: run(0.9, "diverged"), 4: None})
    assert found.numbers.values("accuracy") == {1: 0.5, 2: 0.7}
    mean = found.numbers.mean("accuracy")
    assert mean is not None
    assert (mean.mean, mean.n) == (pytest.approx(0.6), 2)
    assert found.colour == "@variant-0"


def test_a_mean_needs_the_number_of_every_complete_run(source: Path) -> None:
    assert variant(source, {1: run(0.5), 2: run(None)}).numbers.mean("accuracy") is None
    assert variant(source, {}).numbers.mean("accuracy") is None


def test_differences_are_of_common_seeds(source: Path) -> None:
    """Seeds 1 and 2: 0.1 and 0.3 apart; seed 3 has no partner."""
    one, other = variant(source, {1: run(0.5), 2: run(0.5)}), variant(source, {1: run(0.6), 2: run(0.8), 3: run(0.0)})
    found = other.numbers.difference(one.numbers, "accuracy")
    assert found is not None
    assert (found.mean, found.n) == (pytest.approx(0.2), 2)


def test_a_sweep_is_read_run_after_run(swept: Path) -> None:
    told: list[float] = []
    found = read_sweep_data(swept, lambda _, share: told.append(share))
    assert told == [0.25, 0.5, 0.75, 1.0]
    assert [list(one.runs) for one in found.variants] == [[1, 2], [1, 2]]
    assert list(found.colours()) == ["variant-0", "variant-1"]
    one = found.variants[0].runs[1]
    assert one is not None
    assert one.digest.curve("accuracy", "joules") is not None
    assert one.digest.joules["computing"].clients.shape == (6,)
    assert one.digest.joules["computing"].edge_rounds.shape == (4,)

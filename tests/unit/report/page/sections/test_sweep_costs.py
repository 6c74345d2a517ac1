"""Costs of a sweep: accuracy against what was spent, and the cost until a target."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.pages import words_of

from fedradio.report.page.sections.sweep_costs import costs, reached
from fedradio.report.page.sweep_data import NOTHING, SweptRun, SweptVariant
from fedradio.report.style import style
from fedradio.results.quantities import QUANTITIES
from fedradio.sweeps.grid import plan_sweep

KNOWN = [QUANTITIES["rounds"], QUANTITIES["joules"]]


def swept_run(accuracy: list[float], joules: float, status: str = "complete") -> SweptRun:
    """A run with one evaluation a round, each round so many joules."""
    y, rounds = np.array(accuracy), np.arange(1.0, len(accuracy) + 1)
    totals, series = {"rounds": rounds, "joules": joules * rounds}, {"accuracy": (np.arange(len(accuracy)), y)}
    facts = {"accuracy": accuracy[-1], "rounds": float(len(accuracy)), "joules": joules * len(accuracy)}
    return SweptRun(Path("run"), status, len(accuracy), facts, replace(NOTHING, totals=totals, series=series), {})


@pytest.fixture
def variants() -> list[SweptVariant]:
    """fedavg takes 2 and 3 rounds to 0.5, at 1 J a round; fedprox gets there with one of its seeds, at 50 J a round."""
    grids = plan_sweep("demo", ["algorithm=fedavg,fedprox"], seeds=[1, 2]).variants
    slow = {1: swept_run([0.2, 0.5, 0.7], 1.0), 2: swept_run([0.2, 0.4, 0.6], 1.0)}
    dear = {1: swept_run([0.2, 0.3, 0.5], 50.0), 2: swept_run([0.2, 0.3, 0.4], 50.0)}
    kinds = zip(grids, ("fedavg", "fedprox"), (slow, dear), strict=True)
    return [SweptVariant(f"variant-{n}", grid, style(kind), runs) for n, (grid, kind, runs) in enumerate(kinds)]


def test_cost_until_a_target(variants: list[SweptVariant]) -> None:
    seeds, means = reached(variants[0], 0.5, KNOWN)
    assert seeds == 2
    assert means["rounds"] is not None
    assert means["joules"] is not None
    assert (means["rounds"].mean, means["joules"].mean) == (2.5, 2.5)
    seeds, means = reached(variants[1], 0.5, KNOWN)
    assert seeds == 1
    assert means["joules"] is not None
    assert means["joules"].mean == 150.0
    assert reached(variants[1], 0.6, KNOWN) == (0, {"rounds": None, "joules": None})


def test_the_section(variants: list[SweptVariant]) -> None:
    text = words_of(costs(variants))
    assert "Cost of reaching 40 % accuracy, which every complete run reached" in text
    assert 'id="cost-chart"' in text
    assert 'id="target-chart"' in text
    assert text.index('value="joules"') < text.index('value="rounds"')  # all have three rounds
    assert '"type":"log"' in costs(variants)  # 3 J and 150 J
    assert "algorithm=" not in text


def test_without_a_common_target(variants: list[SweptVariant]) -> None:
    never = SweptVariant("variant-2", variants[0].grid, style("scaffold"), {1: swept_run([0.05, 0.06], 1.0)})
    text = words_of(costs([*variants, never]))
    assert "Cost of reaching 70 % accuracy, over the seeds that reached it" in text
    assert "0 of 1" in text


def test_without_any_run_that_learned(variants: list[SweptVariant]) -> None:
    begun = SweptVariant("variant-0", variants[0].grid, style("fedavg"), {1: swept_run([0.9], 1.0, "unfinished")})
    assert "No complete run has reached 10 % accuracy" in words_of(costs([begun]))

"""Cells of a sweep: means, paired differences, what is missing."""

from pathlib import Path

import numpy as np
import pytest
from support.pages import words_of

from fedradio.report.page import page
from fedradio.report.page.numbers import percent, plus_minus
from fedradio.report.page.sweep_data import read_sweep_data
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import RUNS, run_sweep


def test_a_sweep_shows_means_and_paired_differences(swept: Path) -> None:
    found = read_sweep_data(swept)
    one, other = found.variants
    accuracy = [one.numbers.values("accuracy")[seed] for seed in (1, 2)]
    text = words_of(page(swept))
    mean = one.numbers.mean("accuracy")
    assert mean is not None
    assert mean.mean == pytest.approx(np.mean(accuracy))
    assert plus_minus(mean, percent) in text
    difference = other.numbers.difference(one.numbers, "accuracy")
    assert difference is not None
    assert difference.n == 2
    for chart in (
        "accuracy-chart",
        "loss-chart",
        "differences-chart",
        "energy-clients-chart",
        "energy-edge-rounds-chart",
    ):
        assert f'id="{chart}"' in text
    assert 'href="#variant-0"' in text
    assert 'id="variant-0"' in text
    assert "fedradio sweep tiny.yaml rule.lr=0.1,0.3 --seeds 1,2" in text
    assert page(swept) == page(swept)


def test_a_shared_world_is_claimed_only_where_there_is_one(swept: Path, source: Path, tmp_path: Path) -> None:
    text = words_of(page(swept))
    assert "the same world for every variant" in text
    assert "a different world" not in text
    plan = plan_sweep(source, ["topology.clients_per_edge=2,3", "rule.lr=0.1,0.3"])
    other = words_of(page(run_sweep(plan, tmp_path / "worlds").folder))
    assert "the same world" not in other
    assert "variants have different worlds" in other
    labels = [variant.label for variant in read_sweep_data(tmp_path / "worlds").variants[2:]]
    assert f"{'; '.join(labels)} (topology.clients_per_edge)" in other


def test_runs_that_are_missing_count_in_no_mean(swept: Path) -> None:
    found = read_sweep_data(swept)
    first = swept / RUNS / found.variants[0].grid.folder(1)
    (first / "summary.json").unlink()
    for file in (swept / RUNS / found.variants[1].grid.folder(2)).glob("*"):
        if file.is_file():
            file.unlink()
    text = words_of(page(swept))
    assert "2 of 4 runs are incomplete" in text
    assert "seed 2: not begun" in text
    assert "seed 1: unfinished after 2 of 2 rounds" in text
    again = read_sweep_data(swept)
    assert list(again.variants[0].complete()) == [2]
    assert again.variants[1].numbers.difference(again.variants[0].numbers, "accuracy") is None


def test_a_sweep_without_any_run(swept: Path) -> None:
    for file in swept.rglob("records.jsonl"):
        file.unlink()
    text = words_of(page(swept))
    assert "No run is complete yet" in text
    assert 'class="plot"' not in text

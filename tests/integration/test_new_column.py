"""A new column is one entry of the table of quantities: every reader shows it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from support.pages import words_of
from support.terminal import shown

from fedradio.core.contracts import ExchangeRecord
from fedradio.report.figures.gallery import drawings, write
from fedradio.report.page import page
from fedradio.report.terminal.comparison import comparison_view
from fedradio.report.terminal.summary import summary_table
from fedradio.report.terminal.sweep import results_view
from fedradio.results.compare import compare
from fedradio.results.export import export
from fedradio.results.quantities import QUANTITIES
from fedradio.results.quantity import Quantity
from fedradio.results.run import open_run, open_runs
from fedradio.results.variants import variants
from fedradio.runs.folder import SUMMARY_FILE
from fedradio.spec.spec import Spec
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.sweep import run_sweep, sweep_results

Make = Callable[..., Spec]

STEPS = Quantity(
    "steps",
    "local steps",
    "step",
    "prefix",
    "less",
    per="exchange",
    amount=lambda record: sum(record.steps) if record.hop == 0 else None,
    axis=True,
)
"""Made up for this test; it is in no summary. Two rounds of two edge rounds, 6 clients with 3 steps: 72 steps."""


@pytest.fixture
def swept(cells: Make, tmp_path: Path, at_once: list[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two variants on one seed, made before the quantity was thought of."""
    (tmp_path / "small.yaml").write_text(cells().yaml())
    folder = run_sweep(plan_sweep(tmp_path / "small.yaml", ["rule.lr=0.1,0.3"]), tmp_path / "swept").folder
    monkeypatch.setitem(QUANTITIES, "steps", STEPS)
    return folder


@pytest.fixture
def one(swept: Path) -> Path:
    return next((swept / "runs").iterdir())


def test_it_is_read_from_the_records(one: Path) -> None:
    run = open_run(one)
    assert STEPS.of(run) == 72
    assert sum(sum(record.steps) for record in run.records(ExchangeRecord)) == 72
    totals = run.totals("steps")
    assert totals is not None
    assert totals.tolist() == [36, 72]


def test_summary_of_a_run_complete_or_not(one: Path) -> None:
    for _ in range(2):
        assert re.search(r"^local steps +72 step +$", shown(summary_table(open_run(one))), re.MULTILINE)
        (one / SUMMARY_FILE).unlink(missing_ok=True)


def test_comparison(swept: Path) -> None:
    found = compare(open_runs(swept), target=0.0)
    text = shown(comparison_view(found, 200), width=200)
    first, reach = (line for line in text.splitlines() if "local steps" in line)
    assert first.startswith("variant")
    assert reach.startswith("accuracy at least 0")
    assert text.count("72 step") == text.count("36 step") == 2
    told = json.loads(json.dumps(asdict(found)))
    assert [row["spent"]["steps"]["mean"] for row in told["rows"]] == [72, 72]
    assert [row["mean"]["steps"]["mean"] for row in told["reaches"]] == [36, 36]


def test_results_of_a_sweep(swept: Path) -> None:
    text = shown(results_view(sweep_results(swept), 200), width=200)
    assert "local steps" in text.splitlines()[0]
    assert text.count("72 step") == 2


def test_table_of_runs(swept: Path) -> None:
    export(swept)
    with (swept / "export/runs.csv").open(newline="") as file:
        assert [float(row["steps"]) for row in csv.DictReader(file)] == [72, 72]


def test_figures(swept: Path, tmp_path: Path) -> None:
    drawn = {drawing.name: drawing for drawing in drawings(variants(open_runs(swept)))}
    (file,) = write([drawn["accuracy-steps"]], tmp_path / "out", ["png"])
    assert file.name == "accuracy-steps.png"


def test_page_of_a_run(one: Path) -> None:
    text = page(one)
    assert "<dt>Local steps</dt>" in text
    assert "36 step per round" in text
    assert "Local steps [step]" in text  # title of an axis
    assert '<th scope="col">local steps</th>' in words_of(text)  # table of evaluations


def test_page_of_a_sweep(swept: Path) -> None:
    text = page(swept)
    # results, differences, cost at the end, of all targets and of one, runs of two variants
    assert text.count('<th scope="col">local steps</th>') == 7
    assert "72 step" in words_of(text)
    assert "Local steps [step]" in text
    assert "last local steps" in text

"""The result of a sweep: its text, tables, figure; failures are told everywhere."""

from pathlib import Path

import pytest
from support.sealing import reseal

from fedradio.core.errors import StoreError
from fedradio.runs.folder import SUMMARY_FILE
from fedradio.sweeps.pool import Outcome
from fedradio.sweeps.result import Sweep, failure_text, open_sweep
from fedradio.sweeps.sweep import sweep


@pytest.fixture
def made(source: Path, tmp_path: Path, at_once: list[str]) -> Sweep:
    return sweep(source, ["rule.lr=0.1,0.2"], seeds=2, out=tmp_path / "s")


def test_two_lines_and_a_table(made: Sweep) -> None:
    assert repr(made) == f"Sweep tiny: 2 variants, 4 runs, all complete\n  in {made.folder}"
    assert (made.exit_code, made.failed) == (0, [])
    page = made._repr_html_()
    assert "<td>rule.lr=0.1</td><td>2/2</td>" in page
    assert repr(open_sweep(made.folder)) == repr(made)


def test_tables(made: Sweep) -> None:
    pytest.importorskip("pandas")
    runs = made.to_pandas()
    assert runs[["rule.lr", "seed", "status"]].values.tolist() == [
        [0.1, 1, "complete"],
        [0.1, 2, "complete"],
        [0.2, 1, "complete"],
        [0.2, 2, "complete"],
    ]
    assert runs["accuracy"].tolist() == [run.accuracy for run in made.runs]
    means = made.to_pandas("variants")
    assert means["accuracy"].tolist() == [each.accuracy.mean for each in made.variants if each.accuracy is not None]
    curves = made.to_pandas("evaluations")
    assert curves.groupby("rule.lr")["rounds"].max().tolist() == [2, 2]


def test_failures_are_told(made: Sweep) -> None:
    reseal(made.folder / "runs/rule.lr-0.1-seed1", status="diverged", accuracy=None)
    (made.folder / "runs/rule.lr-0.2-seed2" / SUMMARY_FILE).unlink()
    found = open_sweep(made.folder)
    assert [outcome.status for outcome in found.failed] == ["diverged", "unfinished"]
    assert found.exit_code == 1
    first, *rest = repr(found).splitlines()
    assert first == "Sweep tiny: 2 variants, 4 runs, 2 complete, 1 diverged, 1 unfinished"
    assert rest[1] == "  diverged: rule.lr=0.1, seed 1"
    pytest.importorskip("pandas")
    assert found.to_pandas()["status"].tolist() == ["diverged", "complete", "complete", "unfinished"]


def test_a_failure_is_short(made: Sweep) -> None:
    outcome = Outcome(made.outcomes[0].task, "failed", f"{'long ' * 100}\nsecond line", fresh=True, exit_code=4)
    assert failure_text(outcome).startswith("failed: rule.lr=0.1, seed 1: long long")
    assert len(failure_text(outcome)) < 160
    failed = Sweep(made.folder, [outcome, *made.outcomes[1:]])
    assert failed.exit_code == 4
    assert "3 complete, 1 failed" in repr(failed)


def test_a_curve_of_every_variant(made: Sweep) -> None:
    axes = made.plot(against="bits").axes[0]
    assert len(axes.lines) == 2


def test_no_sweep(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a sweep folder"):
        open_sweep(tmp_path)

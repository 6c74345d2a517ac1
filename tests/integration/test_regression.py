"""Regression in runs, sweeps and comparisons: the RMSE takes the place of the accuracy, and less is better."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.commands import invoke

from fedradio.core.contracts import EvaluationRecord
from fedradio.core.errors import DataError, SpecError
from fedradio.report.charts.chart import Chart, Group, Line
from fedradio.report.charts.costs import costs
from fedradio.report.charts.spread import spread
from fedradio.report.style import SOLID, Style
from fedradio.results.compare import compare
from fedradio.results.digest import digest
from fedradio.results.quantities import QUANTITIES
from fedradio.results.run import open_run
from fedradio.runs.records import read_records
from fedradio.runs.run import run as run_spec
from fedradio.spec.build import build
from fedradio.spec.spec import check_spec
from fedradio.sweeps.result import open_sweep

SPEC = """
name: values
rounds: 4
topology: {kind: flat, clients: 4}
hops: [{policy: {kind: fixed, steps: 4}}]
data: {source: {kind: synthetic_regression, samples: 200, test_samples: 50}}
model: {kind: mlp, hidden: [8]}
rule: {kind: sgd, lr: 0.05, batch: 8}
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two rates with two seeds."""
    here = tmp_path_factory.mktemp("values")
    (here / "values.yaml").write_text(SPEC)
    done = invoke("sweep", here / "values.yaml", "rule.lr=0.002,0.05", "--seeds", "1,2", "--out", here / "s")
    assert done.exit_code == 0, done.output
    assert "RMSE" in done.output
    return here / "s"


def test_records_and_summaries_carry_an_rmse(swept: Path) -> None:
    sweep = open_sweep(swept)
    for run in sweep.runs:
        records = list(read_records(run.folder, EvaluationRecord))
        assert all({"rmse", "loss"} == set(record.metrics) for record in records)
        assert run.rmse == records[-1].metrics["rmse"]
        assert run.best_rmse == min(record.metrics["rmse"] for record in records)
        assert run.accuracy is None
        assert run.summary is not None
        assert run.summary["best_rmse"] == run.best_rmse
        assert "RMSE" in repr(run)
        assert QUANTITIES["best_rmse"].of(run) == run.best_rmse


def test_less_is_better_in_comparisons_and_targets(swept: Path) -> None:
    runs = open_sweep(swept).runs
    slow, fast = ([run for run in runs if run.spec.plain["rule"]["lr"] == lr] for lr in (0.002, 0.05))
    target = max(run.best_rmse for run in fast if run.best_rmse is not None)
    comparison = compare(runs, target=target)
    assert (comparison.metric, comparison.rising) == ("rmse", False)
    assert [reach.reached for reach in comparison.reaches] == [0, 2]
    (difference,) = comparison.differences
    assert difference.last is not None
    assert difference.last.mean < 0
    shown = invoke("compare", swept, "--target", target)
    assert "at most" in shown.output
    look = Style("@blue", SOLID, "o")
    groups = [Group(label, look, [digest(run) for run in some]) for label, some in (("slow", slow), ("fast", fast))]
    ends, reaching = costs(groups)
    assert isinstance(ends, Chart)
    assert isinstance(reaching, Chart)
    assert "lower left" in ends.says
    assert ends.title.startswith("RMSE")


def test_figures_and_reports_are_drawn(swept: Path, tmp_path: Path) -> None:
    assert invoke("report", swept).exit_code == 0
    assert "RMSE" in (swept / "report.html").read_text()
    assert invoke("figures", swept, "--out", tmp_path).exit_code == 0
    assert (tmp_path / "rmse-rounds.png").exists()
    assert (tmp_path / "target-rounds.png").exists()
    first = open_sweep(swept).runs[0].folder
    assert invoke("report", first).exit_code == 0
    exported = invoke("export", swept, "--out", tmp_path / "tables")
    assert exported.exit_code == 0
    head = (tmp_path / "tables" / "evaluations.csv").read_text().splitlines()[0].split(",")
    assert "best_rmse" in head
    assert not [name for name in head if "accuracy" in name]


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_values_of_files_are_read_where_the_spec_asks_for_them(kind: str, tmp_path: Path) -> None:
    """Without the key, decimals are refused as labels; with it, a run learns them."""
    g = np.random.default_rng(1)
    x = g.normal(size=(60, 2))
    y = x @ np.array([1.0, -2.0]) + 0.5
    place = tmp_path / f"table.{kind}"
    if kind == "npz":
        np.savez(place, x=x, y=y)
    elif kind == "csv":
        np.savetxt(place, np.column_stack([x, y]), delimiter=",", header="a,b,y", comments="")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"a": x[:, 0], "b": x[:, 1], "y": y}), place)
    label = {} if kind == "npz" else {"label": "y"}
    plain = {
        "rounds": 8,
        "topology": {"kind": "flat", "clients": 3},
        "data": {"source": {"kind": kind, "path": str(place), **label}, "target": "value"},
        "model": "logistic",
        "rule": {"kind": "sgd", "lr": 0.1, "batch": 4},
    }
    done = run_spec(check_spec(plain), tmp_path / "run")
    assert done.metrics["rmse"] < 0.1
    with pytest.raises(DataError, match="labels are classes"):
        build(check_spec(plain | {"data": {"source": {"kind": kind, "path": str(place), **label}}}))


def test_a_target_that_the_source_does_not_have_is_refused() -> None:
    for source, target in (("digits", "value"), ("synthetic_regression", "class")):
        with pytest.raises(SpecError, match="targets of this source") as refused:
            build(
                check_spec({"data": {"source": source, "target": target}, "topology": {"kind": "flat", "clients": 2}})
            )
        assert refused.value.problems[0].path == "data.target"


def test_a_single_run_prints_its_rmse(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(SPEC)
    done = invoke("run", tmp_path / "values.yaml", "--out", tmp_path / "r")
    assert "round 4/4  RMSE" in done.output
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["rmse"] == open_run(tmp_path / "r").rmse


def test_the_spread_over_clients_is_that_of_their_errors(tmp_path: Path) -> None:
    """Each client has its own test set: the lowest RMSE is the best one, and none of them is a share."""
    spec = check_spec(yaml.safe_load(SPEC) | {"data": {**yaml.safe_load(SPEC)["data"], "test": "client"}})
    run_spec(spec, tmp_path / "r", workers=1)
    run = open_run(tmp_path / "r")
    by = run.digest.client_metrics["rmse"]
    last = by[max(by)]
    chart, _ = spread([Group("all", Style("@first", SOLID, ""), [run.digest])])
    assert isinstance(chart, Chart)
    (plot,) = chart.plots.values()
    assert plot.x.unit == ""
    drawn = plot.layers[1]
    assert isinstance(drawn, Line)
    assert sorted(set(drawn.x.tolist())) == sorted(set(last.tolist()))
    text = QUANTITIES["rmse"].text
    assert f"the best of {len(last)} clients has {text(last.min())}" in chart.says
    assert f"the worst {text(last.max())};" in chart.says

"""Runs in a local store of MLflow, read back by its client."""

import sys
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError, StoreError
from fedradio.report.trackers.mlflow import Mlflow, check_mlflow, store_uri
from fedradio.report.trackers.points import points
from fedradio.results.run import open_run


def test_mlflow_reads_what_was_recorded(made: Path, tmp_path: Path) -> None:
    from mlflow.tracking import MlflowClient

    run = open_run(made)
    uri = store_uri(tmp_path / "store", made)
    tracker = Mlflow(run, "cells", uri)
    every = list(points(run))
    tracker.add([point for point in every if point.step < 3])
    tracker.close("unfinished")
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("cells")
    assert client.search_runs([experiment.experiment_id])[0].info.status == "RUNNING"

    again = Mlflow(run, "cells", uri)  # goes on where it was
    assert again.seen() == 2
    again.add(list(points(run, again.seen())))
    again.close("complete")
    (found,) = client.search_runs([experiment.experiment_id])
    assert (found.info.run_name, found.info.status) == (made.name, "FINISHED")
    assert found.data.params["rule.lr"] == "0.1"
    assert found.data.params["model.hidden"] == "[16]"
    history = client.get_metric_history(found.info.run_id, "evaluation/accuracy")
    assert {each.step: each.value for each in history} == {
        record.round: record.metrics["accuracy"] for record in run.evaluations
    }
    assert [each.step for each in client.get_metric_history(found.info.run_id, "spent/joules")] == [1, 2, 3]
    assert not (Path.cwd() / "mlruns").exists()


def test_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert store_uri(None, tmp_path) == f"sqlite:///{tmp_path}/export/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracker:5000")
    assert store_uri(None, tmp_path) == "http://tracker:5000"
    assert store_uri(tmp_path / "mine", tmp_path) == f"sqlite:///{tmp_path}/mine/mlflow.db"
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot use"):
        store_uri(tmp_path / "file", tmp_path)


def test_a_store_that_is_none(made: Path) -> None:
    with pytest.raises(StoreError, match="MLflow refuses nonsense"):
        Mlflow(open_run(made), "cells", "nonsense://store")


def test_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(SpecError, match=r"fedradio\[mlflow\]"):
        check_mlflow()

"""Runs for MLflow: metrics by step, and the values of the spec as parameters.

A run that is already in the store is continued: nothing is stored twice. Without a server, the store is one SQLite
file. MLflow's telemetry is switched off unless the environment switches it on.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.report.trackers.points import ROUNDS, Point, began_s, settings
from fedradio.results.run import Run

STORE = "mlflow.db"
"""Name of the local store."""

TAG = "fedradio.run"
"""The tag that identifies a run: its folder's name and the fingerprint of its spec, including the seed."""

MOST_METRICS, MOST_PARAMS, MOST_CHARACTERS = 1000, 100, 6000
"""MLflow's limits: metrics and parameters per request, and characters per parameter."""

STATUS = {"complete": "FINISHED", "unfinished": "RUNNING", "interrupted": "KILLED"}
"""Status of a run in MLflow; any other is FAILED."""


class Mlflow:
    """A run in an experiment of MLflow, whose name is that of the spec or sweep."""

    def __init__(self, run: Run, experiment: str, uri: str) -> None:
        check_mlflow()
        from mlflow.entities import Metric, Param
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        self._metric, self._error = Metric, MlflowException
        try:
            self._client = MlflowClient(tracking_uri=uri)
            place = _experiment(self._client, experiment)
            found = self._client.search_runs([place], filter_string=f"tags.`{TAG}` = '{_identity(run)}'")
            if found:
                self._id, self._seen = found[0].info.run_id, int(found[0].data.metrics.get(ROUNDS, 0))
                return
            tags = {TAG: _identity(run), "mlflow.source.name": "fedradio"}
            made = self._client.create_run(place, round(began_s(run) * 1000), tags, run.folder.name)
            self._id, self._seen = made.info.run_id, 0
            texts = [Param(key, _text(value)) for key, value in settings(run).items()]
            for start in range(0, len(texts), MOST_PARAMS):
                self._client.log_batch(self._id, params=texts[start : start + MOST_PARAMS])
        except MlflowException as error:
            raise _refused(uri, error) from None

    def seen(self) -> int:
        return self._seen

    def add(self, points: list[Point]) -> None:
        metrics = [
            self._metric(name, value, round(point.at_s * 1000), point.step)
            for point in points
            for name, value in point.values.items()
        ]
        try:
            for start in range(0, len(metrics), MOST_METRICS):
                self._client.log_batch(self._id, metrics=metrics[start : start + MOST_METRICS])
        except self._error as error:
            raise _refused("its store", error) from None

    def close(self, status: str) -> None:
        known = STATUS.get(status, "FAILED")
        if known == "RUNNING":
            self._client.update_run(self._id, known)
        else:
            self._client.set_terminated(self._id, known)


def store_uri(out: Path | None, folder: Path) -> str:
    """The store: the folder that the user chose, or ``MLFLOW_TRACKING_URI``, or ``folder/export``."""
    given = os.environ.get("MLFLOW_TRACKING_URI")
    if out is None and given:
        return given
    place = folder / "export" if out is None else out
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot use {place} for MLflow: {error.strerror or error}") from None
    return f"sqlite:///{(place / STORE).resolve()}"


def check_mlflow() -> None:
    """Raise an error if MLflow is not installed, and silence its output if it is."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        import alembic  # noqa: F401
        import mlflow  # noqa: F401
        import sqlalchemy  # noqa: F401
    except ImportError:
        remedy = "pip install 'fedradio[mlflow]'"
        raise SpecError(Problem("--to", "MLflow is not installed", remedy, "mlflow")) from None
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _experiment(client: Any, name: str) -> str:
    """The experiment of that name, made if there is none."""
    found = client.get_experiment_by_name(name)
    return str(found.experiment_id if found is not None else client.create_experiment(name))


def _identity(run: Run) -> str:
    quoted = run.folder.name.replace("'", "_")
    return f"{quoted} {run.spec.sha256()[:16]}"


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:MOST_CHARACTERS]


def _refused(uri: str, error: Exception) -> StoreError:
    return StoreError(f"MLflow refuses {uri}: {str(error).splitlines()[0]}")

"""Runs for TensorBoard: one event file per run, with its scalars and, as hyperparameters, the values of its spec."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.report.trackers.points import Point, began_s, settings
from fedradio.results.run import Run

FILE = "events.out.tfevents.fedradio"
"""Name of a run's event file; TensorBoard looks for ``tfevents`` in it."""


class TensorBoard:
    """The event file of a run, in a folder with the run's name; rewritten each time and readable while it grows."""

    def __init__(self, run: Run, folder: Path) -> None:
        check_tensorboard()
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = Event, Summary
        self.path = folder / run.folder.name / FILE
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = RecordWriter(self.path.open("wb"))
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror or error}") from None
        began = began_s(run)
        self._write(wall_time=began, file_version="brain.Event:2")
        self._write(wall_time=began, summary=hparams_pb(_hyperparameters(run), run.folder.name, began))
        self._writer.flush()

    def seen(self) -> int:
        return 0

    def add(self, points: list[Point]) -> None:
        for point in points:
            values = [self._summary.Value(tag=name, simple_value=value) for name, value in point.values.items()]
            self._write(wall_time=point.at_s, step=point.step, summary=self._summary(value=values))
        self._writer.flush()

    def close(self, status: str) -> None:
        self._writer.close()

    def _write(self, **content: Any) -> None:
        self._writer.write(self._event(**content).SerializeToString())


def check_tensorboard() -> None:
    """Raise an error if TensorBoard is not installed."""
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        remedy = "pip install 'fedradio[tensorboard]'"
        raise SpecError(Problem("--to", "TensorBoard is not installed", remedy, "tensorboard")) from None


def _hyperparameters(run: Run) -> dict[str, bool | int | float | str]:
    """The values of a spec as TensorBoard takes them: those that are lists or absent as JSON text."""
    values = settings(run)
    return {
        key: value if isinstance(value, bool | int | float | str) else json.dumps(value)
        for key, value in values.items()
    }

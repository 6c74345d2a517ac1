"""Event files, read back by TensorBoard itself."""

import sys
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError, StoreError
from fedradio.report.trackers.points import points
from fedradio.report.trackers.tensorboard import TensorBoard, check_tensorboard
from fedradio.results.run import open_run


def test_tensorboard_reads_what_was_recorded(made: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata

    run = open_run(made)
    tracker = TensorBoard(run, tmp_path / "logs")
    tracker.add(list(points(run)))
    tracker.close("complete")
    read = EventAccumulator(str(tmp_path / "logs" / made.name))
    read.Reload()
    scalars = {event.step: event.value for event in read.Scalars("evaluation/accuracy")}
    assert scalars == pytest.approx({record.round: record.metrics["accuracy"] for record in run.evaluations})
    assert [event.step for event in read.Scalars("spent/joules")] == [1, 2, 3]
    content = read.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    told = metadata.parse_session_start_info_plugin_data(content)
    assert told.hparams["rule.lr"].number_value == 0.1
    assert told.hparams["hops.0.link.kind"].string_value == "ideal"
    assert told.hparams["model.hidden"].string_value == "[16]"


def test_written_again_nothing_is_there_twice(made: Path, tmp_path: Path) -> None:
    run = open_run(made)
    sizes = []
    for _ in range(2):
        tracker = TensorBoard(run, tmp_path)
        tracker.add(list(points(run)))
        tracker.close("complete")
        sizes.append(tracker.path.read_bytes())
    assert sizes[0] == sizes[1]


def test_a_place_that_cannot_be_written(made: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot write"):
        TensorBoard(open_run(made), tmp_path / "file")


def test_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(SpecError, match=r"fedradio\[tensorboard\]"):
        check_tensorboard()

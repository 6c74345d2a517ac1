"""What a worker tells of the run that it makes."""

from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from fedradio.core.files import locked
from fedradio.runs.folder import (
    RECORDS_FILE,
)
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps import worker

Make = Callable[..., Spec]


def test_a_worker_tells_what_is_noted_and_what_it_waits_for(
    tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "begun"
    folder.mkdir()
    (folder / RECORDS_FILE).touch()
    monkeypatch.setattr(worker, "PATIENCE_S", 0.1)
    sent: list[dict[str, Any]] = []
    setting = {"device": "cpu", "workers": 1, "parts": [], "skip_held": False}
    job = {"spec": tiny().plain, "folder": str(folder), **setting}
    with locked(folder):
        worker.perform(job, sent.append)
    assert [message["event"] for message in sent] == ["noted", "end"]
    assert "in use" in sent[0]["text"]
    assert "waiting up to" in sent[0]["text"]
    assert sent[1]["status"] == "failed"
    sent.clear()
    with locked(folder):
        worker.perform(job | {"skip_held": True}, sent.append)
    assert [(message["event"], message["status"]) for message in sent] == [("end", "held")]
    sent.clear()
    worker.perform(job, sent.append)
    notes = [message["text"] for message in sent if message["event"] == "noted"]
    assert notes == []  # it takes over a folder whose process was killed before it wrote anything
    assert sent[-1]["status"] == "complete"


def test_a_run_that_another_process_begins_just_now_is_left_to_it(
    tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is free when the worker looks, and taken when it wants to begin."""
    folder = tmp_path / "taken"
    run(tiny(), folder)
    looks = iter([False, True, True])
    monkeypatch.setattr(worker, "is_run", lambda _: next(looks))
    sent: list[dict[str, Any]] = []
    setting = {"device": "cpu", "workers": 1, "parts": [], "skip_held": False}
    worker.perform({"spec": tiny().plain, "folder": str(folder), **setting}, sent.append)
    assert sent[-1]["status"] == "complete"
    assert "there is nothing left to do" in sent[0]["text"]


def test_a_signal_just_before_the_wait_for_a_task_does_not_wait_for_the_next_task() -> None:
    """Such a signal has set Python's flag, but ends no wait that begins after it: only a limit does."""

    class Tasks(SimpleQueue[dict[str, Any]]):
        def get(self, block: bool = True, timeout: float | None = None) -> dict[str, Any]:
            assert timeout is not None
            assert timeout <= 5.0
            assert not self.empty(), "the flag is looked at here"
            return super().get(block, timeout)

    with pytest.raises(AssertionError, match="looked at here"):
        worker._next(Tasks())
    waiting = Tasks()
    waiting.put({"folder": "a"})
    assert worker._next(waiting) == {"folder": "a"}

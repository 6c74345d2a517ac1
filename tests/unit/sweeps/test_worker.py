"""What a worker tells of the run that it makes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedradio.core.files import locked
from fedradio.runs.folder import (
    RECORDS_FILE,
)
from fedradio.spec.spec import Spec
from fedradio.sweeps import worker

Make = Callable[..., Spec]


def test_a_worker_tells_what_is_noted_and_what_it_waits_for(
    tiny: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "begun"
    folder.mkdir()
    (folder / RECORDS_FILE).touch()
    monkeypatch.setattr(worker, "PATIENCE_S", 0.0)
    sent: list[dict[str, Any]] = []
    job = {"spec": tiny().plain, "folder": str(folder), "device": "cpu", "workers": 1, "parts": []}
    with locked(folder):
        worker.perform(job, sent.append)
    assert [message["event"] for message in sent] == ["noted", "end"]
    assert "in use" in sent[0]["text"]
    assert "waiting up to" in sent[0]["text"]
    sent.clear()
    worker.perform(job, sent.append)
    notes = [message["text"] for message in sent if message["event"] == "noted"]
    assert notes == []  # it takes over a folder whose process was killed before it wrote anything
    assert sent[-1]["status"] == "complete"

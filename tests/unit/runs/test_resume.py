"""What can be resumed; that resumed runs equal others is in ``tests/integration``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.sealing import blank_summary, write_summary

from fedradio.core.errors import SpecError, StoreError
from fedradio.runs.folder import RECORDS_FILE, SPEC_FILE
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer
from fedradio.spec.spec import Spec


class Notes(Observer):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def noted(self, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def complete(tiny: Callable[..., Spec], tmp_path: Path) -> Path:
    (tmp_path / SPEC_FILE).write_text(tiny().yaml())
    (tmp_path / RECORDS_FILE).touch()
    write_summary(tmp_path, blank_summary(tiny(), accuracy=0.5))
    return tmp_path


def test_a_complete_run_gives_its_summary(complete: Path, tiny: Callable[..., Spec]) -> None:
    watch = Notes()
    assert resume(complete, observer=watch) == blank_summary(tiny(), accuracy=0.5)
    assert resume(str(complete), rounds=2) == blank_summary(tiny(), accuracy=0.5)
    assert "is complete" in watch.texts[0]


def test_it_cannot_end_before_it_has(complete: Path) -> None:
    with pytest.raises(SpecError, match="2 rounds are already done"):
        resume(complete, rounds=1)


def test_the_summary_of_another_spec_is_refused(complete: Path) -> None:
    spec = complete / SPEC_FILE
    spec.write_text(spec.read_text().replace("seed: 3", "seed: 4"))
    with pytest.raises(StoreError, match="fingerprint differs"):
        resume(complete)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        resume(tmp_path)

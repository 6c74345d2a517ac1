"""Run folders: names, summaries, locks."""

from pathlib import Path

import pytest

from fedradio.core.errors import StoreError
from fedradio.runs.folder import (
    SUMMARY_FILE,
    new_folder,
    read_summary,
)


def test_new_folders_are_numbered(tmp_path: Path) -> None:
    assert new_folder("x", 1, tmp_path) == tmp_path / "x-seed1"
    (tmp_path / "x-seed1").mkdir()
    assert new_folder("x", 1, tmp_path) == tmp_path / "x-seed1-2"


def test_a_summary_that_is_none_is_refused(tmp_path: Path) -> None:
    for text in ("{}", "[]", '{"status": "complete"}'):
        (tmp_path / SUMMARY_FILE).write_text(text)
        with pytest.raises(StoreError, match="not the summary of a run"):
            read_summary(tmp_path)

"""The process beside a run that serves its live page."""

import os
import urllib.request
from pathlib import Path

import pytest

from fedradio.core.errors import StoreError
from fedradio.report.live import companion
from fedradio.report.live.companion import Companion


def test_it_serves_until_the_run_has_ended(tmp_path: Path) -> None:
    with Companion(tmp_path / "run") as page:
        with urllib.request.urlopen(page.url) as answer:
            assert b"has not started yet" in answer.read()
        process = page._process
        assert os.getpgid(process.pid) == process.pid  # Ctrl-C is not for it
    assert process.returncode == 0
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(page.url)


def test_one_that_does_not_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(companion.sys, "executable", "/bin/false")
    with pytest.raises(StoreError, match="cannot be served"):
        Companion(tmp_path)

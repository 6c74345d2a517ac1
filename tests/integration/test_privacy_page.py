"""The page about the privacy protocol: its command prints what the page says."""

from pathlib import Path

import pytest
from support.console import check_page

from fedradio.cli.app import err, out

ROOT = Path(__file__).parents[2]


def test_console_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    for console in (out, err):
        monkeypatch.setattr(console, "_width", 100)
    page = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    assert check_page(page, monkeypatch, capsys) == 1

"""Pages whose commands print what the pages say: the tutorial, data and channels of one's own, figures."""

import shutil
from pathlib import Path

import pytest
from support.console import check_page

from fedradio.cli.app import err, out

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "commands"), [("tutorial", 17), ("your_data", 6), ("your_channel", 7), ("paper_figure", 10)]
)
def test_console_blocks(
    name: str, commands: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for console in (out, err):
        monkeypatch.setattr(console, "_width", 100)
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert check_page(page, monkeypatch, capsys) == commands

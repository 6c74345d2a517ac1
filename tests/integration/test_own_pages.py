"""Pages whose commands print what the pages say: the tutorial, data and channels of one's own, figures."""

import shutil
from pathlib import Path

import pytest
from support.console import PIECE, check_page

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "commands"), [("tutorial", 18), ("your_data", 6), ("your_channel", 7), ("paper_figure", 8)]
)
def test_console_blocks(
    name: str, commands: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert check_page(page, monkeypatch, capsys) == commands


def test_every_block_of_the_tutorial_is_checked() -> None:
    """Those that are neither commands with their output nor files would be shown, and never run."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    fences = [line for line in page.splitlines() if line.startswith("```")]
    pieces = list(PIECE.finditer(page))
    assert len(pieces) == len(fences) / 2
    assert all(piece["title"] is not None or piece["text"].startswith("$ ") for piece in pieces)

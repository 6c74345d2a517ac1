"""The user's settings: where they are, and what they may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedradio.core.config import config_file, configured_parts
from fedradio.core.errors import SpecError


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "fedradio").mkdir()
    return tmp_path / "fedradio" / "config.yaml"


def test_there_need_not_be_any(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_file() == settings
    assert configured_parts() == []
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert config_file() == Path("/home/somebody/.config/fedradio/config.yaml")


def test_files_of_parts(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    settings.write_text("parts: [mine.py, /there/ours.py, ~/theirs.py]\n")
    assert configured_parts() == [
        settings.parent / "mine.py",
        Path("/there/ours.py"),
        Path("/home/somebody/theirs.py"),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("parts: mine.py", "must be a list of files"),
        ("parts: [1]", "must be a list of files"),
        ("part: [mine.py]", "unknown setting"),
        ("- parts", "unknown setting"),
        ("parts: [\n", r"not valid YAML: line 2: [^\n]*'<stream end>' -> parts: "),
        ("parts: !!timestamp 2020-99-99", "not valid YAML: month must be in"),
        (f"parts: {'[' * 3000}", "not valid YAML: maximum recursion depth"),
        ("parts: [\x00]", "not valid YAML: special characters are not allowed"),
        ("parts: [~nobody_of_this_name/mine.py]", "no such home folder"),
    ],
)
def test_wrong_settings(settings: Path, text: str, reason: str) -> None:
    settings.write_text(text)
    with pytest.raises(SpecError, match=reason):
        configured_parts()

"""Files of the user's own that a stored run was made with, beside those that are loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedradio.core.part_files import PartFile
from fedradio.runs import own_parts
from fedradio.runs.own_parts import OtherFile, other_part_file

STORED = {"name": "mine.py", "sha256": "a" * 64, "parts": [["link", "radio"]], "source": "x"}


def loaded(sha256: str, kind: str) -> PartFile:
    return PartFile(Path("/here/now.py"), sha256, "y", (("link", kind),))


@pytest.mark.parametrize(
    ("now", "other"),
    [
        ([], OtherFile("mine.py", None)),
        ([loaded("a" * 64, "radio")], None),
        ([loaded("b" * 64, "wire")], OtherFile("mine.py", None)),
        ([loaded("b" * 64, "radio")], OtherFile("mine.py", Path("/here/now.py"))),
    ],
)
def test_a_text_that_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: list[PartFile], other: OtherFile | None
) -> None:
    keys: dict[str, dict[str, str]] = {"spec": {}, "hop": {}, "data": {}}
    document = {"parts": {}, "keys": keys, "part_files": [STORED]}
    (tmp_path / "description.json").write_text(json.dumps(document))
    monkeypatch.setattr(own_parts, "part_files", lambda: now)
    assert other_part_file(tmp_path) == other


def test_only_a_file_that_is_here_is_named_in_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert OtherFile("mine.py", None).option == "FILE"
    (tmp_path / "mine.py").touch()
    assert OtherFile("mine.py", None).option == "mine.py"


def test_a_run_without_own_parts(tmp_path: Path) -> None:
    assert other_part_file(tmp_path) is None

"""Files that are written whole or not at all, and locks."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fedradio.core.errors import StoreError
from fedradio.core.files import (
    LOCK_FILE,
    file_sha256,
    locked,
    read_json,
    replaced_name,
    temporary_path,
    write_json,
    write_text,
)


def test_a_folder_is_held_by_one_process_and_waited_for(tmp_path: Path) -> None:
    code = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    command = [sys.executable, "-c", code, str(tmp_path / LOCK_FILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(StoreError, match="in use"), locked(tmp_path, wait_s=0.3):
            pass
        threading.Timer(0.3, other.stdin.close).start()
        with locked(tmp_path, wait_s=60), pytest.raises(StoreError, match="in use"), locked(tmp_path):
            pass


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.json"
    write_text(path, "old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]


def test_temporary_neighbours_are_known_by_their_names(tmp_path: Path) -> None:
    path = temporary_path(tmp_path / "summary.json")
    assert path.parent == tmp_path
    assert replaced_name(path) == "summary.json"
    for other in ("summary.json", ".notes.tmp", ".summary.json.x.tmp", "summary.json.7.tmp", ".7.tmp"):
        assert replaced_name(Path(other)) is None, other


def test_json_is_written_whole_and_read_forgivingly(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert read_json(path) == {}
    write_json(path, {"x": [1, None]})
    assert read_json(path) == {"x": [1, None]}
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"x": float("nan")})
    assert read_json(path) == {"x": [1, None]}
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]
    for text in ("{", "[1]"):
        path.write_text(text)
        assert read_json(path) == {}


def test_checksum_of_a_known_text(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_sha256(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

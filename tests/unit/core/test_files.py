"""Files that are written whole or not at all, and locks."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fedradio.core.errors import StoreError
from fedradio.core.files import LOCK_FILE, locked, write_text


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

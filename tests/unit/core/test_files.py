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
    canonical,
    file_sha256,
    locked,
    nested_deeper,
    parse_json,
    read_bytes,
    read_json,
    replaced_name,
    sealed,
    temporary_path,
    unsealed,
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


@pytest.mark.parametrize("name", ["x" * 5000, "file/below", "absent/below"])
def test_a_place_where_no_file_can_be(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write") as caught:
        write_text(tmp_path / name, "new")
    assert len(str(caught.value)) < 400


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


def test_a_temporary_file_is_never_written_through_a_link(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    temporary_path(tmp_path / "a.json").symlink_to(precious)
    write_text(tmp_path / "a.json", "new")
    assert precious.read_text() == "mine"
    (tmp_path / "b.json").symlink_to(precious)
    write_text(tmp_path / "b.json", "new")
    assert (precious.read_text(), (tmp_path / "b.json").is_symlink()) == ("mine", False)


def test_sealed_files_notice_everything(tmp_path: Path) -> None:
    data = {"a": 0.1, "b": [1, None], "c": "\u00e4"}
    whole = sealed(data)
    path = tmp_path / "x.json"
    assert unsealed(whole, path) == data
    changes = [whole.replace(b"0.1", b"0.2"), whole.replace(b"0.1", b"0.10"), whole.replace(b": ", b":  ", 1)]
    changes += [whole + b" ", whole[:-1], whole.replace(b'"a": 0.1,', b'"a": 0.1, "a": 0.1,')]
    changes += [whole.replace(b"0.1", b"1e999"), whole.replace(rb"\u00e4", "\u00e4".encode())]
    for changed in changes:
        assert changed != whole
        with pytest.raises(StoreError, match=r"x\.json"):
            unsealed(changed, path)
    with pytest.raises(StoreError, match="no checksum of its own"):
        unsealed(canonical(data), path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "line 1: not complete JSON"),
        (b'{\n"a": 1,\n', "line 3: not complete JSON"),
        (b'{\n"a": "\xff"}', "line 2: not UTF-8"),
        (b"[1]", "line 1: not a mapping"),
        (b"null", "line 1: not a mapping"),
        (b'{"a": NaN}', "it contains NaN"),
        (b'{"a": -Infinity}', "it contains -Infinity"),
        (b'{"a": ' + b"[" * 100_000, "not plain JSON"),
        (b'{"a": ' + b"[" * 41 + b"]" * 41 + b"}", "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not plain JSON"),
    ],
)
def test_json_that_is_not_ours_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(StoreError, match=f"a/b.json(, |: ).*{words}"):
        parse_json(data, Path("a/b.json"))


def test_nesting() -> None:
    assert parse_json(b'{"a": ' + b"[" * 39 + b"]" * 39 + b"}", Path("a"))
    assert nested_deeper({"a": [{}]}, 1)
    assert not nested_deeper({"a": [{}]}, 2)
    assert not nested_deeper({"a": 1}, 0)


def test_only_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert read_bytes(tmp_path / "a") == b"abc"
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    reasons = {"link": "symbolic link", "dangling": "symbolic link", "folder": "is not a file", "pipe": "is not a file"}
    for name, words in (reasons | {"nothing": "is missing"}).items():
        with pytest.raises(StoreError, match=f"{name}: .*{words}"):
            read_bytes(tmp_path / name)


def test_checksum_of_a_known_text(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_sha256(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

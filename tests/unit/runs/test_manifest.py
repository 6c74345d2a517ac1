"""Checksums: known ones, and every way in which a file can differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedradio.core.errors import StoreError
from fedradio.runs.manifest import (
    CHUNK_BYTES,
    Checksum,
    Damage,
    beginning_differs,
    checksum,
    difference,
    file_reason,
    manifest_damage,
    plain_manifest,
)

ABC = Checksum(3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")


def test_a_known_checksum(tmp_path: Path) -> None:
    assert checksum(b"abc") == ABC
    large = bytes(CHUNK_BYTES) + b"x"
    (tmp_path / "large").write_bytes(large)
    assert difference(tmp_path / "large", checksum(large)) is None


def test_differences_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert difference(path, ABC) == "is missing"
    path.write_bytes(b"ab")
    assert difference(path, ABC, checksum(b"wxyz")) == "has 2 bytes, but the run wrote 3 or 4"
    path.write_bytes(b"abd")
    assert str(difference(path, ABC)).startswith("has changed since the run wrote it")
    assert difference(path, ABC, checksum(b"abd")) is None
    (tmp_path / "link").symlink_to(path)
    assert difference(tmp_path / "link", checksum(b"abd")) == "is a symbolic link, which is not followed"
    assert difference(tmp_path, ABC) == "is not a file"


def test_the_beginning_of_a_file_that_may_have_grown(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert beginning_differs(path, ABC) == "is missing"
    path.write_bytes(b"abcdef")
    assert beginning_differs(path, ABC) is None
    path.write_bytes(b"ab")
    assert beginning_differs(path, ABC) == "has 2 bytes, but 3 had been written at the checkpoint"
    path.write_bytes(b"abx")
    assert str(beginning_differs(path, ABC)).startswith("has changed")


def test_a_folder_against_its_manifest(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "c").write_bytes(b"")
    (tmp_path / "stranger").write_bytes(b"")
    found = manifest_damage(tmp_path, {"a": ABC, "b": ABC}, ("a", "b", "c", "d"))
    told = "does not belong to this run: its summary does not list it"
    assert found == [Damage("b", "is missing"), Damage("c", told)]
    assert str(found[0]) == "b: is missing"
    assert plain_manifest({"a": ABC}) == {"a": {"size": 3, "sha256": ABC.sha256}}


@pytest.mark.parametrize("text", ["x/a: is missing", "x/a, line 3: not a record", "x/a is of another format"])
def test_reasons_go_without_the_path(text: str) -> None:
    assert file_reason(Path("x/a"), StoreError(text)) in ("is missing", "line 3: not a record", "is of another format")

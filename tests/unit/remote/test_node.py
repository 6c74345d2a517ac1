"""Machines that may work together: the same versions, the same files of parts, of which only the checksum travels."""

import hashlib
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError
from fedradio.remote.node import Node, compare, load_parts, this_node


def test_this_machine_may_work_for_itself() -> None:
    here = this_node()
    assert compare(here, here) == compare(Node(**asdict(here)), here)
    assert (compare(here, here).refused, compare(here, here).note) == ("", "")


def test_other_versions_are_refused_and_other_processors_told() -> None:
    here = replace(this_node(), name="near")
    for name in ("fedradio", "torch"):
        refused = compare(here, replace(here, name="far", **{name: "0.0"})).refused
        assert refused.startswith(f"far has {name} 0.0, but near has {getattr(here, name)};")
    found = compare(here, replace(here, name="far", capability="SVE"))
    assert (found.refused, "far computes with SVE" in found.note) == ("", True)


def test_files_of_parts_must_be_there_and_be_the_same(tmp_path: Path) -> None:
    path, here = tmp_path / "mine.py", this_node()
    asker = replace(here, parts=[(str(path), hashlib.sha256(b"x = 1\n").hexdigest(), {})])
    assert "cannot be read" in compare(asker, here).refused
    path.write_text("x = 2\n")
    assert "is a different file (its SHA-256 differs)" in compare(asker, here).refused
    with pytest.raises(SpecError, match="SHA-256 differs"):
        load_parts(asker.parts)
    path.write_text("x = 1\n")
    assert compare(asker, here).refused == ""
    with pytest.raises(SpecError, match="registers no part"):  # it was run, from this machine's disk
        load_parts(asker.parts)


def test_neighbours_of_files_of_parts_must_be_the_same_too(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import own_beside\n")
    here, sums = this_node(), [hashlib.sha256(text).hexdigest() for text in (b"import own_beside\n", b"X = 1\n")]
    asker = replace(here, parts=[(str(tmp_path / "mine.py"), sums[0], {"own_beside.py": sums[1]})])
    assert "own_beside.py cannot be read" in compare(asker, here).refused
    (tmp_path / "own_beside.py").write_text("X = 2\n")
    assert "own_beside.py on" in compare(asker, here).refused
    (tmp_path / "own_beside.py").write_text("X = 1\n")
    assert compare(asker, here).refused == ""

"""CSV files of users: their cells, their lines, their checksums."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError
from fedradio.core.tables import column, given_sha256, open_table, read_given, read_table


def write(folder: Path, text: str) -> str:
    (folder / "t.csv").write_text(text)
    return str(folder / "t.csv")


def test_columns_in_any_order(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "\ufeffb, a\n1,2.5\n\n 3 ,4\n"), "part.path", ("a", "b"))
    assert table.numbers("a").tolist() == [2.5, 4.0]
    assert table.whole("b", "a node").tolist() == [1, 3]
    assert table.lines == (2, 4)


def _read(path: str) -> None:
    table = read_table(path, "part.path", ("a", "b"))
    table.numbers("a", 0, 10)
    table.whole("b", "a node")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the first line must contain the names"),
        ("a,c\n1,2\n", "line 1: the first line must be a,b"),
        ("a,b,b\n1,2,3\n", "line 1: two columns are named 'b'"),
        ("a,b\n", "has no rows"),
        ("a,b\n1,2\n1,2,3\n", "line 3: 3 values, but 2 are needed"),
        ("a,b\n1,2\n\nx,2\n", "line 4: a is not a finite number: 'x'"),
        ("a,b\nnan,2\n", "line 2: a is not a finite number"),
        ("a,b\n11,2\n", "line 2: a must be from 0 to 10: '11'"),
        ("a,b\n1,-2\n", "line 2: b is not the number of a node, counted from 0: '-2'"),
        ("a,b\n1,²\n", "line 2: b is not the number of a node"),
        ("a,b\n1,9999999999\n", "line 2: b is not the number of a node"),
        ('a,b\n1,"' + "x" * 200_000 + '"\n', "line 2: not a CSV file"),
    ],
)
def test_wrong_tables_are_told_with_their_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as told:
        _read(write(tmp_path, text))
    assert told.value.problems[0].path == "part.path"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (str(tmp_path), str(tmp_path / "none"), "a\0b", "x" * 5000):
        with pytest.raises(SpecError, match="cannot be read"):
            read_given(path, "part.path")
    with pytest.raises(SpecError, match="cannot be read: it is not a file"):
        read_given(os.devnull, "part.path")
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not a text file in UTF-8"):
        open_table(str(tmp_path / "t.csv"), "part.path")
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + 20_000 * b"1,2\n" + b"\xff,1\n")
    with pytest.raises(SpecError, match="not a text file in UTF-8"):
        read_table(str(tmp_path / "t.csv"), "part.path", ("a", "b"))
    with pytest.raises(SpecError, match="cannot be read"):
        given_sha256(str(tmp_path / "none"), "part.path")


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    assert column("b", ["a", "b"], "t.csv", "source.label") == 1
    with pytest.raises(SpecError, match=r"source.label: t.csv has no such column .*did you mean 'label'"):
        column("lable", ["a", "label"], "t.csv", "source.label")
    with pytest.raises(SpecError, match="the first line names the columns: a, b"):
        column("y", ["a", "b"], "t.csv", "source.label")


def test_checksums_of_files_and_folders(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n")
    assert given_sha256(path, "part.path") == sha256(b"a\n").hexdigest()
    folder = tmp_path / "f"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "one").write_text("1")
    before = given_sha256(str(folder), "part.path")
    (folder / ".hidden").write_text("x")
    assert given_sha256(str(folder), "part.path") == before
    (folder / "in" / "one").write_text("2")
    changed = given_sha256(str(folder), "part.path")
    (folder / "in" / "one").rename(folder / "in" / "two")
    assert len({before, changed, given_sha256(str(folder), "part.path")}) == 3

"""Tables of users as samples: numbers by hand, and what is wrong told with file and line."""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from pyarrow import parquet as files

from fedradio.core.errors import FedradioError, SpecError
from fedradio.core.rng import Rng
from fedradio.data.own.tables import csv, parquet

TEXT = "a,b,kind\n1,10,cat\n3,30,dog\n1,50,cat\n3,70,dog\n"


def write(folder: Path, text: str, name: str = "t.csv") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_columns_by_hand(tmp_path: Path) -> None:
    """Column a: 1, 3, 1, 3 is mean 2, deviation 1."""
    made = csv(4, Rng(0), path=write(tmp_path, TEXT), label="kind", drop=("b",), test_fraction=0)
    assert made.x.tolist() == [[-1.0], [1.0], [-1.0], [1.0]]
    assert (made.y.tolist(), made.classes, made.sample_bits, len(made.test_y)) == ([0, 1, 0, 1], 2, 32.0, 0)
    path = write(tmp_path, TEXT.replace(",", ";"))
    plain = csv(4, Rng(0), path=path, label="kind", delimiter=";", test_fraction=0.5, standardise=False)
    assert sorted(torch.cat([plain.x, plain.test_x]).tolist()) == [[1, 10], [1, 50], [3, 30], [3, 70]]


def test_a_test_file_and_a_shape(tmp_path: Path) -> None:
    path, test = write(tmp_path, TEXT), write(tmp_path, "a,b,kind\n5,10,dog\n", "test.csv")
    made = csv(4, Rng(0), path=path, label="kind", test_path=test, shape=(1, 2, 1), standardise=False)
    assert made.x.shape == (4, 1, 2, 1)
    assert (made.test_x.flatten().tolist(), made.test_y.tolist()) == ([5.0, 10.0], [1])


def test_the_test_part_is_drawn_from_the_seed(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
    one, two, other = (csv(4, Rng(seed), path=path, label="y") for seed in (1, 1, 2))
    assert torch.equal(one.test_x, two.test_x)
    assert not torch.equal(one.test_x, other.test_x)
    assert len(one.test_y) == 8


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, "line 1: the first line must contain the names"),
        ("a,b,kind\n", {}, "has no samples after its first line"),
        ("1,10,0\n3,30,1\n", {}, "has no such column .*the first line names the columns"),
        (TEXT, {"label": "kinds"}, "source.label: .*has no such column .*did you mean 'kind'"),
        (TEXT, {"drop": ("c",)}, "source.drop: .*has no such column"),
        (TEXT, {"drop": ("a", "b")}, "no input column besides kind"),
        (TEXT, {"delimiter": ";"}, "has no such column .*is the delimiter right"),
        (TEXT, {"delimiter": ""}, "source.delimiter: must be a single character"),
        (TEXT, {"shape": (1, 3)}, "source.shape: a sample of .* has 2 values, but the shape has 3"),
        (TEXT, {"label": "b"}, "line 2: kind is not a finite number: 'cat'.*source.drop="),
        (TEXT, {"label": "b", "drop": ("kind",)}, "labels up to 70, and none is 0"),
        (TEXT + "5,90,\n", {}, "line 6: kind is empty: every sample needs a label"),
        (TEXT + "5,90,NaN\n", {}, "line 6: kind is NaN: every sample needs a label"),
        (TEXT + "5,,cat\n", {}, "line 6: b is not a finite number: ''"),
        (TEXT + "inf,9,cat\n", {}, "line 6: a is not a finite number: 'inf'"),
        (TEXT + "5,9\n", {}, "line 6: 2 values, but 3 are needed"),
        (TEXT.replace("dog", "cat"), {}, "has the same label"),
        ("a,y\n1,0.5\n2,1\n", {"label": "y"}, "y is 0.5 at sample 0: labels are classes"),
        ("a,y\n1,0\n2,3\n", {"label": "y"}, "labels up to 3, and none is 1: .*relabel"),
        ("a,y\n1,-1\n2,1\n", {"label": "y"}, "y is -1 at sample 0"),
        (TEXT, {"test_fraction": 0.2}, "leaves the test set empty"),
        (TEXT, {"test_path": "none.csv"}, "source.test_path: cannot be read"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, text: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(FedradioError, match=words):
        csv(4, Rng(0), **{"path": write(tmp_path, text), "label": "kind", "test_fraction": 0.5} | options)


def test_a_test_file_with_other_columns(tmp_path: Path) -> None:
    path, test = write(tmp_path, TEXT), write(tmp_path, "a,c,kind\n5,10,dog\n", "test.csv")
    with pytest.raises(SpecError, match=r"do not have the same columns.*check the column b"):
        csv(4, Rng(0), path=path, label="kind", test_path=test)


def stored(folder: Path, **columns: Any) -> str:
    files.write_table(pa.table(columns), folder / "t.parquet")
    return str(folder / "t.parquet")


def test_parquet_is_the_same_table(tmp_path: Path) -> None:
    path = stored(tmp_path, a=[1, 3, 1, 3], b=[True, False, True, True], kind=["cat", "dog"] * 2)
    made = parquet(4, Rng(0), path=path, label="kind", test_fraction=0, standardise=False)
    assert made.x.tolist() == [[1, 1], [3, 0], [1, 1], [3, 1]]
    assert made.y.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [1.0, None], "kind": ["a", "b"]}, "a is None in row 1"),
        ({"a": [1.0, float("nan")], "kind": ["a", "b"]}, "a is nan in row 1"),
        ({"a": ["x", "y"], "kind": ["a", "b"]}, "column a is string, not numbers"),
        ({"a": [[1], [2]], "kind": ["a", "b"]}, "column a is list.* not numbers"),
        ({"a": [1, 2], "kind": ["a", None]}, "y is None at sample 1: every sample needs a label"),
        ({"a": [1, 2], "y": [0, 1]}, "has no such column"),
        ({"a": pa.array([], pa.int64()), "kind": pa.array([], pa.string())}, "has no samples"),
    ],
)
def test_wrong_parquet_is_refused(tmp_path: Path, columns: dict[str, Any], words: str) -> None:
    with pytest.raises(FedradioError, match=words):
        parquet(4, Rng(0), path=stored(tmp_path, **columns), label="kind")


def test_parquet_that_is_none_and_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, TEXT, "t.parquet")
    with pytest.raises(SpecError, match="not a readable Parquet file"):
        parquet(4, Rng(0), path=path, label="kind")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SpecError, match=r"not installed.*pip install 'fedradio\[parquet\]'"):
        parquet(4, Rng(0), path=path, label="kind")

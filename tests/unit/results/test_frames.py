"""Tables of runs as DataFrames."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError
from fedradio.results.frames import RECORDS, as_frame, frame
from fedradio.results.run import Run, open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

pytest.importorskip("pandas")


@pytest.fixture
def made(cells: Callable[..., Spec], tmp_path: Path) -> Run:
    run(cells("rounds=3", "eval_every=2"), tmp_path / "a")
    return open_run(tmp_path / "a")


def test_evaluations_say_what_was_spent(made: Run) -> None:
    table = frame([made], "evaluations")
    assert table["rounds"].tolist() == [2, 3]
    assert table["accuracy"].tolist() == [each.metrics["accuracy"] for each in made.evaluations]
    joules = made.totals("joules")
    assert joules is not None
    assert table["joules"].tolist() == joules[[1, 2]].tolist()
    assert "uses" not in table  # undefined here
    assert str(table["rounds"].dtype) == "int64"


def test_every_table(made: Run) -> None:
    rows = {name: len(frame([made], name)) for name in RECORDS}
    assert rows == {"rounds": 3, "evaluations": 2, "hops": 9, "exchanges": 42, "receivers": 15, "clients": 0}
    table = frame([made, made], "rounds", [{"run": "a"}, {"run": "b"}])
    assert table["run"].tolist() == ["a"] * 3 + ["b"] * 3
    with pytest.raises(SpecError, match="one of: rounds, evaluations"):
        frame([made], "clocks")


def test_undefined_values_are_missing() -> None:
    table = as_frame(
        [{"n": 1, "ok": None, "x": None}, {"n": None, "ok": True, "x": 0.5}], {"n": int, "ok": bool, "x": float}
    )
    assert [str(kind) for kind in table.dtypes] == ["Int64", "boolean", "float64"]
    assert table.isna().sum().sum() == 3


def test_without_pandas_one_sentence(made: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SpecError, match=r"needs pandas, which is not installed -> pip install 'fedradio\[pandas\]'"):
        made.to_pandas()

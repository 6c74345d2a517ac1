"""Flat tables: every number of the records, in CSV and in Parquet."""

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from fedradio.core.contracts import Reason
from fedradio.core.errors import SpecError, StoreError
from fedradio.core.files import write_json
from fedradio.results import export as module
from fedradio.results.export import export
from fedradio.results.export_rows import Shape, rows
from fedradio.results.run import MARKER
from fedradio.runs.folder import NETWORK_FILE, SUMMARY_FILE, read_summary
from fedradio.runs.records import read_records
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


TABLES = ("runs", "rounds", "evaluations", "hops", "exchanges", "receivers", "clients")


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_parquet(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return found


def word(value: Any) -> str:
    """A value as CSV has it: numbers to the last bit."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)


@pytest.fixture
def folder(cells: Make, tmp_path: Path) -> Path:
    """Three runs as a sweep has them: two with test sets of the clients, one without seconds and joules."""
    runs = tmp_path / "s" / "runs"
    for seed in (1, 2):
        run(cells(f"seed={seed}", "data.test=client", "eval_every=2"), runs / f"devices-{seed}")
    run(cells("seed=1", "hops.0.fleet=null", "model.hidden=[4, 4]"), runs / "none-1")
    listed = [{"label": "", "runs": {"1": "devices-1", "2": "devices-2"}}, {"label": "", "runs": {"1": "none-1"}}]
    write_json(tmp_path / "s" / MARKER, {"cells": listed})
    return tmp_path / "s"


def test_csv_has_every_number_of_the_records(folder: Path) -> None:
    one = folder / "runs/devices-1"
    files = export(one)
    assert [path.relative_to(one).as_posix() for path in files] == [f"export/{name}.csv" for name in TABLES]
    tables = {path.stem: read_csv(path) for path in files}
    assert {name: len(tables[name]) for name in TABLES} == {path.stem: count for path, count in files.items()}
    records = list(read_records(one))
    rounds = [row for row in records if row["type"] == "round"]
    assert [row["time_s"] for row in tables["rounds"]] == [repr(row["time_s"]) for row in rounds]
    assert [row["bits_hop_1"] for row in tables["rounds"]] == [repr(row["bits"][1]) for row in rounds]
    evaluations = [row for row in records if row["type"] == "eval"]
    assert [row["accuracy"] for row in tables["evaluations"]] == [repr(row["accuracy"]) for row in evaluations]
    assert [row["accuracy"] for row in tables["clients"]] == [
        word(value) for row in evaluations for value in row["groups"]["accuracy"]
    ]
    assert [row["client"] for row in tables["clients"]] == [str(n) for _ in evaluations for n in range(6)]
    exchanges = [row for row in records if row["type"] == "exchange"]
    parents = [[0, 0, 0, 1, 1, 1], [0, 0]]
    expected = [
        {
            **{name: str(row[name]) for name in ("t", "hop", "e")},
            "sender": str(sender),
            "receiver": str(parents[row["hop"]][sender]),
            "reason": Reason(row["reason"][sender]).name.lower(),
            **{
                name: word(None if row[name] is None else row[name][sender])
                for name in ("active", "arrived", "steps", "cpu_hz", "power_w", "seconds", "compute_j", "tx_j")
            },
        }
        for row in exchanges
        for sender in range(len(row["active"]))
    ]
    assert [{key: row[key] for key in expected[0]} for row in tables["exchanges"]] == expected
    assert [(row["receiver"], row["time_s"], row["effective"]) for row in tables["receivers"]] == [
        (str(r), word(row["time_s"][r]), word(row["effective"][r]))
        for row in exchanges
        for r in range(len(row["effective"]))
    ]
    assert [row["bits"] for row in tables["hops"]] == [word(row["bits"]) for row in exchanges]
    assert tables["runs"][0]["accuracy"] == word(read_summary(one)["accuracy"])


def test_parquet_equals_csv_and_knows_its_types(folder: Path, tmp_path: Path) -> None:
    export(folder, "csv", tmp_path / "out")
    export(folder, "parquet", tmp_path / "out")
    kinds: dict[tuple[str, str], str] = {}
    for name in TABLES:
        text = read_csv(tmp_path / f"out/{name}.csv")
        found = read_parquet(tmp_path / f"out/{name}.parquet")
        assert len(found) > 0
        assert [{key: word(value) for key, value in row.items()} for row in found] == text
        kinds |= {
            (name, field.name): str(field.type) for field in parquet.read_schema(tmp_path / f"out/{name}.parquet")
        }
    assert {kinds[name, "run"] for name in TABLES} == {"string"}
    assert {kinds[name, "t"] for name in TABLES if name != "runs"} == {"int64"}
    assert (kinds["exchanges", "active"], kinds["exchanges", "reason"]) == ("bool", "string")
    assert (kinds["rounds", "time_s"], kinds["runs", "uses"], kinds["clients", "accuracy"]) == ("double",) * 3


def test_a_sweep_tells_runs_apart_and_what_differs(folder: Path) -> None:
    export(folder)
    runs = read_csv(folder / "export/runs.csv")
    assert [row["run"] for row in runs] == ["devices-1", "devices-2", "none-1"]
    assert [row["seed"] for row in runs] == ["1", "2", "1"]
    assert [row["spec.model.hidden"] for row in runs] == ["[16]", "[16]", "[4, 4]"]
    assert [row["spec.data.test"] for row in runs] == ["client", "client", "source"]
    assert "spec.rule.lr" not in runs[0]
    assert "spec.seed" not in runs[0]
    assert runs[0]["label"] == runs[1]["label"] != runs[2]["label"]
    assert [bool(row["time_s"]) for row in runs] == [True, True, False]
    assert [row["accuracy_spread"] != "" for row in runs] == [True, True, False]
    exchanges = read_csv(folder / "export/exchanges.csv")
    undefined = {row["run"] for row in exchanges if row["hop"] == "0" and row["compute_j"] == ""}
    assert undefined == {"none-1"}
    assert {row["run"] for row in read_csv(folder / "export/clients.csv")} == {"devices-1", "devices-2"}


def test_a_run_that_was_killed_has_records_and_no_summary(folder: Path) -> None:
    one = folder / "runs/devices-1"
    (one / SUMMARY_FILE).unlink()
    (one / NETWORK_FILE).unlink()
    assert sum(export(one, "parquet").values()) > 10
    row = read_parquet(one / "export/runs.parquet")[0]
    assert row == {"run": "devices-1", "label": "tiny", "seed": 1, "status": "unfinished"}
    assert {row["receiver"] for row in read_parquet(one / "export/exchanges.parquet")} == {None}


def test_parquet_is_written_in_row_groups(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUP_ROWS", 5)
    export(folder / "runs/none-1", "parquet")
    found = parquet.ParquetFile(folder / "runs/none-1/export/exchanges.parquet")
    assert found.num_row_groups == -(-found.metadata.num_rows // 5)
    assert parquet.read_table(folder / "runs/none-1/export/clients.parquet").num_rows == 0


def test_without_pyarrow_the_remedy_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SpecError, match=r"pip install 'fedradio\[parquet\]'"):
        export(folder, "parquet")
    assert not (folder / "export").exists()
    assert len(export(folder, "csv")) == len(TABLES)


def test_nothing_is_left_of_an_export_that_failed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = folder / "runs/none-1"
    old = {path: path.read_bytes() for path in export(one)}

    def fail(record: dict[str, Any], shape: Shape, parents: Any) -> Iterator[tuple[str, list[Any]]]:
        yield from rows(record, shape, parents)
        if record["type"] == "eval":
            raise StoreError("the disk is gone")

    monkeypatch.setattr(module, "rows", fail)
    with pytest.raises(StoreError, match="the disk is gone"):
        export(one)
    assert {path: path.read_bytes() for path in (one / "export").iterdir()} == old


def test_folders_that_cannot_be_exported(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        export(tmp_path)
    write_json(tmp_path / MARKER, {"cells": []})
    with pytest.raises(StoreError, match="holds no runs"):
        export(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot use"):
        export(folder, out=tmp_path / "file")

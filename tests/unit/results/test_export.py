"""Flat tables: every number of the records, in CSV and in Parquet."""

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from support.sealing import list_runs, unfinish

from fedradio.core.contracts import EvaluationRecord, ExchangeRecord, RoundRecord
from fedradio.core.errors import SpecError, StoreError
from fedradio.results import export as module
from fedradio.results.export import export
from fedradio.results.export_rows import Rows
from fedradio.results.run import open_run
from fedradio.runs.folder import NETWORK_FILE
from fedradio.runs.records import read_records
from fedradio.runs.run import run
from fedradio.runs.stored import read_summary
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
        run(cells(f"seed={seed}", "data.test=client", "eval_every=2"), runs / f"devices-seed{seed}")
    run(cells("seed=1", "hops.0.fleet=null", "model.hidden=[4, 4]"), runs / "none-seed1")
    devices, none = (open_run(runs / name).spec for name in ("devices-seed1", "none-seed1"))
    list_runs(tmp_path / "s", {"devices": ("devices", devices, [1, 2]), "none": ("none", none, [1])})
    return tmp_path / "s"


def test_csv_has_every_number_of_the_records(folder: Path) -> None:
    one = folder / "runs/devices-seed1"
    files = export(one)
    assert [path.relative_to(one).as_posix() for path in files] == [f"export/{name}.csv" for name in TABLES]
    tables = {path.stem: read_csv(path) for path in files}
    assert {name: len(tables[name]) for name in TABLES} == {path.stem: count for path, count in files.items()}
    records = list(read_records(one))
    rounds = [record for record in records if isinstance(record, RoundRecord)]
    assert [row["time_s"] for row in tables["rounds"]] == [repr(record.time_s) for record in rounds]
    assert [row["bits_hop_1"] for row in tables["rounds"]] == [repr(record.bits[1]) for record in rounds]
    evaluations = [record for record in records if isinstance(record, EvaluationRecord)]
    accuracies = [repr(record.metrics["accuracy"]) for record in evaluations]
    assert [row["accuracy"] for row in tables["evaluations"]] == accuracies
    assert [row["accuracy"] for row in tables["clients"]] == [
        word(value) for record in evaluations for value in record.groups["accuracy"]
    ]
    assert [row["client"] for row in tables["clients"]] == [str(n) for _ in evaluations for n in range(6)]
    exchanges = [record.dense((6, 2)[record.hop]) for record in records if isinstance(record, ExchangeRecord)]
    parents = [[0, 0, 0, 1, 1, 1], [0, 0]]
    expected = [
        {
            **{name: str(getattr(row, name)) for name in ("t", "hop", "e")},
            "sender": str(sender),
            "receiver": str(parents[row.hop][sender]),
            "reason": row.reason[sender],
            **{
                name: word(None if getattr(row, name) is None else getattr(row, name)[sender])
                for name in ("active", "arrived", "steps", "cpu_hz", "power_w", "seconds", "compute_j", "tx_j")
            },
        }
        for row in exchanges
        for sender in range(len(row.active))
    ]
    assert [{key: row[key] for key in expected[0]} for row in tables["exchanges"]] == expected
    assert [(row["receiver"], row["time_s"], row["effective"]) for row in tables["receivers"]] == [
        (str(r), word((row.time_s or [])[r]), word(row.effective[r]))
        for row in exchanges
        for r in range(len(row.effective))
    ]
    assert [row["bits"] for row in tables["hops"]] == [word(row.bits) for row in exchanges]
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
    assert [row["run"] for row in runs] == ["devices-seed1", "devices-seed2", "none-seed1"]
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
    assert undefined == {"none-seed1"}
    assert {row["run"] for row in read_csv(folder / "export/clients.csv")} == {"devices-seed1", "devices-seed2"}


def test_the_numbers_of_a_run_that_was_killed_are_those_of_its_records(folder: Path) -> None:
    one = folder / "runs/devices-seed1"
    summary = read_summary(one)
    unfinish(one)
    (one / NETWORK_FILE).unlink()
    assert sum(export(one, "parquet").values()) > 10
    row = read_parquet(one / "export/runs.parquet")[0]
    assert (row["run"], row["label"], row["seed"], row["status"]) == ("devices-seed1", "tiny", 1, "unfinished")
    for name in ("accuracy", "loss", "accuracy_spread", "best_accuracy", "rounds", "time_s", "energy_j", "bits"):
        assert row[name] == pytest.approx(summary[name] if name in summary else summary["metrics"][name]), name
    assert (row["clients"], row["arrived"], "disk_bytes" in row) == (summary["clients"], summary["arrived"], False)
    assert {row["receiver"] for row in read_parquet(one / "export/exchanges.parquet")} == {None}


def test_parquet_is_written_in_row_groups(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUP_ROWS", 5)
    export(folder / "runs/none-seed1", "parquet")
    found = parquet.ParquetFile(folder / "runs/none-seed1/export/exchanges.parquet")
    assert found.num_row_groups == -(-found.metadata.num_rows // 5)
    assert parquet.read_table(folder / "runs/none-seed1/export/clients.parquet").num_rows == 0


def test_without_pyarrow_the_remedy_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SpecError, match=r"pip install 'fedradio\[parquet\]'"):
        export(folder, "parquet")
    assert not (folder / "export").exists()
    assert len(export(folder, "csv")) == len(TABLES)


def test_nothing_is_left_of_an_export_that_failed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = folder / "runs/none-seed1"
    old = {path: path.read_bytes() for path in export(one)}

    def fail(rows: Rows, record: EvaluationRecord) -> Iterator[tuple[str, list[Any]]]:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(Rows, "_evaluation", fail)
    with pytest.raises(StoreError, match="the disk is gone"):
        export(one)
    assert {path: path.read_bytes() for path in (one / "export").iterdir()} == old


def test_folders_that_cannot_be_exported(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        export(tmp_path)
    list_runs(tmp_path, {})
    with pytest.raises(StoreError, match="contains no runs"):
        export(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot use"):
        export(folder, out=tmp_path / "file")


@pytest.mark.parametrize("name", ["=1+1", "+a", "-a", "@a", "\t=a", " =a"])
def test_no_header_is_a_formula(name: str, tmp_path: Path) -> None:
    with module._csv(tmp_path / "a.csv", {"t": int, name: float, "a=b": float}) as write:
        write([0, 1.0, 2.0])
    assert list(read_csv(tmp_path / "a.csv")[0]) == ["t", f"_{name}", "a=b"]


def test_every_table_of_a_sweep_says_of_which_variant_a_row_is(folder: Path) -> None:
    files = export(folder)
    for path, rows in files.items():
        header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
        assert header[:3] == ["run", "label", "seed"], path
        assert "spec.model.hidden" in header, path
        assert rows == 0 or {row["seed"] for row in read_csv(path)} <= {"1", "2"}
    (alone,) = (path for path in export(folder / "runs" / "devices-seed1") if path.stem == "evaluations")
    assert alone.read_text(encoding="utf-8").startswith("t,rounds,accuracy")


def test_evaluations_have_what_was_spent_until_then(folder: Path) -> None:
    export(folder)
    rows = [row for row in read_csv(folder / "export" / "evaluations.csv") if row["run"] == "devices-seed2"]
    run = open_run(folder / "runs" / "devices-seed2")
    for column, against in (("total_time_s", "seconds"), ("total_energy_j", "joules"), ("total_bits", "bits")):
        curve = run.curve("accuracy", against)
        assert curve is not None
        assert [float(row[column]) for row in rows] == pytest.approx(curve[0].tolist())
    assert {row["total_uses"] for row in rows} == {""}
    none = [row for row in read_csv(folder / "export" / "evaluations.csv") if row["run"] == "none-seed1"]
    assert {(row["total_time_s"], row["total_energy_j"]) for row in none} == {("", "")}
    assert float(none[-1]["total_bits"]) > 0

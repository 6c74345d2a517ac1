"""Records of version 0.1 are converted: nothing is lost, and export and comparison have all that they had."""

import csv
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fedradio.core.contracts import EvaluationRecord, ExchangeRecord, Reason, RoundRecord
from fedradio.core.errors import StoreError
from fedradio.report.page import page
from fedradio.results.compare import compare
from fedradio.results.export import export
from fedradio.results.run import open_run, open_runs
from fedradio.runs.records import read_header, read_records

STORED = Path(__file__).parents[2] / "support" / "version_0_1"
"""A run of version 0.1 with several reasons at once, its tables and its comparison as that version made them."""

RUN = STORED / "run"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RUN, tmp_path / "run"))


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RUN / "records.jsonl").read_text().splitlines()]


def test_dense_records_are_the_rows_that_were_written() -> None:
    header = read_header(RUN)
    assert header is not None
    assert (header.format, header.senders, header.receivers) == (1, [8, 2], [2, 1])
    stored = [row for row in rows() if row["type"] == "exchange"]
    found = list(read_records(RUN, ExchangeRecord))
    assert len(found) == len(stored) == 9
    assert {len(record.idle) for record in found} == {0, 1, 2}  # one, two and three reasons at once
    for record, row in zip(found, stored, strict=True):
        dense = asdict(record.dense(header.senders[record.hop]))
        dense["reason"] = [int(Reason[name.upper()]) for name in dense["reason"]]
        assert {"type": "exchange", **dense} == row


def test_rounds_and_evaluations() -> None:
    stored = [row for row in rows() if row["type"] == "round"]
    assert [{"type": "round", **asdict(record)} for record in read_records(RUN, RoundRecord)] == [
        row | {"evaluation": None, "caches": ()} for row in stored
    ]
    first, last = read_records(RUN, EvaluationRecord)
    told = next(row for row in rows() if row["type"] == "eval")
    assert (first.round, last.round) == (2, 3)
    assert first.metrics == {name: told[name] for name in ("accuracy", "accuracy_spread", "loss")}
    assert first.groups == told["groups"]
    assert first.energy_j == pytest.approx(sum(row["energy_j"] for row in stored[:2]))
    assert last.bits == sum(sum(row["bits"]) for row in stored)


def test_tables_are_as_they_were(tmp_path: Path) -> None:
    for path in export(RUN, out=tmp_path):
        stored, made = (list(csv.DictReader(file.open())) for file in (STORED / "export" / path.name, path))
        assert [{name: row[name] for name in old} for old, row in zip(stored, made, strict=True)] == stored, path.name


def test_a_comparison_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(STORED)
    stored, made = json.loads((STORED / "compare.json").read_text()), asdict(compare(open_runs("run")))
    spent = made["rows"][0]["spent"]
    made["rows"][0]["spent"] = {name: spent[name] for name in stored["rows"][0]["spent"]}
    assert made.pop("caches") == []
    assert made.pop("notes") == ["no confidence interval, because there is only one seed: old"]
    del stored["notes"]  # worded differently then
    assert made == stored


def test_a_page_is_made(folder: Path) -> None:
    text = page(folder)
    assert "84.16" in text
    arrived = [sum(row["arrived"]) for row in rows() if row.get("hop") == 0]
    assert open_run(folder).participation.arrived.sum(axis=1).tolist() == arrived


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("arrived", [True], "arrived: 1 values for 8 senders"),
        ("reason", [7] * 8, "reason: unknown number"),
        ("reason", ["none"] * 8, "reason"),
        ("colour", 1, "colour"),
        ("bits", float("inf"), "bits"),
        ("type", "other", "type|tag"),
    ],
)
def test_damage_is_told_with_its_line(folder: Path, field: str, value: object, words: str) -> None:
    path = folder / "records.jsonl"
    lines = path.read_text().splitlines()
    lines[4] = json.dumps(json.loads(lines[4]) | {field: value})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(StoreError, match=f"line 5: .*({words})"):
        list(read_records(folder))

"""Records are written and read back; every line that is no whole record is told with its number."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.past import write_records
from support.records import evaluation, exchange, round_

from fedradio.core.contracts import EvaluationRecord, ExchangeRecord, Header, Note, RoundRecord
from fedradio.core.errors import FormatError, StoreError
from fedradio.core.format import FORMAT
from fedradio.runs.records import read_header, read_records
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

RECORDS = [
    exchange(
        ids=[0, 2],
        arrived=[True, False],
        why=["none", "outage"],
        idle={"energy": [1]},
        time_s=[1.5],
        notes={"eligible": Note("receiver", [3]), "power": Note("active", [0.5, 1], rest=-1.0)},
    ),
    round_(energy_j=0.1, bits=[None]),
    evaluation(1, {"accuracy": [0.5, None]}, accuracy=0.25, loss=2.0),
    exchange(1, ids=[], now_s=2.5, wait_j=[]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_records(tmp_path / "records.jsonl", RECORDS, [4], [1])
    return tmp_path


def test_what_is_written_is_read(folder: Path) -> None:
    assert list(read_records(folder)) == RECORDS
    assert list(read_records(folder, ExchangeRecord)) == [RECORDS[0], RECORDS[3]]
    assert list(read_records(folder, RoundRecord)) == [RECORDS[1]]
    assert list(read_records(folder, EvaluationRecord)) == [RECORDS[2]]
    header = read_header(folder)
    assert header is not None
    assert (header.format, header.senders, header.receivers) == (FORMAT, [4], [1])


def test_whole_numbers_stay_whole(folder: Path) -> None:
    first = next(read_records(folder, ExchangeRecord))
    assert [type(value) for value in first.notes["eligible"].values] == [int]
    assert [type(value) for value in first.notes["power"].values] == [float, int]


def test_what_later_parts_define_is_left_out_where_it_is_undefined(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    assert {"now_s", "wait_j", "wire_bits"}.isdisjoint(rows[1])
    assert (rows[4]["now_s"], rows[4]["wait_j"]) == (2.5, [])
    assert "wire_bits" not in rows[4]


def test_a_run_writes_its_header_first(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    lines = (tmp_path / "a" / "records.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["type"] == "header"
    assert [record.round for record in read_records(tmp_path / "a", EvaluationRecord)] == [1, 2]


def test_half_a_last_line_is_ignored_and_a_whole_one_is_not(folder: Path) -> None:
    path = folder / "records.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type": "rou')
    assert list(read_records(folder)) == RECORDS
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(StoreError, match=r"records.jsonl, line 6: not a record"):
        list(read_records(folder))


def test_no_records_at_all(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is missing"):
        list(read_records(tmp_path))
    (tmp_path / "records.jsonl").write_bytes(b"")
    assert list(read_records(tmp_path)) == []
    assert read_header(tmp_path) is None


def test_another_format_is_refused_in_one_sentence(folder: Path) -> None:
    path = folder / "records.jsonl"
    path.write_text(path.read_text().replace('"format": 3, "fedradio": "', '"format": 4, "fedradio": "9.', 1))
    for read in (lambda: list(read_records(folder)), lambda: read_header(folder)):
        with pytest.raises(FormatError, match=r"records.jsonl has format 4, .*use fedradio 9\."):
            read()


def changed(field: str, value: Any) -> Callable[[dict[str, Any]], str]:
    return lambda row: json.dumps(row | {field: value})


@pytest.mark.parametrize(
    ("line", "change", "words"),
    [
        (2, lambda _: "[]", "not a record"),
        (2, lambda _: "null", "not a record"),
        (2, lambda row: json.dumps(row | {"type": "other"}), "not a record"),
        (2, lambda row: json.dumps(row)[:-40], "Invalid JSON"),
        (2, lambda row: json.dumps(row).replace('"steps"', '"steps\xff"'), "Invalid JSON|steps"),
        (2, lambda row: json.dumps(row).replace('"idle": {', '"idle": {"x": ' + "[" * 5000), "Invalid JSON|idle"),
        (2, lambda row: json.dumps({k: v for k, v in row.items() if k != "arrived"}), "arrived: Field required"),
        (2, changed("colour", 1), "colour"),
        (2, changed("t", "0"), "t: "),
        (2, changed("t", 0.5), "t: "),
        (2, changed("t", True), "t: "),
        (2, changed("bits", float("inf")), "bits: "),
        (2, changed("bits", float("nan")), "bits: "),
        (2, changed("hop", 1), "hop: there is no hop 1"),
        (2, changed("hop", -1), "hop: there is no hop -1"),
        (2, changed("ids", [0, 4]), "from 0 to 3"),
        (2, changed("ids", [0, 0]), "none twice"),
        (2, changed("ids", [2, 0]), "not in increasing order"),
        (2, changed("ids", [0, 1]), "none twice"),
        (2, changed("ids", [0]), "arrived: 2 values for 1 actives"),
        (2, changed("time_s", [1.0, 2.0]), "time_s: 2 values for 1 receivers"),
        (2, changed("why", ["none", "laziness"]), "unknown reason 'laziness'"),
        (2, changed("rest", "laziness"), "unknown reason 'laziness'"),
        (2, changed("idle", {"energy": [1], "outage": [9]}), "from 0 to 3"),
        (2, changed("notes", {"x": {"axis": "sender", "values": [1.0]}}), "notes.x: 1 values for 4 senders"),
        (2, changed("notes", {"x": {"axis": "moon", "values": [1.0]}}), "notes.x.axis"),
        (2, changed("notes", {"x": [1.0]}), "notes.x"),
        (3, changed("tx_j", ["a"]), "tx_j.0"),
        (4, changed("metrics", {"accuracy": None}), "metrics.accuracy"),
        (4, changed("groups", [1]), "groups"),
        (1, changed("senders", "four"), "senders"),
        (1, changed("senders", []), "every hop must have some of both"),
        (1, changed("senders", [4, 1]), "every hop must have some of both"),
        (1, changed("senders", [-4]), "every hop must have some of both"),
        (1, changed("receivers", [0]), "every hop must have some of both"),
    ],
)
def test_damage_is_told_with_file_and_line(
    folder: Path, line: int, change: Callable[[dict[str, Any]], str], words: str
) -> None:
    path = folder / "records.jsonl"
    lines = path.read_text().splitlines()
    lines[line - 1] = change(json.loads(lines[line - 1]))
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    with pytest.raises(StoreError, match=f"records.jsonl, line {line}: .*({words})"):
        list(read_records(folder))


def test_a_second_header_is_no_record(folder: Path) -> None:
    path = folder / "records.jsonl"
    first = path.read_text().splitlines()[0]
    path.write_text(path.read_text() + first + "\n")
    with pytest.raises(StoreError, match="line 6: not a record"):
        list(read_records(folder))
    assert Header(**{k: v for k, v in json.loads(first).items() if k != "type"}) == read_header(folder)


def test_records_and_their_readers_need_no_torch() -> None:
    code = (
        "import sys, json; import fedradio.core.contracts.records, fedradio.runs.records; "
        "print(json.dumps([name for name in ('torch', 'scipy', 'matplotlib') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []

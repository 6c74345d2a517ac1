"""Rows and columns of exported tables."""

from typing import Any

import pytest

from fedradio.core.contracts import ExchangeRecord
from fedradio.results.export_rows import Shape, columns, kind_of, rows
from fedradio.runs.records import exchange_row


def test_notes_go_to_those_they_are_about() -> None:
    inner = ExchangeRecord(
        t=0,
        hop=0,
        e=0,
        active=[True] * 3,
        arrived=[True, False, True],
        reason=[0, 3, 0],
        steps=[1, 1, 1],
        cpu_hz=None,
        power_w=None,
        seconds=[1.0, 2.0, 3.0],
        compute_j=None,
        tx_j=None,
        bits=5.0,
        uses=None,
        time_s=None,
        effective=[1.0, 2.0],
        notes={"score": [0.5, 0.25, 1.0], "eligible": [1, 2]},
    )
    two = {"active": [True] * 2, "arrived": [True] * 2, "reason": [0, 0], "steps": [0, 0], "seconds": None}
    outer = exchange_row(inner) | two | {"hop": 1, "notes": {"eligible": [7, 8], "score": [1, 2]}}
    record = exchange_row(inner)
    shape = Shape()
    for one in (outer, record):
        shape.see(one)
    found: dict[str, list[list[Any]]] = {}
    for one in (outer, record):
        for name, row in rows(one, shape, [[0, 1, 1], [0, 1]]):
            found.setdefault(name, []).append(row)
    wanted = columns(shape)
    exchanges = [dict(zip(wanted["exchanges"], row, strict=True)) for row in found["exchanges"]]
    assert [row["note_score"] for row in exchanges] == [1, 2, 0.5, 0.25, 1.0]
    assert [row["receiver"] for row in exchanges] == [0, 1, 0, 1, 1]
    assert [row["reason"] for row in exchanges] == ["none", "none", "none", "deadline", "none"]
    assert "note_eligible" not in wanted["exchanges"]
    receivers = [dict(zip(wanted["receivers"], row, strict=True)) for row in found["receivers"]]
    assert [row["note_eligible"] for row in receivers] == [7, 8, 1, 2]
    assert (wanted["receivers"]["note_eligible"], wanted["exchanges"]["note_score"]) == (int, float)
    assert found["hops"][1] == [0, 0, 0, 3, 2, 5.0, None]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, None], bool),
        ([1, 2], int),
        ([1, 2.5, None], float),
        ([None], float),
        (["a", 1], str),
        ([True, 1], str),
        (["a"], str),
    ],
)
def test_what_a_column_holds(values: list[Any], kind: type) -> None:
    assert kind_of(values) is kind

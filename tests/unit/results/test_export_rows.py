"""Rows and columns of exported tables."""

from typing import Any

import pytest
from support.records import evaluation, exchange

from fedradio.core.contracts import Note
from fedradio.results.export_rows import Rows, Shape, columns, kind_of


def test_notes_go_to_those_they_are_about() -> None:
    inner = exchange(
        ids=[0, 1],
        arrived=[True, False],
        why=["none", "deadline"],
        seconds=[1.0, 2.0],
        bits=5.0,
        effective=[1.0, 2.0],
        notes={
            "score": Note("sender", [0.5, 0.25, 1.0]),
            "power": Note("active", [7.0, 8.0], rest=-1.0),
            "eligible": Note("receiver", [1, 2]),
        },
    )
    notes = {"eligible": Note("receiver", [7, 8]), "score": Note("sender", [1, 2])}
    outer = exchange(hop=1, effective=[1.0, 1.0], notes=notes)
    shape = Shape()
    for one in (outer, inner):
        shape.see(one)
    rows = Rows(shape, [3, 2], [[0, 1, 1], [0, 1]])
    found: dict[str, list[list[Any]]] = {}
    for one in (outer, inner):
        for name, row in rows.of(one):
            found.setdefault(name, []).append(row)
    wanted = columns(shape)
    exchanges = [dict(zip(wanted["exchanges"], row, strict=True)) for row in found["exchanges"]]
    assert [row["note_score"] for row in exchanges] == [1, 2, 0.5, 0.25, 1.0]
    assert [row["receiver"] for row in exchanges] == [0, 1, 0, 1, 1]
    assert [row["reason"] for row in exchanges] == ["none", "none", "none", "deadline", "not_selected"]
    assert [row["seconds"] for row in exchanges] == [None, None, 1.0, 2.0, 0.0]
    assert [row["note_power"] for row in exchanges] == [None, None, 7.0, 8.0, -1.0]
    assert "note_eligible" not in wanted["exchanges"]
    receivers = [dict(zip(wanted["receivers"], row, strict=True)) for row in found["receivers"]]
    assert [row["note_eligible"] for row in receivers] == [7, 8, 1, 2]
    assert (wanted["receivers"]["note_eligible"], wanted["exchanges"]["note_score"]) == (int, float)
    assert found["hops"][1] == [0, 0, 0, 2, 1, 5.0, None]


def test_evaluations_have_the_best_accuracy_so_far() -> None:
    shape = Shape()
    records = [evaluation(done, accuracy=accuracy) for done, accuracy in ((2, 0.5), (4, 0.7), (6, 0.7), (8, 0.6))]
    for one in records:
        shape.see(one)
    rows = Rows(shape, [1], [])
    found = [row for one in records for name, row in rows.of(one) if name == "evaluations"]
    best = [row[:5] for row in found]
    assert best == [[1, 2, 0.5, 0.5, 2], [3, 4, 0.7, 0.7, 4], [5, 6, 0.7, 0.7, 4], [7, 8, 0.6, 0.7, 4]]


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


def test_measurements_of_real_devices_have_columns_where_there_are_any() -> None:
    real = exchange(
        ids=[0, 2], planned_s=[0.1, 0.2], measured_s=[3.0, None], train_s=[1.0, None], wire_bits=[8.0, None]
    )
    shape = Shape()
    assert "measured_s" not in columns(shape)["exchanges"]
    shape.see(real)
    names = list(columns(shape)["exchanges"])
    rows = [
        dict(zip(names, row, strict=True))
        for table, row in Rows(shape, [3], [[0, 0, 0]]).of(real)
        if table == "exchanges"
    ]
    assert [row["measured_s"] for row in rows] == [3.0, None, None]
    assert [row["planned_s"] for row in rows] == [0.1, None, 0.2]
    assert [row["planned_j"] for row in rows] == [None] * 3

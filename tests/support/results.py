"""A published table and results beside it, made by hand."""

from __future__ import annotations

from pathlib import Path

from fedradio.papers.absence import Absence
from fedradio.papers.collect import Entry, Result, RowResult
from fedradio.papers.items import Item, parse_item
from fedradio.papers.plan import plan_reproduction

TEXT = """
title: Accuracy and energy
source: a paper, Table IV
show: table
columns:
  accuracy: {title: accuracy, measure: accuracy, within: 0.02}
  energy: {title: energy, study: energy, measure: total_j, unit: J, digits: 0, within_share: 0.15}
rows:
  - label: everybody
    published: {accuracy: [0.45, 0.2], energy: [2000]}
    quick: {spec: demo, set: [rounds=6]}
    paper: {spec: demo}
    notes: {accuracy: read off a picture}
  - label: in one place
    algorithm: central
    published: {accuracy: [0.5]}
    quick: {skip: does not fit into minutes}
    paper: {spec: digits_central}
footnotes: ["a step is one mini-batch"]
scales:
  quick: {seeds: 2, about: six rounds}
  paper: {seeds: 10, about: as published}
"""


def table4() -> Item:
    return parse_item(TEXT, "rawhfl", "table4")


def result(
    item: Item,
    tmp_path: Path,
    accuracy: dict[int, float],
    energy: dict[int, float],
    lost: dict[int, Absence] | None = None,
) -> Result:
    plan = plan_reproduction(item, "quick", None, tmp_path)
    found = tuple(RowResult(line, {}, {}, {}) for line in plan.rows)
    values = ({"accuracy": accuracy, "energy": energy}, {"accuracy": {}, "energy": {}})
    cells = tuple(
        {
            key: Entry(column, row.published.get(key), mine[key], (lost or {}) if mine[key] else {}, row.notes.get(key))
            for key, column in item.columns.items()
        }
        for row, mine in zip(item.rows, values, strict=True)
    )
    return Result(plan, found, cells)

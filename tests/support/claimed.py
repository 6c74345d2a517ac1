"""An item with claims, and results of it made by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedradio.papers.absence import Absence
from fedradio.papers.collect import Entry, Result, RowResult
from fedradio.papers.items import Item, parse_item
from fedradio.papers.plan import plan_reproduction
from fedradio.papers.scales import Scale

Numbers = Mapping[str, Mapping[int, float]]
"""A row's accuracy by seed."""


def claim_test(row: str = "one", **what: Any) -> dict[str, Any]:
    return {"column": "accuracy", "row": row, **what}


def claim(*tests: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {"tests": list(tests)} if tests else {}
    return {"id": "better", "says": "One learns better than two.", "source": "section V", **given, **more}


def claimed_item(*claims: dict[str, Any], spec: str = "demo", **rows: dict[str, Any]) -> Item:
    """Rows one, two and long, which is skipped at quick scale; ``rows`` changes their sources."""
    source = {"quick": {"spec": spec}, "paper": {"spec": spec}}
    changes: dict[str, dict[str, Any]] = {"one": {}, "two": {}, "long": {"quick": {"skip": "takes days"}}} | rows
    plain = {
        "title": "Accuracy",
        "source": "a paper",
        "show": "table",
        "columns": {"accuracy": {"title": "accuracy", "measure": "accuracy", "digits": 2}},
        "rows": [{"label": label, **source, **change} for label, change in changes.items()],
        "scales": {
            "quick": {"seeds": 1, "about": "less"},
            "paper": {"seeds": 3, "about": "all"},
        },
        "claims": claims,
    }
    return parse_item(json.dumps(plain), "whfl", "fig9")


def result_of(
    item: Item, values: Numbers, lost: Mapping[str, Mapping[int, Absence]] | None = None, scale: Scale = "quick"
) -> Result:
    """The result of seeds 1 to the largest one that is named."""
    named = [seed for given in (values, lost or {}) for seeds in given.values() for seed in seeds]
    plan = plan_reproduction(item, scale, max(named, default=1), Path("nowhere"))
    rows = tuple(RowResult(line, {}, {}, {}) for line in plan.rows)
    column = item.columns["accuracy"]
    entries = tuple(
        {"accuracy": Entry(column, None, values.get(row.label, {}), (lost or {}).get(row.label, {}))} for row in rows
    )
    return Result(plan, rows, entries)

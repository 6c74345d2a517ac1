"""Tables of runs as pandas DataFrames: the same tables and columns as those of ``fedradio export``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from fedradio.core.contracts.records import EvaluationRecord, ExchangeRecord, Record, RoundRecord
from fedradio.core.errors import Problem, SpecError
from fedradio.results.export_rows import Columns, Rows, Shape, columns
from fedradio.results.quantities import axes
from fedradio.runs.records import read_header

if TYPE_CHECKING:
    from fedradio.results.run import Run

Table = Literal["rounds", "evaluations", "hops", "exchanges", "receivers", "clients"]
"""Tables of the records of a run."""

RECORDS: Mapping[str, type[Record]] = {
    "rounds": RoundRecord,
    "evaluations": EvaluationRecord,
    "hops": ExchangeRecord,
    "exchanges": ExchangeRecord,
    "receivers": ExchangeRecord,
    "clients": EvaluationRecord,
}
"""The records that the rows of every table come from."""

KINDS: Mapping[type, tuple[str, str]] = {
    bool: ("bool", "boolean"),
    int: ("int64", "Int64"),
    float: ("float64", "float64"),
    str: ("object", "object"),
}
"""Types of columns in pandas: where all values are there, and where some are undefined."""


def frame(runs: Sequence[Run], table: str, heads: Sequence[Mapping[str, Any]] = ()) -> Any:
    """A table of some runs, one row per record; ``heads`` are leading columns with one value per run.

    Undefined numbers are missing values. Evaluations also have columns for the cumulative costs: seconds, joules ...
    """
    needed_pandas()
    if table not in RECORDS:
        raise SpecError(Problem("table", "unknown table", f"one of: {', '.join(RECORDS)}", table))
    shape = Shape()
    for run in runs:
        for record in run.records(RECORDS[table]):
            shape.see(record)
    own = columns(shape)[table]
    rows: list[dict[str, Any]] = []
    for number, run in enumerate(runs):
        head = dict(heads[number]) if heads else {}
        rows += [head | row for row in _rows(run, table, shape, list(own))]
    spent: Columns = {each.name: float for each in axes() if table == "evaluations" and each.name not in own}
    spent = {name: kind for name, kind in spent.items() if any(row.get(name) is not None for row in rows)}
    first: Columns = dict.fromkeys(heads[0] if heads else (), object)
    return as_frame(rows, first | own | spent)


def as_frame(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, type]) -> Any:
    """Rows as a DataFrame with columns of these types; ``object`` is any type."""
    pandas = needed_pandas()
    made = {}
    for name, kind in kinds.items():
        values = [row.get(name) for row in rows]
        whole, partly = KINDS.get(kind, (None, None))
        made[name] = pandas.Series(values, dtype=partly if None in values else whole)
    return pandas.DataFrame(made)


def needed_pandas() -> Any:
    """The module pandas; raises an error if it is not installed."""
    try:
        import pandas  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        remedy = "pip install 'fedradio[pandas]', or `fedradio export` for CSV"
        raise SpecError(Problem("to_pandas", "needs pandas, which is not installed", remedy)) from None
    return pandas


def _rows(run: Run, table: str, shape: Shape, names: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table that the records of one run give, by column."""
    header = read_header(run.folder) if RECORDS[table] is ExchangeRecord else None
    made = Rows(shape, [] if header is None else header.senders, run.network.get("parents", []))
    found = [row for record in run.records(RECORDS[table]) for name, row in made.of(record) if name == table]
    rows = [dict(zip(names, row, strict=True)) for row in found]
    if table == "evaluations":
        totals = {each.name: run.totals(each.name) for each in axes() if each.name not in names}
        for row in rows:
            row |= {name: float(spent[row["t"]]) for name, spent in totals.items() if spent is not None}
    return rows

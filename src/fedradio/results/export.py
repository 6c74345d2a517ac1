"""Export of runs and sweeps as flat CSV or Parquet tables, written while the records are read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.core.files import replacing
from fedradio.core.progress import Progress, silent, unheard
from fedradio.results.export_rows import Columns, Rows, Shape, columns, kind_of
from fedradio.results.quantities import QUANTITIES
from fedradio.results.run import LeftOut, Run, open_all, undamaged
from fedradio.results.sweep_file import is_sweep
from fedradio.results.variants import variants
from fedradio.runs.records import read_header
from fedradio.spec.yaml import flatten

Format = Literal["csv", "parquet"]

WriteRow = Callable[[Sequence[Any]], None]
"""Writes the next row of a table."""

GROUP_ROWS = 20_000
"""Rows per Parquet row group, which are buffered before they are written."""

FORMULA = ("=", "+", "-", "@")
"""Characters that start a formula in a spreadsheet."""

NOT_LISTED = ("status", "name", "seed", "metrics", "hop_bits", "cache")
"""Fields of a summary that get columns of other names in the table of runs, or none."""

NOT_COMPARED = ("seed", "name", "about")
"""Keys of a spec that get no column in the table of runs even if they differ."""


@dataclass(frozen=True)
class _Target:
    """Destination of the tables: folder, format, how to open a file; with ``many`` runs, rows name their run."""

    out: Path
    to: Format
    open_table: Callable[[Path, Columns], AbstractContextManager[WriteRow]]
    many: bool

    def path(self, table: str) -> Path:
        return self.out / f"{table}.{self.to}"

    def table(self, name: str, columns: Columns) -> AbstractContextManager[WriteRow]:
        return self.open_table(self.path(name), columns)


def export(
    folder: Path | str,
    to: Format = "csv",
    out: Path | str | None = None,
    progress: Progress = silent,
    note: Callable[[str], None] = unheard,
) -> dict[Path, int]:
    """Write the tables of a run or sweep to ``out``, by default ``export/`` in it; returns files and row counts.

    Undefined quantities are empty, or null in Parquet. Damaged runs are left out and reported to ``note``; if there are
    no others, an error is raised.
    """
    folder = Path(folder)
    every, left_out = open_all(folder)
    runs = undamaged(every)
    trouble = [LeftOut(run.name, run.seed, str(run.folder), run.trouble) for run in every if run.damage]
    trouble += [run for run in left_out if run.status != "not begun"]
    if not runs:
        raise StoreError("\n".join(run.sentence for run in trouble) or f"{folder} contains no runs yet")
    for each in trouble:
        note(f"left out, {each.status}: {each.folder}")
    open_table = _csv if to == "csv" else _parquet()
    target = _Target(folder / "export" if out is None else Path(out), to, open_table, is_sweep(folder))
    try:
        target.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot use {target.out} for tables: {error.strerror or error}") from None
    shape = Shape()
    for number, run in enumerate(runs):
        progress(f"reading {run.folder.name}", number / (2 * len(runs)))
        for record in run.records():
            shape.see(record)
    counts = {"runs": _write_runs(runs, target)} | _write_records(runs, shape, target, progress)
    return {target.path(name): count for name, count in counts.items()}


def _write_records(runs: Sequence[Run], shape: Shape, target: _Target, progress: Progress) -> dict[str, int]:
    """Write the tables of all records in one pass; returns how many rows each has."""
    firsts = _axes(runs) if target.many else [{} for _ in runs]
    head: Columns = {name: kind_of(first[name] for first in firsts) for name in firsts[0]}
    by_table = columns(shape)
    counts = dict.fromkeys(by_table, 0)
    with ExitStack() as stack:
        tables = {name: stack.enter_context(target.table(name, head | own)) for name, own in by_table.items()}
        for number, run in enumerate(runs):
            progress(f"writing {run.folder.name}", 0.5 + number / (2 * len(runs)))
            first = list(firsts[number].values())
            header = read_header(run.folder)
            rows = Rows(shape, [] if header is None else header.senders, run.network.get("parents", []))
            for record in run.records():
                for name, row in rows.of(record):
                    tables[name]([*first, *row])
                    counts[name] += 1
    return counts


def run_rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The table of runs, one row each: label, the keys by which the specs differ, numbers."""
    return [first | {"status": run.status} | _numbers(run) for first, run in zip(_axes(runs), runs, strict=True)]


def _write_runs(runs: Sequence[Run], target: _Target) -> int:
    """Write the table of runs."""
    table = run_rows(runs)
    names = {name: None for row in table for name in row}
    with target.table("runs", {name: kind_of(row.get(name) for row in table) for name in names}) as write:
        for row in table:
            write([row.get(name) for name in names])
    return len(table)


def _axes(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The columns that distinguish the runs: folder, label, seed, and the keys that differ between their specs."""
    label = {run.folder: variant.label for variant in variants(runs) for run in variant.runs.values()}
    flat = [dict(flatten(run.spec.plain)) for run in runs]
    keys = {key: None for spec in flat for key in spec if key not in NOT_COMPARED}
    differ = [key for key in keys if len({json.dumps(spec.get(key)) for spec in flat}) > 1]
    return [
        {"run": run.folder.name, "label": label[run.folder], "seed": run.spec.seed}
        | {f"spec.{key}": _plain(spec.get(key)) for key in differ}
        for run, spec in zip(runs, flat, strict=True)
    ]


def _numbers(run: Run) -> dict[str, Any]:
    """The columns of a run's numbers: its summary, bits one per hop, metrics one each, then all other quantities."""
    summary = run.summary or {}
    fields = {key: value for key, value in summary.items() if key not in NOT_LISTED}
    hops = {f"bits_hop_{h}": value for h, value in enumerate(summary.get("hop_bits", ()))}
    known = fields | hops | {key: value for key, value in run.last.items() if key not in fields} | _shelves(summary)
    others = {each.column: each.of(run) for each in QUANTITIES.values() if each.column not in known}
    return known | {key: value for key, value in others.items() if value is not None}


def _shelves(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of caches: every number of every placement."""
    shelves = (summary.get("cache") or {}).get("shelves", {})
    return {f"cache.{label}.{name}": value for label, shelf in shelves.items() for name, value in shelf.items()}


def _plain(value: Any) -> Any:
    """A value of a spec as stored in a table, with lists as JSON text."""
    return json.dumps(value) if isinstance(value, list) else value


@contextmanager
def _csv(path: Path, columns: Columns) -> Iterator[WriteRow]:
    """Open a CSV file with these columns; yields the function that writes its rows."""
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([_header(name) for name in columns])
        kinds = list(columns.values())
        try:
            yield lambda row: writer.writerow([_csv_value(value) for value in _typed(row, kinds)])
        finally:
            text.detach()


def _header(name: str) -> str:
    """The name of a column, prefixed with ``_`` if a spreadsheet would read it as a formula."""
    return f"_{name}" if name.lstrip().startswith(FORMULA) else name


def _csv_value(value: Any) -> Any:
    return ("false", "true")[value] if isinstance(value, bool) else value


def _typed(row: Sequence[Any], kinds: Sequence[type]) -> list[Any]:
    return [None if value is None else kind(value) for value, kind in zip(row, kinds, strict=True)]


def _parquet() -> Callable[[Path, Columns], AbstractContextManager[WriteRow]]:
    """The function that opens a Parquet file; raises an error if pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        remedy = "pip install 'fedradio[parquet]', or --to csv"
        raise SpecError(Problem("--to", "Parquet needs pyarrow, which is not installed", remedy, "parquet")) from None
    types = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}

    @contextmanager
    def open_table(path: Path, columns: Columns) -> Iterator[WriteRow]:
        schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])
        kinds = list(columns.values())
        rows: list[list[Any]] = []

        def flush() -> None:
            values = list(zip(*rows, strict=True)) if rows else [()] * len(kinds)
            arrays = [pyarrow.array(column, field.type) for column, field in zip(values, schema, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            rows.clear()

        def write_row(row: Sequence[Any]) -> None:
            rows.append(_typed(row, kinds))
            if len(rows) >= GROUP_ROWS:
                flush()

        with replacing(path) as file, parquet.ParquetWriter(file, schema) as writer:
            yield write_row
            flush()

    return open_table

"""Runs and sweeps as flat tables, CSV or Parquet, written as the records are read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.core.files import replacing
from fedradio.results.export_rows import Columns, Shape, columns, kind_of, rows
from fedradio.results.run import MARKER, PastRun, open_runs
from fedradio.results.variants import variants
from fedradio.spec.yaml import flatten

Format = Literal["csv", "parquet"]

Write = Callable[[Sequence[Any]], None]
"""Takes the next row of a table."""

Tell = Callable[[str, float], None]
"""Is told what is being done and the share of it that is done."""

GROUP_ROWS = 20_000
"""Rows that a Parquet file keeps together, and that are held until they are written."""

NOT_LISTED = ("status", "name", "seed", "metrics", "hop_bits")
"""Fields of a summary that have columns of other names, or none."""

TOLD_APART = ("seed", "name", "about")
"""Keys of a spec that the table of runs does not list among those that differ."""


@dataclass(frozen=True)
class _Target:
    """Where tables go and in which form; ``many`` runs are told apart by a column ``run``."""

    out: Path
    to: Format
    opened: Callable[[Path, Columns], AbstractContextManager[Write]]
    many: bool

    def path(self, table: str) -> Path:
        return self.out / f"{table}.{self.to}"

    def table(self, name: str, found: Columns) -> AbstractContextManager[Write]:
        return self.opened(self.path(name), found)


def export(
    folder: Path | str, to: Format = "csv", out: Path | str | None = None, tell: Tell | None = None
) -> dict[Path, int]:
    """Write the tables of a run or a sweep into ``out``, by default ``export/`` in it; returns files and their rows.

    Undefined quantities are empty, in Parquet null.
    """
    folder = Path(folder)
    runs = open_runs(folder)
    if not runs:
        raise StoreError(f"{folder} holds no runs yet")
    opened = _csv if to == "csv" else _parquet()
    target = _Target(folder / "export" if out is None else Path(out), to, opened, (folder / MARKER).is_file())
    try:
        target.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot use {target.out} for tables: {error.strerror or error}") from None
    shape = Shape()
    for number, run in enumerate(runs):
        _news(tell, f"reading {run.folder.name}", number / (2 * len(runs)))
        for record in run.records():
            shape.see(record)
    counts = {"runs": _write_runs(runs, target)} | _write_records(runs, shape, target, tell)
    return {target.path(name): count for name, count in counts.items()}


def _news(tell: Tell | None, what: str, share: float) -> None:
    if tell is not None:
        tell(what, share)


def _write_records(runs: Sequence[PastRun], shape: Shape, target: _Target, tell: Tell | None) -> dict[str, int]:
    """The tables of all records, side by side; returns how many rows each has."""
    head: Columns = {"run": str} if target.many else {}
    wanted = columns(shape)
    counts = dict.fromkeys(wanted, 0)
    with ExitStack() as stack:
        tables = {name: stack.enter_context(target.table(name, head | found)) for name, found in wanted.items()}
        for number, run in enumerate(runs):
            _news(tell, f"writing {run.folder.name}", 0.5 + number / (2 * len(runs)))
            first = [run.folder.name] if target.many else []
            parents = run.network.get("parents", [])
            for record in run.records():
                for name, row in rows(record, shape, parents):
                    tables[name]([*first, *row])
                    counts[name] += 1
    return counts


def _write_runs(runs: Sequence[PastRun], target: _Target) -> int:
    """One row a run: its label, what differs between the specs, and its summary."""
    label = {run.folder: variant.label for variant in variants(runs) for run in variant.runs.values()}
    flat = [dict(flatten(run.spec.plain)) for run in runs]
    keys = {key: None for one in flat for key in one if key not in TOLD_APART}
    differ = [key for key in keys if len({json.dumps(one.get(key)) for one in flat}) > 1]
    found = [
        {"run": run.folder.name, "label": label[run.folder], "seed": run.spec.seed, "status": run.status}
        | {f"spec.{key}": _plain(spec.get(key)) for key in differ}
        | _summary(run)
        for run, spec in zip(runs, flat, strict=True)
    ]
    names = {name: None for row in found for name in row}
    with target.table("runs", {name: kind_of(row.get(name) for row in found) for name in names}) as write:
        for row in found:
            write([row.get(name) for name in names])
    return len(found)


def _summary(run: PastRun) -> dict[str, Any]:
    """The summary's numbers; lists become a column a hop, metrics one each."""
    if run.summary is None:
        return {}
    found = {key: value for key, value in run.summary.items() if key not in NOT_LISTED}
    hops = {f"bits_hop_{h}": value for h, value in enumerate(run.summary["hop_bits"])}
    return found | hops | {key: value for key, value in run.summary["metrics"].items() if key not in found}


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else value


@contextmanager
def _csv(path: Path, found: Columns) -> Iterator[Write]:
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(found)
        kinds = list(found.values())
        try:
            yield lambda row: writer.writerow([_word(value) for value in _typed(row, kinds)])
        finally:
            text.detach()


def _word(value: Any) -> Any:
    return ("false", "true")[value] if isinstance(value, bool) else value


def _typed(row: Sequence[Any], kinds: Sequence[type]) -> list[Any]:
    return [None if value is None else kind(value) for value, kind in zip(row, kinds, strict=True)]


def _parquet() -> Callable[[Path, Columns], AbstractContextManager[Write]]:
    """A writer of Parquet files, where the library for it is installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        remedy = "pip install 'fedradio[parquet]', or --to csv"
        raise SpecError(Problem("--to", "Parquet needs pyarrow, which is not installed", remedy, "parquet")) from None
    types = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}

    @contextmanager
    def write(path: Path, found: Columns) -> Iterator[Write]:
        schema = pyarrow.schema([(name, types[kind]) for name, kind in found.items()])
        kinds = list(found.values())
        held: list[list[Any]] = []

        def flush() -> None:
            values = list(zip(*held, strict=True)) if held else [()] * len(kinds)
            arrays = [pyarrow.array(column, field.type) for column, field in zip(values, schema, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            held.clear()

        def take(row: Sequence[Any]) -> None:
            held.append(_typed(row, kinds))
            if len(held) >= GROUP_ROWS:
                flush()

        with replacing(path) as file, parquet.ParquetWriter(file, schema) as writer:
            yield take
            flush()

    return write

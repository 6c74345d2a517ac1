"""CSV files from users: read and checked; every error names the file and line.

The first line names the columns. ``where`` is the key of the spec that names the file; problems are told at its path.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.core.files import file_sha256

MOST_DIGITS = 9
"""Longest number of a node or a sample."""


@dataclass(frozen=True)
class Table:
    """The cells of a CSV file as text: ``rows`` with the ``lines`` in which they stand, under their ``columns``."""

    path: str
    where: str
    columns: tuple[str, ...]
    rows: tuple[list[str], ...]
    lines: tuple[int, ...]

    def wrong(self, reason: str, row: int | None = None) -> SpecError:
        """What is wrong with a row, or with the file as a whole."""
        return wrong(self.where, self.path, reason, None if row is None else self.lines[row])

    def numbers(self, column: str, low: float = -math.inf, high: float = math.inf) -> NDArray[np.float64]:
        """A column of finite numbers from ``low`` to ``high``, ``[n]``."""
        at, values = self.columns.index(column), np.empty(len(self.rows))
        for row, cells in enumerate(self.rows):
            values[row] = number(cells[at])
            if not math.isfinite(values[row]):
                raise self.wrong(f"{column} is not a finite number: {cells[at]!r:.40}", row)
            if not low <= values[row] <= high:
                raise self.wrong(f"{column} must be from {low:g} to {high:g}: {cells[at]!r:.40}", row)
        return values

    def whole(self, column: str, of: str) -> NDArray[np.int64]:
        """A column of numbers from 0, each the number ``of`` something, ``[n]``."""
        at, values = self.columns.index(column), np.empty(len(self.rows), dtype=np.int64)
        for row, cells in enumerate(self.rows):
            text = cells[at].strip()
            if not (text.isascii() and text.isdecimal()) or len(text) > MOST_DIGITS:
                raise self.wrong(f"{column} is not the number of {of}, counted from 0: {cells[at]!r:.40}", row)
            values[row] = int(text)
        return values


def read_table(path: str, where: str, columns: Sequence[str]) -> Table:
    """The table in a CSV file that must have these columns, in any order, and at least one row."""
    found, rows = open_table(path, where)
    if sorted(found) != sorted(columns):
        raise wrong(where, path, f"the first line must be {','.join(columns)}, in any order", 1)
    listed = list(rows)
    if not listed:
        raise wrong(where, path, "has no rows")
    return Table(path, where, tuple(found), tuple(row for _, row in listed), tuple(line for line, _ in listed))


def open_table(path: str, where: str, delimiter: str = ",") -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of the columns of a CSV file, and its rows, each with its line; empty lines are left out."""
    data = io.BytesIO(read_given(path, where))
    lines = io.TextIOWrapper(data, encoding="utf-8-sig", newline="")  # a string would take four times as much
    reader = csv.reader(lines, delimiter=delimiter)
    rows = _rows(reader, path, where)
    head = next(rows, None)
    if head is None:
        raise wrong(where, path, "the first line must contain the names of the columns", 1)
    columns = [name.strip() for name in head[1]]
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise wrong(where, path, f"two columns are named {twice[0]!r:.40}", head[0])
    return columns, _of_width(rows, len(columns), path, where)


def column(name: str, columns: Sequence[str], path: str, key: str) -> int:
    """Where a column stands that a key of the spec names."""
    if name not in columns:
        shown = ", ".join(columns[:8]) + (f" and {len(columns) - 8} more" if len(columns) > 8 else "")
        remedy = suggest(name, columns) or f"the first line names the columns: {shown}"
        if len(columns) == 1 and any(sign in columns[0] for sign in ",;\t|"):
            remedy += "; is the delimiter right?"
        raise SpecError(Problem(key, f"{path} has no such column", remedy, name))
    return list(columns).index(name)


def numbers(cells: Sequence[str]) -> list[float]:
    """The numbers in some cells; NaN where there is none."""
    try:
        return list(map(float, cells))
    except ValueError:
        return [number(text) for text in cells]


def number(text: str) -> float:
    """The number in a cell; NaN where there is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def wrong(where: str, path: str, reason: str, line: int | None = None, remedy: str = "") -> SpecError:
    """A problem of a file, or of a line of it."""
    place = path if line is None else f"{path}, line {line}"
    return SpecError(Problem(where, f"{place}: {reason}", remedy))


def read_given(path: str, where: str) -> bytes:
    """The bytes of a file that a spec names, seen from the folder in which the run is started; devices and pipes, which
    may never end, are refused."""
    place = Path(path)
    try:
        if place.exists() and not place.is_file():
            raise OSError("it is not a file")
        return place.read_bytes()
    except (OSError, ValueError) as error:
        raise unreadable(path, where, error) from None


def unreadable(path: str, where: str, error: Exception) -> SpecError:
    """The problem of a file or folder that cannot be read."""
    reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    return SpecError(
        Problem(where, reason, "use the path of an existing file, relative to where the run is started", path)
    )


def given_sha256(path: str, where: str) -> str:
    """SHA-256 checksum of a file that a spec names; of a folder that of the names and checksums of the files in it,
    at any depth, but for hidden ones."""
    place = Path(path)
    try:
        if not place.is_dir():
            return file_sha256(place)
        digest = hashlib.sha256()
        for file in sorted(each for each in place.rglob("[!.]*") if each.is_file()):
            digest.update(f"{file.relative_to(place).as_posix()}\0{file_sha256(file)}\n".encode())
        return digest.hexdigest()
    except (OSError, ValueError) as error:
        raise unreadable(path, where, error) from None


def _rows(reader: Iterator[list[str]], path: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not empty, with its line."""
    line = 0
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except UnicodeDecodeError:
            raise wrong(where, path, "not a text file in UTF-8") from None
        except csv.Error as error:
            raise wrong(where, path, f"not a CSV file ({error})", line + 1) from None
        line = getattr(reader, "line_num", line + 1)
        if row:
            yield line, row


def _of_width(
    rows: Iterator[tuple[int, list[str]]], width: int, path: str, where: str
) -> Iterator[tuple[int, list[str]]]:
    """The same rows; one of another width is refused."""
    for line, row in rows:
        if len(row) != width:
            raise wrong(where, path, f"{len(row)} values, but {width} are needed", line)
        yield line, row

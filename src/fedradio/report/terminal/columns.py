"""Tables of variants for the terminal, split into as many tables as its width requires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from fedradio.report.terminal.words import plain_table
from fedradio.results.quantity import Quantity
from fedradio.results.statistics import Interval

Column = list[str | Text]
"""The texts of a column, one per variant."""

Columns = Mapping[str, Column]
"""Columns by their title."""

LABEL = 20
"""Width, in characters, at which long labels are wrapped."""

GAP = 2
"""Width, in characters, of the gap between two columns of a table."""


CURVE = "over rounds"
"""Title of the column of small curves, the only left-aligned one."""


def variant_tables(labels: Sequence[str], results: Columns, costs: Columns, width: int) -> list[Table]:
    """Results and costs in one table if they fit the width, otherwise in as many tables as needed."""
    room = width - min(LABEL, max(map(len, ["variant", *labels])))
    whole = {**results, **costs}
    groups = [whole] if sum(map(_width, whole.items())) <= room else [*_fitting(results, room), *_fitting(costs, room)]
    return [_filled(labels, columns) for columns in groups]


def means(quantities: Iterable[Quantity], rows: Sequence[Mapping[str, Interval | None]]) -> dict[str, Column]:
    """Columns of means with their units, one row per variant; quantities that no variant has may be left out."""
    columns: dict[str, Column] = {}
    for each in quantities:
        values = [None if (mean := row[each.name]) is None else mean.mean for row in rows]
        if each.listed(values):
            columns[each.short or each.title] = [each.text(value) for value in values]
    return columns


def bare_title(quantity: Quantity) -> str:
    """The title of a column of bare numbers."""
    title = quantity.short or quantity.title
    return f"{title} %" if quantity.format == "percent" else title


def bare(quantity: Quantity, mean: Interval | None, signed: bool = False) -> str:
    """A mean as a bare number with the half-width of its interval; signed ones get a star if it excludes 0."""
    if mean is None:
        return "-"
    digits = ".2f" if quantity.format == "percent" else ".4f"

    def shown(value: float, sign: str = "") -> str:
        if quantity.format == "prefix":  # too large or small for fixed digits
            return ("-" if value < 0 else sign) + quantity.text(abs(value))
        return format(quantity.scale * value, f"{sign}{digits}")

    text = shown(mean.mean, "+" if signed else "")
    if mean.half is not None:
        text += f" ± {shown(mean.half)}"
    return f"{text} {'*' if mean.excludes(0.0) else ' '}" if signed else text


def _fitting(columns: Columns, room: int) -> list[dict[str, Column]]:
    """The columns in as few groups as possible, each of which fits the width."""
    groups: list[dict[str, Column]] = []
    left = 0
    for title, column in columns.items():
        needed = _width((title, column))
        if not groups or needed > left:
            groups.append({})
            left = room
        groups[-1][title] = column
        left -= needed
    return groups


def _width(column: tuple[str, Column]) -> int:
    """Width of a column in characters, including the gap before it."""
    title, texts = column
    return GAP + max(map(len, [title, *texts]))


def _filled(labels: Sequence[str], columns: Columns) -> Table:
    rows = [[label, *(column[number] for column in columns.values())] for number, label in enumerate(labels)]
    return plain_table(["variant", *columns], rows, left=1, wide=False)

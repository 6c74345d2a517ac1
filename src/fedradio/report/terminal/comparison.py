"""A comparison of variants for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fedradio.core.units import show, show_seconds
from fedradio.report.style import styles
from fedradio.results.compare import Comparison, Difference, Row, percent
from fedradio.results.statistics import LEVEL, Interval
from fedradio.results.variants import Variant

CURVE = "over rounds"
"""Title of the column of small curves."""

BLOCKS = "▁▂▃▄▅▆▇█"
LONGEST = 16
"""Most characters of a small curve."""

WIDE = 110
"""Columns of a terminal from which on results and costs are one table."""

HEADS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "rounds": ("rounds", lambda value: "-" if value is None else f"{value:.4g}"),
    "seconds": ("simulated", show_seconds),
    "joules": ("energy", lambda value: show(value, "J")),
    "bits": ("uplink", lambda value: show(value, "bit")),
    "uses": ("channel uses", lambda value: "-" if value is None else f"{value:,.0f}"),
    "clients": ("clients", lambda value: "-" if value is None else f"{value:.3g}"),
}
"""Title of every quantity, and the function that formats it."""


def comparison_view(comparison: Comparison, width: int = 120) -> Group:
    """A comparison for a terminal of ``width`` columns: variants, differences, target if there is one, notes."""
    ends, costs = _ends(comparison), _costs(comparison)
    pieces: list[Table | Text] = []
    if width >= WIDE:
        pieces.append(rows_table(comparison, ends | costs))
    else:
        pieces += [rows_table(comparison, ends), Text(), rows_table(comparison, costs)]
    pieces.append(Text(_caption(comparison.rows), style="dim"))
    if comparison.differences:
        pieces += [Text(), differences_table(comparison)]
    if comparison.reaches:
        pieces += [Text(), reaches_table(comparison)]
    pieces += [
        Text(f"note: {note}", style="yellow")
        for note in [*_left_out(comparison), *comparison.notes, *_worlds(comparison)]
    ]
    return Group(*pieces)


Column = list[str | Text]
"""The texts of a column, one per variant."""


def rows_table(comparison: Comparison, columns: Mapping[str, Column]) -> Table:
    """The table of variants with these columns."""
    table = _table("variant", *columns)
    for number, row in enumerate(comparison.rows):
        table.add_row(Text(row.label), *(column[number] for column in columns.values()))
    return table


def _ends(comparison: Comparison) -> dict[str, Column]:
    """Columns of the metric: at the end, at its best, and as a small curve in the variant's colour."""
    rows = comparison.rows
    scale = [value for row in rows for value in row.curve]
    looks = styles([Variant(row.label, row.algorithm, {}) for row in rows])
    return {
        "seeds": [str(len(row.seeds)) for row in rows],
        _title(comparison): [_with_half(comparison, row.last) for row in rows],
        "best": [_with_half(comparison, row.best) for row in rows],
        CURVE: [Text(spark(row.curve, scale), look.colour) for row, look in zip(rows, looks, strict=True)],
    }


def _costs(comparison: Comparison) -> dict[str, Column]:
    """Columns of what the variants spent, means over seeds; channel uses only if there are any."""
    with_uses = any(row.spent["uses"] is not None for row in comparison.rows)
    names = [name for name in comparison.rows[0].spent if name != "uses" or with_uses]
    return {HEADS[name][0]: [HEADS[name][1](_mean(row.spent[name])) for row in comparison.rows] for name in names}


def differences_table(comparison: Comparison) -> Table:
    """The table of paired differences to the baseline."""
    title = f"less {comparison.baseline}"
    table = _table(title, "paired seeds", _title(comparison), "best")
    for difference in comparison.differences:
        ends = [_with_half(comparison, end, signed=True) for end in (difference.last, difference.best)]
        table.add_row(Text(difference.label), str(len(difference.seeds)), *ends)
    table.caption = _difference_caption(comparison.differences)
    return table


def reaches_table(comparison: Comparison) -> Table:
    """The table of what it took to reach the target."""
    assert comparison.target is not None
    sign = "at least" if comparison.rising else "at most"
    names = list(comparison.reaches[0].mean)
    table = _table(f"{comparison.metric} {sign} {comparison.target:g}", "seeds", *(HEADS[name][0] for name in names))
    for reach in comparison.reaches:
        cost = [HEADS[name][1](_mean(reach.mean[name])) for name in names]
        table.add_row(Text(reach.label), f"{reach.reached} of {len(reach.seeds)}", *cost)
    if any(0 < reach.reached < len(reach.seeds) for reach in comparison.reaches):
        table.caption = "means of the seeds that reached it; the others would have taken longer"
    return table


def spark(curve: Sequence[float], scale: Sequence[float] | None = None, longest: int = LONGEST) -> str:
    """A small curve of block characters between the least and the most of ``scale``; long ones are thinned."""
    if not curve:
        return ""
    low, high = min(scale or curve), max(scale or curve)
    count = min(len(curve), longest)
    at = [0] if count == 1 else [round(i * (len(curve) - 1) / (count - 1)) for i in range(count)]
    share = [(curve[i] - low) / (high - low) if high > low else 0.0 for i in at]
    return "".join(BLOCKS[min(int(height * len(BLOCKS)), len(BLOCKS) - 1)] for height in share)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    table.add_column(Text(first), overflow="fold")
    for name in others:
        table.add_column(name, justify="left" if name == CURVE else "right", no_wrap=True)
    return table


def _title(comparison: Comparison) -> str:
    """The metric's column title."""
    name = comparison.metric.replace("_", " ")
    return f"{name} %" if percent(comparison.metric) else name


def _with_half(comparison: Comparison, value: Interval | None, signed: bool = False) -> str:
    """A mean with the half width of its interval; signed ones get a star if the interval excludes 0."""
    if value is None:
        return "-"
    scale, digits = (100, ".2f") if percent(comparison.metric) else (1, ".4f")
    text = format(scale * value.mean, f"+{digits}" if signed else digits)
    if value.half is not None:
        text += f" ± {format(scale * value.half, digits)}"
    return f"{text} {'*' if value.excludes(0.0) else ' '}" if signed else text


def _mean(interval: Interval | None) -> float | None:
    return None if interval is None else interval.mean


def _caption(rows: Sequence[Row]) -> str:
    has_interval = any(row.last is not None and row.last.half is not None for row in rows)
    return f"± half the {100 * LEVEL:g} % interval of the mean over seeds (Student's t)" if has_interval else ""


def _difference_caption(differences: Sequence[Difference]) -> str:
    ends = [end for each in differences for end in (each.last, each.best) if end is not None]
    marked = f"* the {100 * LEVEL:g} % interval of the paired difference excludes 0"
    if any(end.half is not None for end in ends):
        return marked if any(end.excludes(0.0) for end in ends) else "every interval includes 0"
    return "one pair of seeds alone: no interval can be given" if ends else "no seeds in common"


def _left_out(comparison: Comparison) -> list[str]:
    """Notes on runs that are not complete."""
    return [f"left out, {run.status}: {run.folder} ({run.label}, seed {run.seed})" for run in comparison.left_out]


def _worlds(comparison: Comparison) -> list[str]:
    """Notes on variants whose pairs do not share a world, with the keys that differ."""
    notes = []
    for difference in comparison.differences:
        if worlds := difference.worlds:
            keys = ", ".join(worlds[:6]) + (f" and {len(worlds) - 6} more" if len(worlds) > 6 else "")
            other = f"{difference.label} has another world than {comparison.baseline}"
            notes.append(f"{other}: pairs share the seed alone ({keys})")
    return notes

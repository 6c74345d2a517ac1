"""A comparison for the terminal."""

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
BLOCKS = "▁▂▃▄▅▆▇█"
LONGEST = 16
"""Characters of a small curve."""

WIDE = 110
"""Columns of a terminal that hold results and costs beside each other."""

HEADS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "rounds": ("rounds", lambda value: "-" if value is None else f"{value:.4g}"),
    "seconds": ("simulated", show_seconds),
    "joules": ("energy", lambda value: show(value, "J")),
    "bits": ("uplink", lambda value: show(value, "bit")),
    "uses": ("channel uses", lambda value: "-" if value is None else f"{value:,.0f}"),
    "clients": ("clients", lambda value: "-" if value is None else f"{value:.3g}"),
}
"""Title of every quantity, and how it is written."""


def comparison_view(found: Comparison, width: int = 120) -> Group:
    """Variants, differences, the target where there is one, and what else must be known, for so many columns."""
    ends, costs = _ends(found), _costs(found)
    pieces: list[Table | Text] = []
    if width >= WIDE:
        pieces.append(rows_table(found, ends | costs))
    else:
        pieces += [rows_table(found, ends), Text(), rows_table(found, costs)]
    pieces.append(Text(_caption(found.rows), style="dim"))
    if found.differences:
        pieces += [Text(), differences_table(found)]
    if found.reaches:
        pieces += [Text(), reaches_table(found)]
    pieces += [Text(f"note: {note}", style="yellow") for note in [*_left_out(found), *found.notes, *_worlds(found)]]
    return Group(*pieces)


Column = list[str | Text]


def rows_table(found: Comparison, columns: Mapping[str, Column]) -> Table:
    """One row per variant."""
    table = _table("variant", *columns)
    for number, row in enumerate(found.rows):
        table.add_row(Text(row.label), *(column[number] for column in columns.values()))
    return table


def _ends(found: Comparison) -> dict[str, Column]:
    """The metric at the end, at its best and on the way, in the variants' colours."""
    rows = found.rows
    scale = [value for row in rows for value in row.curve]
    looks = styles([Variant(row.label, row.algorithm, {}) for row in rows])
    return {
        "seeds": [str(len(row.seeds)) for row in rows],
        _title(found): [_with_half(found, row.last) for row in rows],
        "best": [_with_half(found, row.best) for row in rows],
        CURVE: [Text(spark(row.curve, scale), look.colour) for row, look in zip(rows, looks, strict=True)],
    }


def _costs(found: Comparison) -> dict[str, Column]:
    """What the variants spent, means over seeds; channel uses where there are any."""
    with_uses = any(row.spent["uses"] is not None for row in found.rows)
    told = [name for name in found.rows[0].spent if name != "uses" or with_uses]
    return {HEADS[name][0]: [HEADS[name][1](_mean(row.spent[name])) for row in found.rows] for name in told}


def differences_table(found: Comparison) -> Table:
    """Every other variant less the baseline, seed by seed."""
    title = f"less {found.baseline}"
    table = _table(title, "paired seeds", _title(found), "best")
    for one in found.differences:
        ends = [_with_half(found, end, signed=True) for end in (one.last, one.best)]
        table.add_row(Text(one.label), str(len(one.seeds)), *ends)
    table.caption = _difference_caption(found.differences)
    return table


def reaches_table(found: Comparison) -> Table:
    """What it took to reach the target."""
    assert found.target is not None
    sign = "at least" if found.rising else "at most"
    names = list(found.reaches[0].mean)
    table = _table(f"{found.metric} {sign} {found.target:g}", "seeds", *(HEADS[name][0] for name in names))
    for one in found.reaches:
        cost = [HEADS[name][1](_mean(one.mean[name])) for name in names]
        table.add_row(Text(one.label), f"{one.reached} of {len(one.seeds)}", *cost)
    if any(0 < one.reached < len(one.seeds) for one in found.reaches):
        table.caption = "means of the seeds that reached it; the others would have taken longer"
    return table


def spark(curve: Sequence[float], scale: Sequence[float] | None = None, longest: int = LONGEST) -> str:
    """A curve in blocks between the least and the most of ``scale``; long ones are thinned, with both ends kept."""
    if not curve:
        return ""
    low, high = min(scale or curve), max(scale or curve)
    count = min(len(curve), longest)
    at = [0] if count == 1 else [round(i * (len(curve) - 1) / (count - 1)) for i in range(count)]
    share = [(curve[i] - low) / (high - low) if high > low else 0.0 for i in at]
    return "".join(BLOCKS[min(int(one * len(BLOCKS)), len(BLOCKS) - 1)] for one in share)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    table.add_column(Text(first), overflow="fold")
    for name in others:
        table.add_column(name, justify="left" if name == CURVE else "right", no_wrap=True)
    return table


def _title(found: Comparison) -> str:
    words = found.metric.replace("_", " ")
    return f"{words} %" if percent(found.metric) else words


def _with_half(found: Comparison, value: Interval | None, signed: bool = False) -> str:
    if value is None:
        return "-"
    scale, digits = (100, ".2f") if percent(found.metric) else (1, ".4f")
    text = format(scale * value.mean, f"+{digits}" if signed else digits)
    if value.half is not None:
        text += f" ± {format(scale * value.half, digits)}"
    return f"{text} {'*' if value.excludes(0.0) else ' '}" if signed else text


def _mean(one: Interval | None) -> float | None:
    return None if one is None else one.mean


def _caption(rows: Sequence[Row]) -> str:
    has_interval = any(row.last is not None and row.last.half is not None for row in rows)
    return f"± half the {100 * LEVEL:g} % interval of the mean over seeds (Student's t)" if has_interval else ""


def _difference_caption(differences: Sequence[Difference]) -> str:
    ends = [end for one in differences for end in (one.last, one.best) if end is not None]
    marked = f"* the {100 * LEVEL:g} % interval of the paired difference excludes 0"
    if any(end.half is not None for end in ends):
        return marked if any(end.excludes(0.0) for end in ends) else "every interval includes 0"
    return "one pair of seeds alone: no interval can be given" if ends else "no seeds in common"


def _left_out(found: Comparison) -> list[str]:
    return [f"left out, {one.status}: {one.folder} ({one.label}, seed {one.seed})" for one in found.left_out]


def _worlds(found: Comparison) -> list[str]:
    """Variants whose pairs do not share a world, with the keys that differ."""
    words = []
    for one in found.differences:
        if one.worlds:
            keys = ", ".join(one.worlds[:6]) + (f" and {len(one.worlds) - 6} more" if len(one.worlds) > 6 else "")
            words.append(f"{one.label} has another world than {found.baseline}: pairs share the seed alone ({keys})")
    return words

"""A comparison of variants for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fedradio.report.style import styles
from fedradio.report.terminal.caches import cache_comparison
from fedradio.report.terminal.columns import CURVE, Column, bare, bare_title, means, variant_tables
from fedradio.report.terminal.words import plain_table
from fedradio.results.compare import Comparison, Difference, Row
from fedradio.results.quantities import axes, entry, spent
from fedradio.results.statistics import LEVEL
from fedradio.results.variants import Variant

BLOCKS = "▁▂▃▄▅▆▇█"
LONGEST = 16
"""Most characters of a small curve."""


def comparison_view(comparison: Comparison, width: int = 120) -> Group:
    """A comparison for a terminal of ``width`` columns: variants, differences, target if given, notes."""
    costs = means(spent(), [row.spent for row in comparison.rows])
    tables = variant_tables([row.label for row in comparison.rows], _ends(comparison), costs, width)
    pieces: list[Table | Text] = [piece for table in tables for piece in (table, Text())][:-1]
    pieces.append(Text(_caption(comparison.rows), style="dim"))
    if comparison.differences:
        pieces += [Text(), differences_table(comparison)]
    if comparison.reaches:
        pieces += [Text(), reaches_table(comparison)]
    if comparison.caches:
        pieces += [Text(), cache_comparison(comparison.caches)]
    pieces += [Text(f"warning: {warning}", style="yellow") for warning in _warnings(comparison)]
    pieces += [Text(f"note: {note}", style="yellow") for note in [*_left_out(comparison), *comparison.notes]]
    return Group(*pieces)


def _ends(comparison: Comparison) -> dict[str, Column]:
    """Columns of the metric: at the end, at its best, and as a small curve in the variant's colour."""
    rows, measured = comparison.rows, entry(comparison.metric)
    scale = [value for row in rows for value in row.curve]
    looks = styles([Variant(row.label, row.algorithm, {}) for row in rows])
    return {
        "seeds": [str(len(row.seeds)) for row in rows],
        bare_title(measured): [bare(measured, row.last) for row in rows],
        "best": [bare(measured, row.best) for row in rows],
        CURVE: [Text(spark(row.curve, scale), look.colour) for row, look in zip(rows, looks, strict=True)],
    }


def differences_table(comparison: Comparison) -> Table:
    """The table of paired differences from the baseline."""
    measured = entry(comparison.metric)
    rows = [
        [each.label, str(len(each.seeds)), *(bare(measured, end, signed=True) for end in (each.last, each.best))]
        for each in comparison.differences
    ]
    head = [f"minus {comparison.baseline}", "paired seeds", bare_title(measured), "best"]
    return plain_table(head, rows, _difference_caption(comparison.differences), left=1, wide=False)


def reaches_table(comparison: Comparison) -> Table:
    """The table of what it took to reach the target."""
    assert comparison.target is not None
    sign = "at least" if comparison.rising else "at most"
    title = f"{entry(comparison.metric).title} {sign} {comparison.target:g}"
    costs = means(axes(), [reach.mean for reach in comparison.reaches])
    reaches = comparison.reaches
    rows = [
        [reach.label, f"{reach.reached} of {len(reach.seeds)}", *(column[number] for column in costs.values())]
        for number, reach in enumerate(reaches)
    ]
    some = any(0 < reach.reached < len(reach.seeds) for reach in reaches)
    caption = "means over the seeds that reached the target; the others would have taken longer" if some else ""
    return plain_table([title, "seeds", *costs], rows, caption, left=1, wide=False)


def spark(curve: Sequence[float], scale: Sequence[float] | None = None, longest: int = LONGEST) -> str:
    """A small curve of block characters between the minimum and maximum of ``scale``; long curves are thinned."""
    if not curve:
        return ""
    low, high = min(scale or curve), max(scale or curve)
    count = min(len(curve), longest)
    at = [0] if count == 1 else [round(i * (len(curve) - 1) / (count - 1)) for i in range(count)]
    share = [(curve[i] - low) / (high - low) if high > low else 0.0 for i in at]
    return "".join(BLOCKS[min(int(height * len(BLOCKS)), len(BLOCKS) - 1)] for height in share)


def _caption(rows: Sequence[Row]) -> str:
    has_interval = any(row.last is not None and row.last.half is not None for row in rows)
    return f"± {100 * LEVEL:g} % confidence interval of the mean over seeds (Student's t)" if has_interval else ""


def _difference_caption(differences: Sequence[Difference]) -> str:
    ends = [end for each in differences for end in (each.last, each.best) if end is not None]
    marked = f"* the {100 * LEVEL:g} % confidence interval of the paired difference excludes 0"
    none = "no significant differences: every confidence interval contains 0"
    if any(end.half is not None for end in ends):
        return marked if any(end.excludes(0.0) for end in ends) else none
    return "only one pair of seeds, so there is no confidence interval" if ends else "no seeds in common"


def _left_out(comparison: Comparison) -> list[str]:
    """Notes about incomplete runs."""
    return [f"left out, {run.status}: {run.folder} ({run.label}, seed {run.seed})" for run in comparison.left_out]


def _warnings(comparison: Comparison) -> list[str]:
    """Warnings about variants whose data, model or world differ from the baseline's, with the keys that differ."""
    warnings = []
    for difference in comparison.differences:
        data = [key for key in difference.worlds if key.startswith("data.source")]
        worlds = [key for key in difference.worlds if key not in data]
        than, label = comparison.baseline, difference.label
        if data:
            warnings.append(f"{label} uses different data from {than}, so they solve different tasks ({_keys(data)})")
        if difference.models:
            warnings.append(f"{label} uses a different model from {than} ({_keys(difference.models)})")
        if worlds:
            warnings.append(f"{label} has a different world from {than}: pairs share only the seed ({_keys(worlds)})")
    return warnings


def _keys(keys: Sequence[str]) -> str:
    """The first few of some keys."""
    return ", ".join(keys[:6]) + (f" and {len(keys) - 6} more" if len(keys) > 6 else "")

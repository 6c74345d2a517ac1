"""Caches for the terminal: a line for every placement of a run, and of variants over seeds."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from fedradio.core.units import show, show_number, show_percent, show_seconds
from fedradio.report.terminal.columns import headed
from fedradio.results.caches import CacheRow
from fedradio.results.statistics import LEVEL, Interval
from fedradio.runs.cache_summary import CacheSummary, ShelfSummary

GBIT = 1e9


STATIONARY = "the law of requests never changes here, which flatters counting"


def cache_table(found: CacheSummary, stationary: bool) -> Table:
    """Hits, backhaul and seconds of every placement of a run, and whether learning paid for its own traffic."""
    priced = any(shelf.revenue is not None for shelf in found.shelves.values())
    titles = ["hits", "net backhaul", "delivery", "payback", "break-even", *(["revenue"] if priced else [])]
    table = headed("cache", titles)
    for label, shelf in found.shelves.items():
        cells = [show_percent(shelf.hit_ratio), show(shelf.net_bits, "bit"), show_seconds(shelf.seconds)]
        cells += [payback_text(shelf), show(shelf.break_even_bits, "bit")]
        table.add_row(Text(label), *cells, *([show_number(shelf.revenue)] if priced else []))
    table.caption = (
        f"{found.requests} requests for {found.files} of {found.catalogue} files; net backhaul: files missed and moved "
        "ahead, control, and for placements by a model its own traffic, up and down"
    ) + (f"; {STATIONARY}" if stationary else "")
    return table


def payback_text(shelf: ShelfSummary) -> str:
    """The round from which on learning has paid for its own traffic."""
    if shelf.knows != "model" or shelf.rival is None or shelf.net_bits is None:
        return "-"
    return "never" if shelf.payback is None else f"round {shelf.payback}"


def cache_warnings(found: CacheSummary) -> list[str]:
    """Warnings about files that cannot have been moved ahead in time."""
    return [
        f"cache {label}: what it moved ahead would have taken longer than the deadline in {shelf.late} edge round(s); "
        "a higher move_cost moves less"
        for label, shelf in found.shelves.items()
        if shelf.late
    ]


def cache_comparison(rows: Sequence[CacheRow]) -> Table:
    """Placements over seeds: means with intervals, and paired differences to counting."""
    several = len({row.variant for row in rows}) > 1
    priced = any(row.means["revenue"] is not None for row in rows)
    titles = ["seeds", "hits %", "less counting", "net Gbit", "less counting", "seconds", "paid back"]
    table = headed("cache", titles + (["revenue"] if priced else []))
    for row in rows:
        cells = [
            str(len(row.seeds)),
            _text(row.means["hit_ratio"], 100),
            _text(row.differences["hit_ratio"], 100, signed=True),
            _text(row.means["net_bits"], 1 / GBIT),
            _text(row.differences["net_bits"], 1 / GBIT, signed=True),
            _text(row.means["seconds"], 1),
            "-" if row.paid_back is None else f"{row.paid_back} of {len(row.seeds)}",
        ]
        label = f"{row.variant}: {row.shelf}" if several else row.shelf
        table.add_row(Text(label), *cells, *([_text(row.means["revenue"], 1)] if priced else []))
    than = ", ".join(dict.fromkeys(row.than for row in rows if row.than))
    marked = f"counting: {than}, paired by seed; * the {100 * LEVEL:g} % interval of the difference excludes 0"
    table.caption = "; ".join([marked] * bool(than) + [STATIONARY] * any(row.stationary for row in rows))
    return table


def _text(mean: Interval | None, scale: float, signed: bool = False) -> str:
    """A mean with the half width of its interval; a signed one gets a star if that excludes 0."""
    if mean is None:
        return "-"
    text = f"{scale * mean.mean:+.2f}" if signed else f"{scale * mean.mean:.2f}"
    text += "" if mean.half is None else f" ± {scale * mean.half:.2f}"
    return text + (" *" if mean.excludes(0.0) else "  ") if signed else text

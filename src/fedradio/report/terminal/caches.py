"""Caches for the terminal: one line per placement, for a run and for variants over seeds."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from fedradio.core.units import show, show_percent, show_seconds
from fedradio.report.terminal.words import count, plain_table
from fedradio.results.caches import CacheRow
from fedradio.results.statistics import LEVEL, Interval
from fedradio.runs.cache_summary import CacheSummary, ShelfSummary

GBIT = 1e9


STATIONARY = "the request distribution never changes here, which favours counting"


def cache_table(found: CacheSummary, stationary: bool) -> Table:
    """Hits, backhaul and delivery time of every placement of a run, and whether learning paid for its own traffic."""
    titles = ["hits", "net backhaul", "delivery", "payback", "break-even"]
    rows: list[list[str]] = []
    for label, shelf in found.shelves.items():
        cells = [show_percent(shelf.hit_ratio), show(shelf.net_bits, "bit"), show_seconds(shelf.seconds)]
        cells += [payback_text(shelf), show(shelf.break_even_bits, "bit")]
        rows.append([label, *cells])
    caption = (
        f"{found.requests} requests for {found.files} of {found.catalogue} files; net backhaul: missed and prefetched "
        "files, control messages, and for model-based placements the model's own traffic in both directions"
    ) + (f"; {STATIONARY}" if stationary else "")
    return plain_table(["cache", *titles], rows, caption, left=1, wide=False)


def payback_text(shelf: ShelfSummary) -> str:
    """The round from which learning has paid for its own traffic."""
    if shelf.knows != "model" or shelf.rival is None or shelf.net_bits is None:
        return "-"
    return "never" if shelf.payback is None else f"round {shelf.payback}"


def cache_warnings(found: CacheSummary) -> list[str]:
    """Warnings about files that could not have been prefetched in time."""
    return [
        f"cache {label}: its prefetching would have missed the deadline in {count(shelf.late, 'edge round')}; "
        "a higher move_cost reduces prefetching"
        for label, shelf in found.shelves.items()
        if shelf.late
    ]


def cache_comparison(rows: Sequence[CacheRow]) -> Table:
    """Placements over seeds: means with intervals, and paired differences from counting."""
    several = len({row.variant for row in rows}) > 1
    titles = ["seeds", "hits %", "minus counting", "net Gbit", "minus counting", "seconds", "paid back"]
    lines: list[list[str]] = []
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
        lines.append([label, *cells])
    than = ", ".join(dict.fromkeys(row.than for row in rows if row.than))
    starred = f"* the {100 * LEVEL:g} % confidence interval of the difference excludes 0"
    marked = f"counting: {than}, paired by seed; {starred}"
    caption = "; ".join([marked] * bool(than) + [STATIONARY] * any(row.stationary for row in rows))
    return plain_table(["cache", *titles], lines, caption, left=1, wide=False)


def _text(mean: Interval | None, scale: float, signed: bool = False) -> str:
    """A mean with the half-width of its interval; a signed one gets a star if that excludes 0."""
    if mean is None:
        return "-"
    text = f"{scale * mean.mean:+.2f}" if signed else f"{scale * mean.mean:.2f}"
    text += "" if mean.half is None else f" ± {scale * mean.half:.2f}"
    return text + (" *" if mean.excludes(0.0) else "  ") if signed else text

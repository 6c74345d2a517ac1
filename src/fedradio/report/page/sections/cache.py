"""Caches of a run: charts, the balance of every placement, and hits per edge."""

from __future__ import annotations

from fedradio.report.charts.cache import caches
from fedradio.report.page.chart import chart_section
from fedradio.report.page.html import Html, join, paragraph, section, table
from fedradio.report.page.numbers import percent, quantity, seconds
from fedradio.results.caches import ServedRounds, served_rounds, stationary
from fedradio.results.run import Run
from fedradio.runs.cache_summary import CacheSummary


def cache(run: Run) -> Html:
    """The section of caches, or the reason why there is none."""
    served = served_rounds(run)
    if served is None:
        return section("cache", "Cache", paragraph(_why_absent(run), class_="absent"))
    tables = join([_balance(run.cache), _edges(served)])
    about = paragraph(_about(run, served))
    return chart_section("cache", "Cache", caches(served, run.cache), about, after=tables)


def _why_absent(run: Run) -> str:
    if run.spec.plain.get("cache") is not None:
        return "No edge round is on record yet, so nothing has been cached."
    return "This spec has no caches. If its data are requests, add them with cache={}; learning is not affected."


def _about(run: Run, served: ServedRounds) -> str:
    catalogue = "" if run.cache is None else f" of {run.cache.catalogue}"
    text = f"Clients requested {served.files}{catalogue} files, in {int(served.requests.sum()):,} requests. "
    text += "All placements saw the same requests."
    if stationary(run.spec):
        text += " Their distribution never changes in this world, which favours counting."
    if run.spec.plain["cache"]["every"] != "slot" and any(shelf.oracle for shelf in served.shelves.values()):
        text += (
            " An oracle knows the distribution of the next slot; when it places for several slots, it can be beaten."
        )
    return text


def _balance(found: CacheSummary | None) -> Html | None:
    """The table of the overall balance, from the summary."""
    if found is None:
        return None
    head = ["placement", "hits", "expected", "net backhaul", "delivery", "reports", "payback", "break-even"]
    rows = []
    for name, s in found.shelves.items():
        learns = s.knows == "model" and s.rival is not None and s.net_bits is not None
        paid = "" if not learns else "never" if s.payback is None else f"round {s.payback}"
        size = "" if s.break_even_bits is None else quantity(s.break_even_bits, "bit")
        cells = [name, percent(s.hit_ratio), percent(s.expected), quantity(s.net_bits, "bit"), seconds(s.seconds)]
        rows.append([*cells, quantity(s.report_bits, "bit"), paid, size])
    return table("Balance of each placement over the run", head, rows)


def _edges(served: ServedRounds) -> Html:
    """The table of hits per edge."""
    rows = [
        [str(b), f"{asked:,}", *(percent(s.edges[b] / asked if asked else None) for s in served.shelves.values())]
        for b, asked in enumerate(served.edges)
    ]
    return table("Hits per edge over the run", ["edge", "requests", *served.shelves], rows)

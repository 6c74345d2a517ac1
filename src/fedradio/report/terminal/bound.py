"""A paper's theory evaluated on a run, for the terminal."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fedradio.papers.bounds.assessment import Assessment, BoundTable, Condition, Listing


def assessment_view(assessment: Assessment) -> Group:
    """The meaning of the numbers, the bounds with their terms, conditions, constants, learning rates, notes."""
    parts: list[RenderableType] = [
        Text(assessment.title, style="bold"),
        Text(" ".join(assessment.meaning.split())),
        Text(),
    ]
    for bound in assessment.bounds:
        parts += [Text(bound.title, style="bold"), terms_table(bound), Text()]
    parts += [conditions_table(assessment.conditions), Text(), constants_table(assessment)]
    if assessment.rates:
        parts += [Text(), rates_table(assessment)]
    for listing in assessment.listings:
        parts += [Text(), Text(listing.title, style="bold"), listing_table(listing)]
    if assessment.notes:
        parts += [Text(), *(Text(f"note: {note}", style="yellow") for note in assessment.notes)]
    return Group(*parts)


def terms_table(bound: BoundTable) -> Table:
    """The terms of a bound, one row each, one column per range of rounds."""
    table = _table()
    table.add_column("term")
    columns = bound.columns
    for column in columns:
        table.add_column(f"{column.title} ({_rounds(column.rounds)})", justify="right")
    for name in columns[0].terms:
        table.add_row(name, *(number(column.terms[name]) for column in columns))
    table.add_row("expected" if bound.exact else "bound", *(number(column.total) for column in columns), style="bold")
    table.add_row("measured", *(number(column.measured) for column in columns))
    if not bound.exact:
        verdicts = {None: "-", True: "yes", False: "NO"}
        table.add_row("bound holds", *(verdicts[column.holds] if bound.applies else "no claim" for column in columns))
    return table


def conditions_table(conditions: list[Condition]) -> Table:
    """The conditions of the theorem, with the run's numbers."""
    table = _table()
    table.add_column("condition", overflow="fold")
    for name in ("here", "limit"):
        table.add_column(name, justify="right")
    table.add_column("holds")
    for condition in conditions:
        verdict = Text("yes") if condition.holds else Text("NO", style="yellow")
        table.add_row(condition.name, number(condition.value), number(condition.limit), verdict)
    return table


def constants_table(assessment: Assessment) -> Table:
    """The constants of the theorem with their sources."""
    table = _table()
    for name in ("constant", "symbol", "value", "source"):
        table.add_column(name, overflow="fold")
    for row in assessment.constants:
        table.add_row(row.name, row.symbol, number(row.value), row.source)
    return table


def rates_table(assessment: Assessment) -> Table:
    """The learning rate of the run next to its limits and the best rates."""
    table = _table()
    table.add_column("learning rate")
    table.add_column("value", justify="right")
    for name, value in assessment.rates.items():
        table.add_row(name, number(value))
    return table


def listing_table(listing: Listing) -> Table:
    """A further table of names and numbers."""
    table = _table()
    for place, name in enumerate(listing.header):
        table.add_column(name, justify="left" if place == 0 else "right", overflow="fold")
    for row in listing.rows:
        table.add_row(*(cell if isinstance(cell, str) else number(cell) for cell in row))
    return table


def number(value: float | None) -> str:
    """A number with four digits; a dash if it was not measured."""
    if value is None:
        return "-"
    return f"{value:.4g}" if math.isfinite(value) else str(value)


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count} rounds"


def _table() -> Table:
    return Table(box=None, pad_edge=False, header_style="bold")

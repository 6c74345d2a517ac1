"""A paper's theory evaluated on a run, for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fedradio.papers.bounds.assessment import Assessment, BoundTable, Condition, Listing
from fedradio.report.terminal.words import Cell, count, plain_table


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
    columns = bound.columns
    rows: list[Sequence[Cell]] = [
        [name, *(number(column.terms[name]) for column in columns)] for name in columns[0].terms
    ]
    total = [Text("expected" if bound.exact else "bound"), *(Text(number(column.total)) for column in columns)]
    for cell in total:
        cell.stylize("bold")
    measured = ["measured", *(number(column.measured) for column in columns)]
    verdicts = {None: "-", True: "yes", False: "NO"}
    claims = [verdicts[column.holds] if bound.applies else "no claim" for column in columns]
    head = ["term", *(f"{column.title} ({count(column.rounds, 'round')})" for column in columns)]
    rows += [total, measured, *([] if bound.exact else [["bound holds", *claims]])]
    return plain_table(head, rows, left=1)


def conditions_table(conditions: list[Condition]) -> Table:
    """The conditions of the theorem, with the run's numbers."""
    verdicts = {True: Text("yes"), False: Text("NO", style="yellow")}
    rows: list[Sequence[Cell]] = [
        [each.name, number(each.value), number(each.limit), verdicts[each.holds]] for each in conditions
    ]
    return plain_table(("condition", "here", "limit", "holds"), rows, left=1)


def constants_table(assessment: Assessment) -> Table:
    """The constants of the theorem with their sources."""
    rows = [[row.name, row.symbol, number(row.value), row.source] for row in assessment.constants]
    return plain_table(("constant", "symbol", "value", "source"), rows)


def rates_table(assessment: Assessment) -> Table:
    """The learning rate of the run next to its limits and the best rates."""
    return plain_table(("learning rate", "value"), [[name, number(v)] for name, v in assessment.rates.items()], left=1)


def listing_table(listing: Listing) -> Table:
    """A further table of names and numbers."""
    rows = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in listing.rows]
    return plain_table(listing.header, rows, left=1)


def number(value: float | None) -> str:
    """A number with four digits; a dash if it was not measured."""
    if value is None:
        return "-"
    return f"{value:.4g}" if math.isfinite(value) else str(value)

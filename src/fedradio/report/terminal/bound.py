"""A theorem on a run, for the terminal."""

from __future__ import annotations

import math

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from fedradio.papers.bounds.assess import Assessment, Column

TERMS = {
    "gap": "loss gap",
    "variance": "gradient variance",
    "client_divergence": "client-edge divergence",
    "edge_divergence": "edge-global divergence",
    "arrival": "lost payloads",
}
"""Terms of a bound, as people call them."""


def assessment_view(found: Assessment) -> Group:
    """The terms of the bound, the constants with their sources, learning rates and notes."""
    notes = [Text(f"note: {note}", style="yellow") for note in found.notes]
    title = Text(f"{found.paper}, {found.title}", style="bold")
    return Group(
        title,
        terms_table(found.columns, found.applies),
        Text(),
        constants_table(found),
        Text(),
        rates_table(found),
        *notes,
    )


def terms_table(columns: list[Column], applies: bool) -> Table:
    """One row a term, one column a range of rounds."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("term")
    for column in columns:
        table.add_column(f"{column.title} ({column.rounds} rounds)", justify="right")
    for name, label in TERMS.items():
        table.add_row(label, *(number(getattr(column.bound, name)) for column in columns))
    table.add_row("bound", *(number(column.bound.total) for column in columns), style="bold")
    table.add_row("measured", *(number(column.measured) for column in columns))
    verdicts = {None: "-", True: "yes", False: "NO"}
    silent = "no claim at this rate"
    table.add_row("bound holds", *(verdicts[column.holds] if applies else silent for column in columns))
    return table


def constants_table(found: Assessment) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("constant", "symbol", "value", "source"):
        table.add_column(name, overflow="fold")
    for row in found.constants:
        table.add_row(row.name.replace("_", " "), escape(row.symbol), number(row.value), row.source)
    return table


def rates_table(found: Assessment) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("learning rate")
    table.add_column("value", justify="right")
    for name, value in found.rates.items():
        table.add_row(name, number(value))
    return table


def number(value: float | None) -> str:
    """Four digits; a dash is not measured."""
    if value is None:
        return "-"
    return f"{value:.4g}" if math.isfinite(value) else str(value)

"""A convergence bound evaluated on a run, for the terminal."""

from __future__ import annotations

import math

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fedradio.papers.bounds.assess import Assessment, BoundColumn

TERMS = {
    "gap": "loss gap",
    "variance": "gradient variance",
    "client_divergence": "client-edge divergence",
    "edge_divergence": "edge-global divergence",
    "arrival": "lost payloads",
}
"""Names of the terms of a bound."""


def assessment_view(assessment: Assessment) -> Group:
    """The terms of the bound, the constants with their sources, learning rates and notes."""
    notes = [Text(f"note: {note}", style="yellow") for note in assessment.notes]
    title = Text(f"{assessment.paper}, {assessment.title}", style="bold")
    return Group(
        title,
        terms_table(assessment.columns, assessment.applies),
        Text(),
        constants_table(assessment),
        Text(),
        rates_table(assessment),
        *notes,
    )


def terms_table(columns: list[BoundColumn], applies: bool) -> Table:
    """The terms of the bound, one row each, one column per range of rounds."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("term")
    for column in columns:
        table.add_column(f"{column.title} ({column.rounds} rounds)", justify="right")
    for name, label in TERMS.items():
        table.add_row(label, *(number(getattr(column.bound, name)) for column in columns))
    table.add_row("bound", *(number(column.bound.total) for column in columns), style="bold")
    table.add_row("measured", *(number(column.measured) for column in columns))
    verdicts = {None: "-", True: "yes", False: "NO"}
    no_claim = "no claim at this rate"
    table.add_row("bound holds", *(verdicts[column.holds] if applies else no_claim for column in columns))
    return table


def constants_table(assessment: Assessment) -> Table:
    """The constants of the theorem with their sources."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("constant", "symbol", "value", "source"):
        table.add_column(name, overflow="fold")
    for row in assessment.constants:
        table.add_row(row.name.replace("_", " "), row.symbol, number(row.value), row.source)
    return table


def rates_table(assessment: Assessment) -> Table:
    """The learning rate of the run beside limits and best rates."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("learning rate")
    table.add_column("value", justify="right")
    for name, value in assessment.rates.items():
        table.add_row(name, number(value))
    return table


def number(value: float | None) -> str:
    """A number with four digits; a dash if it was not measured."""
    if value is None:
        return "-"
    return f"{value:.4g}" if math.isfinite(value) else str(value)

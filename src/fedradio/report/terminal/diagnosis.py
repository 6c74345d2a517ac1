"""A run's diagnosis for the terminal."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from fedradio.report.terminal.words import Cell, count, plain_table
from fedradio.results.diagnosis import UNITS, Diagnosis

HEADS = {
    "loss": "loss",
    "drop": "drop",
    "gradient_sq": "|gradient|^2",
    "smoothness": "smoothness",
    "client_smoothness": "of a client",
    "noise": "noise",
    "divergence": "divergence",
    "edge_divergence": "of edges",
}
"""Column heads of the quantities; a column without any value is left out."""

CAPTION = (
    "smoothness: of the global loss, and the largest of a client; noise: variance of mini-batch gradients; divergence: "
    "of the clients' gradients from their mean"
)

OF_EDGES = ", and of the edges'"
"""End of the caption where a column is about edges."""


def diagnosis_view(diagnosis: Diagnosis) -> Group:
    """A row for every measured round, under heads with units."""
    rows = diagnosis.rounds
    names = [name for name in HEADS if any(getattr(row, name) is not None for row in rows)]
    cells: list[list[Cell]] = [
        [str(row.t + 1), str(row.clients), *(_number(getattr(row, name)) for name in names)] for row in rows
    ]
    head = ["round", "clients", *(f"{HEADS[name]}\n{UNITS[name]}" for name in names)]
    title = f"{diagnosis.name}, {diagnosis.algorithm}, seed {diagnosis.seed}: {count(len(rows), 'round')} measured"
    caption = CAPTION + OF_EDGES * ("edge_divergence" in names)
    return Group(Text(title, style="bold"), plain_table(head, cells, left=0), Text(caption, style="dim"))


def _number(value: float | None) -> str | None:
    """A number with four digits; None if it is undefined."""
    return None if value is None else f"{value:.4g}"

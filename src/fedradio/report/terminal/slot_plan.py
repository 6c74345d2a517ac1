"""One planned edge round for the terminal: map of the network, allocation, seconds and joules of every client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from rich.table import Table
from rich.text import Text

from fedradio.core.contracts import Topology
from fedradio.core.units import w_to_dbm
from fedradio.report.slot_rows import placement
from fedradio.report.terminal.words import Cell, plain_table
from fedradio.rounds.planning import Planned

MARKS = {
    "selected": ("●", "green"),
    "eligible": ("○", "blue"),
    "out": ("x", "red"),
    "edge": ("▲", "bold yellow"),
    "server": ("■", "bold"),
}
"""Character and colour of clients by their role, and of other nodes."""


def map_text(topology: Topology, planned: Planned, columns: int = 64) -> Text:
    """A character map of the network: server, edges, and clients by their role in the edge round."""
    nodes = torch.cat(topology.positions)
    between = sum(len(tier) for tier in topology.positions[1:-1])
    marks = [*placement(planned), *["edge"] * between, "server"]
    low, high = nodes.min(dim=0).values, nodes.max(dim=0).values
    span = float((high - low).max()) or 1.0
    rows = max(1, round(columns / 2 * float(high[1] - low[1]) / span))  # a character is twice as high as wide
    grid = [[(" ", "")] * (columns + 1) for _ in range(rows + 1)]
    for (x, y), mark in zip(((nodes - low) / span).tolist(), marks, strict=True):
        grid[rows - round(y * columns / 2)][round(x * columns)] = MARKS[mark]
    text = Text()
    for line in grid:
        for character, style in line:
            text.append(character, style)
        text.append("\n")
    for name, (character, style) in MARKS.items():
        text.append(f"{character} ", style).append(f"{name}   ")
    return text


COLUMNS: dict[str, tuple[str, Callable[[Any], str | Text]]] = {
    "distance_m": ("m", "{:.3g}".format),
    "gain_db": ("gain dB", "{:.0f}".format),
    "place": ("", lambda place: Text(*MARKS[place])),
    "reason": ("reason", lambda reason: reason.replace("_", " ")),
    "cpu_hz": ("CPU MHz", lambda hz: f"{hz / 1e6:.4g}"),
    "power_w": ("power dBm", lambda watts: f"{w_to_dbm(watts):.1f}" if watts > 0 else "-inf"),
    "seconds": ("s", "{:.3g}".format),
    "joules": ("J", "{:.3g}".format),
    "planning_ms": ("planning ms", "{:.1f}".format),
}
"""Title and text of the columns of :mod:`fedradio.report.slot_rows`; those of others are their names and values."""


def rows_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows in SI units as a table, for clients and cells."""
    none = {"selected": None, None: None}  # an undefined value is a dash; those who are out have none
    cells = [
        [none.get(row.get("place"), "") if value is None else _cell(name, value) for name, value in row.items()]
        for row in rows
    ]
    return plain_table([COLUMNS.get(name, (name,))[0] for name in rows[0]], cells, left=0, wide=False)


def columns_table(corner: str, columns: Mapping[str, Mapping[str, Any]]) -> Table:
    """One quantity per row and one column per mode or point, narrow enough for any terminal."""
    names = next(iter(columns.values()))
    rows = [[COLUMNS.get(name, (name,))[0], *(_cell(name, of.get(name)) for of in columns.values())] for name in names]
    return plain_table([corner, *columns], rows, left=1, wide=False)


def _cell(name: str, value: Any) -> Cell:
    if value is None or (isinstance(value, str) and name not in COLUMNS):
        return value
    return COLUMNS[name][1](value) if name in COLUMNS else f"{value:.6g}"

"""One planned edge round for the terminal: map of the network, allocation, seconds and joules of every client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from rich.table import Table
from rich.text import Text
from torch import Tensor

from fedradio.core.contracts import Reason, Topology
from fedradio.core.units import w_to_dbm
from fedradio.policies.objectives import Point
from fedradio.report.slot_rows import placement
from fedradio.rounds.accounts import planned_j
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation

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


def clients_table(sim: Simulation, planned: Planned) -> Table:
    """The table of clients; units are in the header, so that it fits a narrow terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for name in ("client", "cell", "m", "gain dB", "", "reason", "steps", "CPU MHz", "dBm", "s", "J"):
        table.add_column(name, justify="left" if name in ("", "reason") else "right", no_wrap=True)
    parent, positions = sim.topology.parents[0], sim.topology.positions
    distance = (positions[0] - positions[1][parent]).norm(dim=1)
    joules = planned_j(planned)
    for i, place in enumerate(placement(planned)):
        row: list[str | Text] = [str(i), str(int(parent[i])), f"{distance[i]:.3g}", _gain(planned, int(parent[i]), i)]
        row.append(Text(*MARKS[place]))
        if place == "selected":
            cpu = _value(planned.x.alloc.cpu_hz, i)
            power = _value(planned.x.alloc.power_w, i)
            row += ["", str(int(planned.x.alloc.steps[i])), "-" if cpu is None else f"{cpu / 1e6:.4g}", _dbm(power)]
            row += [_short(_value(planned.airtime.done_s, i)), _short(_value(joules, i))]
        else:
            row += [Reason(int(planned.x.alloc.reason[i])).name.lower().replace("_", " "), *[""] * 5]
        table.add_row(*row)
    return table


def compare_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The table of one edge round under several modes, one column per mode; see
    :func:`fedradio.report.slot_rows.mode_row`."""
    titles = {"cpu_hz": "CPU MHz", "power_w": "power dBm", "joules": "J", "planning_ms": "planning ms"}
    texts = {"cpu_hz": lambda hz: f"{hz / 1e6:.4g}", "power_w": _dbm, "planning_ms": lambda ms: f"{ms:.1f}"}
    table = _columns("mode", [str(row["mode"]) for row in rows])
    for name in rows[0]:
        if name != "mode":
            table.add_row(titles.get(name, name), *(_cell(row[name], texts.get(name)) for row in rows))
    return table


def points_table(points: Sequence[Point]) -> Table:
    """The table of a slot's objectives, with one column for the chosen plan and one for the exact optimum."""
    table = _columns("objective", [point.name for point in points])
    for name in points[0].quantities:
        table.add_row(name, *(_cell(point.quantities[name]) for point in points))
    return table


def _columns(corner: str, titles: Sequence[str]) -> Table:
    """An empty table with one quantity per row and these columns, narrow enough for any terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(corner)
    for title in titles:
        table.add_column(title, justify="right")
    return table


def _cell(value: Any, text: Callable[[Any], str] | None = None) -> str:
    """A value of a row as text; a dash if it is undefined."""
    if value is None:
        return "-"
    return text(value) if text else value if isinstance(value, str) else f"{value:.6g}"


def cells_table(sim: Simulation, planned: Planned) -> Table:
    """The table of cells: clients, selected clients, and the policy's notes."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    notes = {name: note.values for name, note in planned.x.alloc.notes.items() if note.axis == "receiver"}
    for name in ("cell", "clients", "selected", *notes):
        table.add_column(name, justify="right")
    parent = sim.topology.parents[0]
    for cell in range(sim.topology.receivers(0)):
        mine = parent == cell
        selected = int(planned.x.alloc.active[mine].sum())
        table.add_row(str(cell), str(int(mine.sum())), str(selected), *(f"{float(v[cell]):g}" for v in notes.values()))
    return table


def _value(values: Tensor | None, i: int) -> float | None:
    return None if values is None else float(values[i])


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _dbm(watts: float | None) -> str:
    return "-" if watts is None else f"{w_to_dbm(watts):.1f}" if watts > 0 else "-inf"


def _gain(planned: Planned, receiver: int, client: int) -> str:
    if planned.x.channel is None:
        return "-"
    return f"{10 * torch.log10(planned.x.channel.gain[receiver, client]):.0f}"

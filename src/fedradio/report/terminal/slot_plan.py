"""One slot of the network for people: a map, who takes part and why not, seconds and joules per client."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from rich.table import Table
from rich.text import Text
from torch import Tensor

from fedradio.core.contracts import Reason, Topology
from fedradio.core.units import show, w_to_dbm
from fedradio.rounds.accounts import planned_j
from fedradio.rounds.exchange import Planned
from fedradio.rounds.simulation import Simulation

MARKS = {
    "selected": ("●", "green"),
    "eligible": ("○", "blue"),
    "out": ("x", "red"),
    "edge": ("▲", "bold yellow"),
    "server": ("■", "bold"),
}


def placement(plan: Planned) -> list[str]:
    """Each client's place in the slot: ``selected``, ``eligible`` (but not selected) or ``out``."""
    able = plan.alloc.reason == int(Reason.NOT_SELECTED)
    pairs = zip(plan.alloc.active.tolist(), able.tolist(), strict=True)
    return ["selected" if active else "eligible" if could else "out" for active, could in pairs]


def map_text(topology: Topology, plan: Planned, columns: int = 64) -> Text:
    """The network as characters: server, edges, and clients by their place in the slot."""
    nodes = torch.cat(topology.positions)
    between = sum(len(tier) for tier in topology.positions[1:-1])
    marks = [*placement(plan), *["edge"] * between, "server"]
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


def clients_table(sim: Simulation, plan: Planned) -> Table:
    """One row a client; units are in the head, so that it fits a narrow terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for name in ("client", "cell", "dist", "gain dB", "", "reason", "steps", "CPU MHz", "dBm", "s", "J"):
        table.add_column(name, justify="left" if name in ("", "reason") else "right", no_wrap=True)
    parent, positions = sim.topology.parents[0], sim.topology.positions
    distance = (positions[0] - positions[1][parent]).norm(dim=1)
    joules = planned_j(sim.hops[0], plan)
    for i, place in enumerate(placement(plan)):
        row: list[str | Text] = [str(i), str(int(parent[i])), f"{distance[i]:.3g}", _gain(plan, int(parent[i]), i)]
        row.append(Text(*MARKS[place]))
        if place == "selected":
            cpu = _value(plan.alloc.cpu_hz, i)
            power = _value(plan.alloc.power_w, i)
            row += ["", str(int(plan.alloc.steps[i])), "-" if cpu is None else f"{cpu / 1e6:.4g}", _dbm(power)]
            row += [_short(_value(plan.airtime.done_s, i)), _short(_value(joules, i))]
        else:
            row += [Reason(int(plan.alloc.reason[i])).name.lower().replace("_", " "), *[""] * 5]
        table.add_row(*row)
    return table


def compare_table(found: Mapping[str, tuple[Simulation, Planned, float]]) -> Table:
    """The same slot under several modes: ``mode -> (simulation, plan, milliseconds)``."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("mode", "eligible", "selected", "steps", "joules", "median CPU", "median dBm", "ms"):
        table.add_column(name, justify="left" if name == "mode" else "right")
    for mode, (sim, plan, milliseconds) in found.items():
        on = plan.alloc.active
        joules = planned_j(sim.hops[0], plan)
        places = placement(plan)
        table.add_row(
            mode,
            str(len(places) - places.count("out")),
            str(places.count("selected")),
            str(int(plan.alloc.steps.sum())),
            "-" if joules is None else f"{float(joules.sum()):.4g}",
            show(_median(plan.alloc.cpu_hz, on), "Hz"),
            _dbm(_median(plan.alloc.power_w, on)),
            f"{milliseconds:.1f}",
        )
    return table


def cells_table(sim: Simulation, plan: Planned) -> Table:
    """What the policy noted of every cell."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    notes = {name: values for name, values in plan.alloc.notes.items() if len(values) == sim.topology.receivers(0)}
    for name in ("cell", "clients", "selected", *notes):
        table.add_column(name, justify="right")
    parent = sim.topology.parents[0]
    for cell in range(sim.topology.receivers(0)):
        mine = parent == cell
        selected = int(plan.alloc.active[mine].sum())
        table.add_row(str(cell), str(int(mine.sum())), str(selected), *(f"{float(v[cell]):g}" for v in notes.values()))
    return table


def _value(values: Tensor | None, i: int) -> float | None:
    return None if values is None else float(values[i])


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _median(values: Tensor | None, on: Tensor) -> float | None:
    return None if values is None or not bool(on.any()) else float(values[on].median())


def _dbm(watts: float | None) -> str:
    return "-" if watts is None else f"{w_to_dbm(watts):.1f}" if watts > 0 else "-inf"


def _gain(plan: Planned, receiver: int, client: int) -> str:
    if plan.channel is None:
        return "-"
    return f"{10 * torch.log10(plan.channel.gain[receiver, client]):.0f}"

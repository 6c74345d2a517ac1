"""Tables of an over-the-air network before training: the clients' shares of the mean, and the error by cause."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table

from fedradio.papers.studies.air import expected_error, noise_text, shares
from fedradio.report.terminal.words import plain_table
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation
from fedradio.theory.whfl import effective_clients


def shares_table(sim: Simulation, planned: Planned) -> Table:
    """The table of clusters: distance, share of the global mean, shares of the clients."""
    share, cells = shares(sim, planned), sim.topology.cells
    rows = []
    for cell in range(int(cells.max()) + 1):
        mine, positions = cells == cell, sim.topology.positions
        place = positions[0][mine].mean(dim=0) if len(sim.hops) == 1 else positions[1][cell]
        each = "  ".join(f"{100 * value:.1f}" for value in share[mine].tolist())
        distance = f"{(place - positions[-1][0]).norm():.2f}"
        rows.append([str(cell), distance, f"{100 * float(share[mine].sum()):.1f}", each])
    head = ["cluster", "distance to server", "share %", "shares of its clients %"]
    return plain_table(head, rows, f"{len(share)} clients, worth {effective_clients(share):.1f} equally weighted ones")


def error_table(sim: Simulation, planned: Planned) -> Table:
    """The table of the expected squared error of the global mean by cause, for payloads of power 1."""
    parts = {name.replace("_", ", "): value for name, value in asdict(expected_error(sim, planned)).items()}
    rows = [[name, f"{value:.3g}"] for name, value in (parts | {"total": sum(parts.values())}).items() if value > 0]
    caption = f"exact error of the mean of independent payloads with unit power; {noise_text(sim)}"
    return plain_table(["cause of error", "per symbol"], rows, caption, left=1)

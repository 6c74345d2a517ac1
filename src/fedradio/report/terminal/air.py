"""Tables of an over-the-air network before training: the clients' shares of the mean, and the error by cause."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table

from fedradio.papers.studies.air import expected_error, noise_text, shares
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation
from fedradio.theory.whfl import effective_clients


def shares_table(sim: Simulation, planned: Planned) -> Table:
    """The table of clusters: distance, share of the global mean, shares of the clients."""
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    for name in ("cluster", "distance to server", "share %", "shares of its clients %"):
        table.add_column(name, justify="left" if "its" in name else "right")
    share, cells = shares(sim, planned), sim.topology.cells
    server = sim.topology.positions[-1][0]
    for cell in range(int(cells.max()) + 1):
        mine = cells == cell
        place = sim.topology.positions[0][mine].mean(dim=0) if len(sim.hops) == 1 else sim.topology.positions[1][cell]
        each = "  ".join(f"{100 * value:.1f}" for value in share[mine].tolist())
        table.add_row(str(cell), f"{(place - server).norm():.2f}", f"{100 * float(share[mine].sum()):.1f}", each)
    table.caption = f"{len(share)} clients, worth {effective_clients(share):.1f} equally weighted ones"
    return table


def error_table(sim: Simulation, planned: Planned) -> Table:
    """The table of the expected squared error of the global mean by cause, for payloads of power 1."""
    error = expected_error(sim, planned)
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    table.add_column("cause of error")
    table.add_column("per symbol", justify="right")
    parts = {name.replace("_", ", "): value for name, value in asdict(error).items()}
    for name, value in parts.items():
        if value > 0:
            table.add_row(name, f"{value:.3g}")
    table.add_row("total", f"{sum(parts.values()):.3g}")
    table.caption = f"exact error of the mean of independent payloads with unit power; {noise_text(sim)}"
    return table

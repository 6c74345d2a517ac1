"""Over-the-air networks before any training: what every client counts, and how exact the sum will be."""

from __future__ import annotations

from dataclasses import asdict

import torch
from rich.table import Table
from torch import Tensor

from fedradio.core.contracts import ChannelState
from fedradio.links.over_the_air import OverTheAir
from fedradio.policies.ramp import Ramp
from fedradio.rounds.planning import Plan
from fedradio.rounds.simulation import Simulation
from fedradio.theory.whfl import (
    AggregationError,
    Moments,
    aggregation_error,
    client_shares,
    effective_clients,
    flat_error,
)


def is_air(sim: Simulation) -> bool:
    """Whether one or two hops of air, all over the air, lead to the server."""
    return len(sim.hops) <= 2 and all(isinstance(hop.link, OverTheAir) for hop in sim.hops)


def unforeseen(sim: Simulation, plan: Plan) -> str:
    """Why shares and error cannot be told before the run, or an empty string: the closed form is for everybody, equal
    weights and the mean of the gains."""
    if any(_link(sim, h).normaliser != "mean" for h in range(len(sim.hops))):
        return "with normaliser sum"
    if not bool(plan.airtime.arrived.all()):
        return "where not all clients are on the air"
    samples = sim.stream.stats(sim.stream.start())["samples"]
    if sim.algorithm.reveals & {"samples", "start_seen"} and int(samples.min()) < int(samples.max()):
        return "with weights by samples"
    return ""


def shares(sim: Simulation, plan: Plan) -> Tensor:
    """What each client counts in the global mean ``[C]``; over one hop its gain's share."""
    assert plan.channel is not None
    if len(sim.hops) == 1:
        return plan.channel.gain[0] / plan.channel.gain[0].sum()
    return client_shares(plan.channel.gain, sim.topology.parents[0], _edge_channel(sim).gain[0])


def expected_error(sim: Simulation, plan: Plan) -> AggregationError:
    """The exact error of the global mean per symbol, for independent payloads of power 1 from every client."""
    assert plan.channel is not None
    first = _link(sim, 0)
    iterations, clients = sim.hops[0].period, sim.topology.clients
    sent = Moments(
        gram=iterations * torch.eye(clients, dtype=torch.float64),
        power=torch.full((clients,), float(iterations), dtype=torch.float64),
        iterations=iterations,
    )
    amplitude = 1.0 if plan.alloc.amplitude is None else float(plan.alloc.amplitude.mean())
    noise = plan.channel.noise_w_hz / first.sigma_h2
    if len(sim.hops) == 1:
        return flat_error(plan.channel.gain[0], sent, amplitude, noise, first.antennas)
    above, policy = _edge_channel(sim), sim.hops[1].policy
    return aggregation_error(
        plan.channel.gain,
        sim.topology.parents[0],
        above.gain[0],
        sent,
        amplitude=amplitude,
        edge_amplitude=policy.amplitude(plan.clock.t) if isinstance(policy, Ramp) else 1.0,
        noise=noise,
        edge_noise=above.noise_w_hz / _link(sim, 1).sigma_h2,
        antennas=first.antennas,
        edge_antennas=_link(sim, 1).antennas,
    )


def shares_table(sim: Simulation, plan: Plan) -> Table:
    """One row a cluster: its distance and share, and those of its clients."""
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    for name in ("cluster", "to the server", "share %", "its clients' shares %"):
        table.add_column(name, justify="left" if "its" in name else "right")
    share, cells = shares(sim, plan), sim.topology.cells
    server = sim.topology.positions[-1][0]
    for cell in range(int(cells.max()) + 1):
        mine = cells == cell
        place = sim.topology.positions[0][mine].mean(dim=0) if len(sim.hops) == 1 else sim.topology.positions[1][cell]
        each = "  ".join(f"{100 * value:.1f}" for value in share[mine].tolist())
        table.add_row(str(cell), f"{(place - server).norm():.2f}", f"{100 * float(share[mine].sum()):.1f}", each)
    table.caption = f"worth {effective_clients(share):.1f} equal clients of {len(share)}"
    return table


def error_table(sim: Simulation, plan: Plan) -> Table:
    """The expected squared error of the global mean by cause, for payloads of power 1."""
    found = expected_error(sim, plan)
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    table.add_column("cause of error")
    table.add_column("per symbol", justify="right")
    parts = {name.replace("_", ", "): value for name, value in asdict(found).items()}
    for name, value in parts.items():
        if value > 0:
            table.add_row(name, f"{value:.3g}")
    table.add_row("in all", f"{sum(parts.values()):.3g}")
    table.caption = "of the mean of independent payloads of power 1, exact"
    return table


def _link(sim: Simulation, h: int) -> OverTheAir:
    link = sim.hops[h].link
    assert isinstance(link, OverTheAir)
    return link


def _edge_channel(sim: Simulation) -> ChannelState:
    channel, positions = sim.hops[1].channel, sim.topology.positions
    assert channel is not None
    return channel.realise(positions[2], positions[1], sim.topology.parents[1], sim.rng.child("channel", 1, 0, 0))

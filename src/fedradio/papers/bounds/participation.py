"""Who took part in a run, with which weight: the shares of RawHFL's theorem from records."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import Averaging, ExchangeRecord, Slots
from fedradio.core.params import group_share, group_sum
from fedradio.data.streams import arrivals_rng
from fedradio.papers.bounds.arrival import arrival_probability
from fedradio.papers.bounds.replay import StoredRun
from fedradio.rounds.simulation import Simulation
from fedradio.theory.rawhfl import Shares


def participation(run: StoredRun, averaging: Averaging) -> tuple[Shares, list[int]]:
    """Weights, SGD steps and arrivals of the rounds in which somebody trained, and which rounds these are.

    Selected are the active clients; where weights are normalised over the arrived, the arrived, who then arrive for
    sure. Otherwise ``p_sc`` is what the link noted under fading, else the share of a client's payloads that arrived in
    the whole run. ``gradient_sq`` is 0.
    """
    sim, edge, edges = run.sim, run.sim.topology.parents[0], run.sim.topology.receivers(0)
    stream, alpha_b, alpha_u, steps = sim.stream.start(), [], [], []
    for t, records in enumerate(run.exchanges):
        mass, everyone = torch.zeros(edges, dtype=torch.float64), torch.zeros(len(edge), dtype=torch.float64)
        alphas, done = [], []
        for record in (record for record in records if record.hop == 0):
            clock = sim.clock(0, t, record.e)
            stream = sim.stream.arrive(stream, clock, arrivals_rng(sim.rng, clock))
            everyone = importance(sim, stream)
            row = record.dense(len(edge))
            arrived = torch.tensor(row.arrived)
            chosen = arrived if averaging.normalise == "arrived" else torch.tensor(row.active)
            alphas.append(group_share(everyone * chosen, edge, edges))
            done.append(torch.tensor(row.steps) * sim.rule.updates_per_step)
            mass += group_sum(everyone * arrived, edge, edges)
        alpha_b.append(_edge_shares(sim, records, mass, group_sum(everyone, edge, edges)))
        alpha_u.append(torch.stack(alphas))
        steps.append(torch.stack(done))
    every = torch.stack(alpha_u)
    certain = averaging.normalise == "arrived"
    p_sc = torch.ones_like(every) if certain else arrival_probability(run.exchanges, len(edge))
    shares = Shares(edge, torch.stack(alpha_b), every, torch.stack(steps), p_sc, torch.zeros_like(every))
    trained = (shares.omega > 0).nonzero().flatten()
    rest = (x[trained] for x in (shares.alpha_b, shares.alpha_u, shares.steps, shares.p_sc, shares.gradient_sq))
    return Shares(edge, *rest), trained.tolist()


def importance(sim: Simulation, stream: Slots) -> Tensor:
    """What each client counts relative to the others ``[C]``."""
    known = {name: rows.cpu() for name, rows in sim.stream.stats(stream).items() if name in sim.algorithm.reveals}
    return sim.algorithm.importance(known, sim.topology.clients)


def _edge_shares(sim: Simulation, records: list[ExchangeRecord], mass: Tensor, fixed: Tensor) -> Tensor:
    """Weights of the edges on the outer hop in a round, ``alpha_b [B]``; a flat network is one edge."""
    outer = [record for record in records if record.hop == 1]
    if not outer:
        return torch.ones(1, dtype=torch.float64)
    arrived = torch.tensor(outer[-1].dense(len(mass)).arrived)
    mass = fixed if sim.algorithm.relay == "fixed" else mass * arrived
    return mass / mass.sum().clamp(min=1e-300) * arrived

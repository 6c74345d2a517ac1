"""Replays a stored run for a theorem: weights and participation from its records, gradients of its first rounds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch
from torch import Tensor

from fedradio.core.contracts import Averaging, ExchangeRecord, Slots
from fedradio.core.errors import StoreError
from fedradio.core.params import group_share, group_sum
from fedradio.core.progress import Progress, silent
from fedradio.data.streams import arrivals_rng
from fedradio.engine.threads import parallel_map
from fedradio.papers.bounds.arrival import arrival_probability
from fedradio.results.run import open_run
from fedradio.rounds.parts import STREAM, recall
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, check_spec
from fedradio.theory import estimate
from fedradio.theory.rawhfl import Constants, Shares

BATCHES = 8
"""Mini-batches per client and round from which the gradient noise is estimated, at most an epoch."""


@dataclass(frozen=True)
class StoredRun:
    """A run folder with its simulation built again; ``exchanges[t]`` are the exchange records of round t."""

    folder: Path
    spec: Spec
    sim: Simulation
    exchanges: list[list[ExchangeRecord]]


def replayed_run(folder: Path) -> StoredRun:
    """Read a run folder and build its simulation; a folder that was changed since is refused."""
    run = open_run(folder)
    if run.damage:
        raise StoreError(f"{folder} is {run.trouble}")
    spec = check_spec(run.spec.plain)
    records = run.records(ExchangeRecord)
    exchanges = [list(of_round) for _, of_round in groupby(records, key=lambda record: record.t)]
    if not exchanges:
        raise StoreError(f"{folder}: the run ended before its first round")
    return StoredRun(folder, spec, build(spec), exchanges)


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
            everyone = _importance(sim, stream)
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


def _importance(sim: Simulation, stream: Slots) -> Tensor:
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


@dataclass(frozen=True)
class ReplayedRound:
    """Measurements of a replayed round k. ``f`` is the loss (18) of its selected clients, the mean over edge rounds.

    ``norm_sq`` is ``|grad f(w^k)|^2``, ``drop`` is ``f(w^k) - f(w^(k+1))``, ``bias`` that of unequal steps, and
    ``power [U]`` the mean square of a client's mini-batch gradients at w^k, NaN for clients that took no part.
    """

    norm_sq: float
    loss: float
    drop: float
    bias: float
    constants: Constants
    power: Tensor


def replay(
    run: StoredRun, shares: Shares, trained: list[int], rounds: int, progress: Progress = silent, probe: bool = True
) -> list[ReplayedRound]:
    """Run the first ``rounds`` rounds again and measure those of them in ``trained``, in which somebody trained.

    ``probe``: search for directions sharper than the run's own, which costs some more gradients of one client.
    """
    sim, replayed = run.sim, []
    state = begin(sim)
    for t in range(rounds):
        progress(f"replaying round {t + 1} of {rounds}", t / rounds)
        w = state.memory.shared["w"]
        clock = sim.clock(0, t)
        stream = sim.stream.arrive(recall(state.parts, STREAM), clock, arrivals_rng(sim.rng, clock))
        state, _, records = run_round(sim, state, evaluate=False)
        _refuse_mismatch(run, t, records)
        if t in trained:
            k = trained.index(t)
            after = state.memory.shared["w"]
            replayed.append(_measured(sim, shares.only(slice(k, k + 1)), t, stream, w, after, probe))
    return replayed


def _refuse_mismatch(run: StoredRun, t: int, records: list[ExchangeRecord]) -> None:
    """Refuse a replay that chose other clients or steps than the records of the run."""
    if [_choice(record) for record in run.exchanges[t]] != [_choice(record) for record in records]:
        reason = "the replay chose other clients or steps than the records say; was the run made by another version?"
        raise StoreError(f"{run.folder}, round {t}: {reason}")


def _choice(record: ExchangeRecord) -> tuple[int, int, list[int], list[bool], list[int]]:
    """Who took part in an exchange, with how many steps, and who arrived."""
    return record.hop, record.e, record.ids, record.arrived, record.steps


def _measured(
    sim: Simulation, shares: Shares, t: int, stream: Slots, w: Tensor, after: Tensor, probe: bool
) -> ReplayedRound:
    """Measure a round: full gradients at both ends, mini-batch gradients at its start, on the data of its beginning."""
    ids = shares.alpha[0].sum(dim=0).nonzero().flatten()
    rng = sim.rng.child("theory", t)
    whole = max(int(sim.stream.stats(stream)["samples"].max()), 1)
    full_batch = sim.stream.draw(stream, ids, torch.ones_like(ids), whole, rng.child("held"))
    epoch = (full_batch.labelled.count[:, 0] + sim.rule.batch - 1) // sim.rule.batch  # batches of an epoch [A]
    drawn = sim.stream.draw(stream, ids, epoch.cpu().clamp(1, BATCHES), sim.rule.batch, rng.child("noise"))

    def client(i: int) -> tuple[float, Tensor, float, Tensor, float, float]:
        x, y = full_batch.fetch(full_batch.labelled.index[i, 0, : int(full_batch.labelled.count[i, 0])])
        loss, full = estimate.gradient(sim.model, w, x, y)
        later, end = estimate.gradient(sim.model, after, x, y)
        noise, power = [], []
        for index, count in zip(drawn.labelled.index[i], drawn.labelled.count[i], strict=True):
            if count > 0:
                gradient = estimate.gradient(sim.model, w, *drawn.fetch(index[: int(count)]))[1]
                noise.append(estimate.gradient_variance(gradient[None], full))
                power.append(float(estimate.squared_norm(gradient)))
        return loss, full, later, end, sum(noise) / max(len(noise), 1), sum(power) / max(len(power), 1)

    losses, rows, later, ends, noise, power = zip(*parallel_map(client, range(len(ids)), sim.workers), strict=True)
    gradients, moved = torch.stack(rows), float(estimate.squared_norm(after - w).sqrt())
    alpha_b, alpha_u, steps, edge = (
        shares.alpha_b[0],
        shares.alpha_u[0][:, ids],
        shares.steps[0][:, ids],
        shares.edge[ids],
    )
    weight = shares.alpha[0][:, ids].sum(dim=0) / shares.alpha[0].sum()
    ratio = [estimate.smoothness(torch.stack([w, after]), torch.stack(pair)) for pair in zip(rows, ends, strict=True)]
    sharpest = max(range(len(ids)), key=ratio.__getitem__)

    def slope(at: Tensor) -> Tensor:
        x, y = full_batch.fetch(full_batch.labelled.index[sharpest, 0, : int(full_batch.labelled.count[sharpest, 0])])
        return estimate.gradient(sim.model, at, x, y)[1]

    bend = ends[sharpest] - rows[sharpest]
    probed = estimate.probed_smoothness(slope, w, bend, moved) if probe and moved > 0 else 0.0
    constants = Constants(
        smoothness=max(*ratio, probed),
        variance=max(noise),
        client_divergence=max(
            float(estimate.client_divergence(gradients, alpha, edge, len(alpha_b)).max()) for alpha in alpha_u
        ),
        edge_divergence=max(
            estimate.edge_divergence(gradients, alpha, edge, alpha_b, done)
            for alpha, done in zip(alpha_u, steps, strict=True)
        ),
    )
    power_of = torch.full((len(shares.edge),), torch.nan, dtype=torch.float64)
    power_of[ids] = torch.tensor(power, dtype=torch.float64)
    loss = float(weight @ torch.tensor(losses, dtype=torch.float64))
    return ReplayedRound(
        norm_sq=float(estimate.squared_norm(estimate.mean_gradient(gradients, weight))),
        loss=loss,
        drop=loss - float(weight @ torch.tensor(later, dtype=torch.float64)),
        bias=estimate.step_bias(gradients, shares.alpha[0][:, ids], steps),
        constants=constants,
        power=power_of,
    )

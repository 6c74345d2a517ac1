"""Replayed rounds for OSAFL's theorem: scores and steps from records, gradients on the data of successive rounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from fedradio.algorithms.buffers import AGE, SENT
from fedradio.algorithms.osafl import Osafl, scores
from fedradio.core.contracts import ExchangeRecord
from fedradio.core.progress import Progress
from fedradio.engine.threads import parallel_map
from fedradio.papers.bounds.participation import importance
from fedradio.papers.bounds.replay import ClientData, RoundAgain, StoredRun, client_data, rounds_again
from fedradio.rounds.simulation import Simulation
from fedradio.theory import estimate

FEW = 8
"""Clients whose gradients are kept at a time."""


@dataclass(frozen=True)
class Work:
    """What the records say of a round, per client ``[U]``: ``arrived``, the last ``steps`` (1 before the first), and
    the ``score`` with which its last update counts (0 before the first)."""

    arrived: Tensor
    steps: Tensor
    score: Tensor


def work_of(run: StoredRun) -> list[Work]:
    """Arrivals, steps and scores of all rounds; a score is the weight of the records over the client's share."""
    sim, clients = run.sim, run.sim.topology.clients
    share = alpha(sim)
    latest, found = torch.ones(clients, dtype=torch.long), []
    for records in run.exchanges:
        record = _of_clients(records)
        row = record.dense(clients)
        arrived = torch.tensor(row.arrived)
        latest = torch.where(arrived, torch.tensor(row.steps) * sim.rule.updates_per_step, latest)
        weight = torch.tensor([float(value) for value in row.notes["weight"]], dtype=torch.float64)
        found.append(Work(arrived, latest, weight / share))
    return found


def alpha(sim: Simulation) -> Tensor:
    """Shares ``alpha_u [U]`` of the clients; 1/U."""
    mass = importance(sim, sim.stream.start())
    return mass.double() / mass.sum()


def _of_clients(records: list[ExchangeRecord]) -> ExchangeRecord:
    return next(record for record in records if record.hop == 0)


@dataclass(frozen=True)
class ReplayedRound:
    """Measurements of round t, per client ``[U]``: steps, score, similarity (21), shift ``Phi_u`` (23) of the samples
    that it begins with, and ``client_sq``, the squared gradient on them.

    ``norm_sq`` is ``|grad f(w^t|D^t)|^2`` of the surrogate loss (18), ``loss`` its value ``f(w^t|D^t)`` and ``end``
    that of ``f(w^(t+1)|D^(t+1))`` with the scores of round t; ``heard`` marks the clients that have arrived so far.
    """

    t: int
    alpha: Tensor
    steps: Tensor
    score: Tensor
    similarity: Tensor
    shift: Tensor
    client_sq: Tensor
    heard: Tensor
    norm_sq: float
    loss: float
    end: float
    smoothness: float
    variance: float

    def divergence(self, rho_1: float, rho_2: float) -> Tensor:
        """The least ``delta_u [U]`` with which (22) holds at w^t; 0 where ``rho_2`` is."""
        excess = (self.client_sq - rho_1 * self.norm_sq).clamp(min=0.0)
        return excess / rho_2 if rho_2 > 0 else torch.zeros_like(excess)


def replay(run: StoredRun, rounds: int, progress: Progress, probe: bool = True) -> list[ReplayedRound]:
    """Run the first ``rounds`` rounds again and measure them; ``probe``: search for sharper directions than the run's
    own moves, which costs some more gradients of one client."""
    sim, work = run.sim, work_of(run)
    share, replayed = alpha(sim), []
    shift = torch.zeros(sim.topology.clients, dtype=torch.float64)  # Phi^0 = 0
    for again in rounds_again(run, rounds, progress):
        ledger = again.state.memory.ledger
        heard = ledger[AGE] >= 0
        chi = sim.algorithm.chi if isinstance(sim.algorithm, Osafl) else 1.0
        parent, receivers = sim.topology.parents[0], sim.topology.receivers(0)
        similarity = torch.where(heard, scores(ledger[SENT], parent, receivers, chi), 0.0)
        now = work[again.t]
        seen = _gradients(sim, again, share * now.score, probe)
        replayed.append(
            ReplayedRound(
                t=again.t,
                alpha=share,
                steps=now.steps,
                score=now.score,
                similarity=similarity,
                shift=shift,
                client_sq=seen.client_sq,
                heard=heard,
                norm_sq=float(estimate.squared_norm(seen.mean)),
                loss=float((share * now.score) @ seen.loss),
                end=float((share * now.score) @ seen.end),
                smoothness=seen.smoothness,
                variance=seen.variance,
            )
        )
        shift = seen.shift
    return replayed


@dataclass(frozen=True)
class _Gradients:
    """What the gradients of a round say: their weighted ``mean [d]``; per client ``[U]`` squares, losses at both ends,
    and the shift by the samples that arrive before the next round."""

    mean: Tensor
    client_sq: Tensor
    loss: Tensor
    end: Tensor
    shift: Tensor
    smoothness: float
    variance: float


@dataclass(frozen=True)
class _Client:
    """One client's part of :class:`_Gradients`; ``full [d]`` is its gradient, ``bend [d]`` the change of it along the
    round's move."""

    full: Tensor
    bend: Tensor
    loss: float
    end: float
    shift: float
    smoothness: float
    variance: float


def _gradients(sim: Simulation, again: RoundAgain, weight: Tensor, probe: bool) -> _Gradients:
    """Full gradients of all clients at both ends of a round, on its data and at its end on the next round's."""
    ids = torch.arange(sim.topology.clients)
    data = client_data(sim, again.stream, ids, again.t)
    later = client_data(sim, again.later, ids, again.t + 1)
    moved = float(estimate.squared_norm(again.after - again.w).sqrt())
    mean, rows, sharpest = torch.zeros_like(again.w), [], None
    for start in range(0, len(ids), FEW):
        few = range(start, min(start + FEW, len(ids)))
        for i, client in zip(
            few, parallel_map(partial(_client, sim, again, data, later), few, sim.workers), strict=True
        ):
            mean += float(weight[i]) * client.full
            if sharpest is None or client.smoothness > sharpest[1].smoothness:
                sharpest = i, client
            squared = float(estimate.squared_norm(client.full))
            rows.append((squared, client.loss, client.end, client.shift, client.smoothness, client.variance))
    client_sq, loss, end, shift, smooth, noise = torch.tensor(rows, dtype=torch.float64).T
    beta = float(smooth.max())
    if probe and moved > 0 and sharpest is not None:
        samples = data.samples(sharpest[0])

        def slope(at: Tensor) -> Tensor:
            return estimate.gradient(sim.model, at, *samples)[1]

        beta = max(beta, estimate.probed_smoothness(slope, again.w, sharpest[1].bend, moved))
    return _Gradients(mean, client_sq, loss, end, shift, beta, float(noise.max()))


def _client(sim: Simulation, again: RoundAgain, data: ClientData, later: ClientData, i: int) -> _Client:
    """One client's gradients: at w^t and w^(t+1) on the round's data, at w^(t+1) on the next round's."""
    loss, full = estimate.gradient(sim.model, again.w, *data.samples(i))
    _, same = estimate.gradient(sim.model, again.after, *data.samples(i))
    end, new = estimate.gradient(sim.model, again.after, *later.samples(i))
    noise = [
        estimate.gradient_variance(estimate.gradient(sim.model, again.w, *batch)[1][None], full)
        for batch in data.batches(i)
    ]
    return _Client(
        full=full,
        bend=same - full,
        loss=loss,
        end=end,
        shift=float(estimate.squared_norm(new - same)),
        smoothness=estimate.smoothness(torch.stack([again.w, again.after]), torch.stack([full, same])),
        variance=sum(noise) / max(len(noise), 1),
    )

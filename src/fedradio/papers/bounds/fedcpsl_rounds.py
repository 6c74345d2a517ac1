"""Replayed rounds for FedCPSL's theorems: full gradients of the costs (4) and (6c), moves of pseudo-labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.algorithms.apfl import MIXED, OWN
from fedradio.core.contracts import VARIATE, Batches, Objective, Slots
from fedradio.core.progress import Progress
from fedradio.engine.objective import Targets, cost, mix, pseudo_labels, targets
from fedradio.engine.threads import parallel_map
from fedradio.papers.bounds.replay import BATCHES, RoundAgain, StoredRun, rounds_again
from fedradio.rounds.round import begin
from fedradio.rounds.simulation import Simulation
from fedradio.theory import estimate


@dataclass(frozen=True)
class ReplayedRound:
    """Measurements of round r. ``norm_sq`` is ``|grad f(theta^r, nu^r)|^2``, ``loss`` is ``f(theta^r, nu^r)``,
    ``variate_sq`` is Xi (46); per client ``[N]`` ``label_moves`` are ``|nu_i^(r+1) - nu_i^r|^2`` and ``own_sq`` the
    squared gradient of F_i in the own model (0 without). The rest are estimates of the theorems' constants."""

    t: int
    norm_sq: float
    loss: float
    variate_sq: float
    label_moves: Tensor
    own_sq: Tensor
    smoothness: float
    variance: float
    smoothness_own: float
    smoothness_cost: float
    smoothness_output: float


def shares(sim: Simulation) -> Tensor:
    """Shares ``w_i [N]`` of the clients, fixed by the samples that they start with."""
    known = {name: rows for name, rows in begin(sim).signals.items() if name in sim.algorithm.reveals}
    mass = sim.algorithm.importance(known, sim.topology.clients).double()
    return mass / mass.sum()


@dataclass(frozen=True)
class Samples:
    """A client's samples ``x [n, ...]``, the ``labelled`` first ones with labels ``y``, for its costs."""

    objective: Objective
    x: Tensor
    y: Tensor

    @property
    def labelled(self) -> int:
        return len(self.y)

    @property
    def unlabelled(self) -> Tensor:
        """The unlabelled samples."""
        return self.x[self.labelled :]

    def targets(self, nu: Tensor) -> Targets:
        """Targets of all samples with pseudo-labels ``nu [n_U, C]``."""
        counts = (torch.tensor(len(self.y)), torch.tensor(len(nu)))
        return targets(self.objective, self.y, counts[0], nu, counts[1])

    def shared(self, sim: Simulation, w: Tensor, nu: Tensor) -> tuple[float, Tensor]:
        """Cost ``f_i`` (4) and its gradient in the shared model ``w [d]``."""
        to = self.targets(nu.to(w))
        return estimate.cost_gradient(sim.model, w, self.x, lambda log_p, part: cost(log_p, _part(to, part)))

    def own(self, sim: Simulation, own: Tensor, w: Tensor, b: Tensor, nu: Tensor) -> Tensor:
        """Gradient of the cost ``F_i`` (6c) in the own model ``own [d]``, the shared one ``w [d]`` held fixed."""
        to, log_h = self.targets(nu.to(w)), estimate.log_outputs(sim.model, w, self.x)
        return estimate.cost_gradient(
            sim.model, own, self.x, lambda log_p, part: cost(mix(log_p, log_h[part], b), _part(to, part))
        )[1]


def _part(to: Targets, part: slice) -> Targets:
    return Targets(to.label[part], to.pull[part], to.flat[part])


def client_samples(objective: Objective, batches: Batches, i: int, j: int) -> Samples:
    """Samples of mini-batch ``j`` of client ``i``."""
    labelled, unlabelled = batches.labelled, batches.unlabelled
    x, y = batches.fetch(labelled.index[i, j, : int(labelled.count[i, j])])
    if unlabelled is None:
        return Samples(objective, x, y)
    more, _ = batches.fetch(unlabelled.index[i, j, : int(unlabelled.count[i, j])])
    return Samples(objective, torch.cat([x, more]), y)


def held(sim: Simulation, stream: Slots) -> list[Samples]:
    """All samples of every client, in an order that is the same in every round."""
    objective = sim.rule.objective or Objective()
    ids = torch.arange(sim.topology.clients)
    whole = max(int(sim.stream.stats(stream)["samples"].max()), 1)
    unlabelled = whole if objective.unlabelled_batch else 0
    everything = sim.stream.draw(stream, ids, torch.ones_like(ids), whole, sim.rng.child("theory", "held"), unlabelled)
    return [client_samples(objective, everything, i, 0) for i in range(len(ids))]


def replay(run: StoredRun, rounds: int, progress: Progress, probe: bool = True) -> list[ReplayedRound]:
    """Run the first ``rounds`` rounds again and measure them; pseudo-labels start uniform."""
    sim, replayed = run.sim, []
    data, share = held(sim, sim.stream.start()), shares(sim)
    classes = sim.model.classes
    nu = [torch.full((len(samples.unlabelled), classes), 1.0 / classes, dtype=torch.float64) for samples in data]
    for again in rounds_again(run, rounds, progress, slots=True):
        active = {i for record in again.records if record.hop == 0 for i in record.ids}
        fresh = [_labels(sim, again.w, samples, old) for samples, old in zip(data, nu, strict=True)]
        after = [new if i in active else old for i, (old, new) in enumerate(zip(nu, fresh, strict=True))]
        moves = [float((new - old).square().sum()) for old, new in zip(nu, after, strict=True)]
        replayed.append(_measured(sim, again, data, share, (nu, fresh), torch.tensor(moves).double(), probe))
        nu = after
    return replayed


def _labels(sim: Simulation, w: Tensor, samples: Samples, before: Tensor) -> Tensor:
    """Pseudo-labels ``[n_U, C]`` that a client gives its samples when it receives the model ``w``."""
    if not len(before):
        return before
    return pseudo_labels(samples.objective, estimate.log_outputs(sim.model, w, samples.unlabelled).double(), before)


@dataclass(frozen=True)
class _Client:
    """One client's part of a round."""

    loss: float
    full: Tensor
    bend: Tensor
    variate_sq: float
    own_sq: float
    smoothness: float
    variance: float
    smoothness_own: float
    smoothness_cost: float
    smoothness_output: float


def _measured(
    sim: Simulation,
    again: RoundAgain,
    data: list[Samples],
    share: Tensor,
    labels: tuple[list[Tensor], list[Tensor]],
    moves: Tensor,
    probe: bool,
) -> ReplayedRound:
    """Measure a round; ``labels`` are those before it, and those that every client would have in it."""
    before, fresh = labels
    few = list(range(len(data)))
    clients = parallel_map(lambda i: _client(sim, again, data[i], (before[i], fresh[i]), i), few, sim.workers)
    mean = estimate.mean_gradient(torch.stack([client.full for client in clients]), share)
    moved = float(estimate.squared_norm(again.after - again.w).sqrt())
    sharpest = max(few, key=lambda i: clients[i].smoothness)
    smooth = clients[sharpest].smoothness
    if probe and moved > 0:
        samples, nu = data[sharpest], fresh[sharpest]
        slope = estimate.probed_smoothness(
            lambda at: samples.shared(sim, at, nu)[1], again.w, clients[sharpest].bend, moved
        )
        smooth = max(smooth, slope)
    return ReplayedRound(
        t=again.t,
        norm_sq=float(estimate.squared_norm(mean)),
        loss=sum(float(w) * client.loss for w, client in zip(share, clients, strict=True)),
        variate_sq=sum(float(w) * client.variate_sq for w, client in zip(share, clients, strict=True)),
        label_moves=moves,
        own_sq=torch.tensor([client.own_sq for client in clients], dtype=torch.float64),
        smoothness=smooth,
        variance=max(client.variance for client in clients),
        smoothness_own=max(client.smoothness_own for client in clients),
        smoothness_cost=max(client.smoothness_cost for client in clients),
        smoothness_output=max(client.smoothness_output for client in clients),
    )


def mini_batches(sim: Simulation, t: int, samples: Samples, nu: Tensor, i: int) -> Iterator[tuple[Samples, Tensor]]:
    """Mini-batches of client ``i`` with their pseudo-labels, as large as its updates take, drawn for estimates."""
    draw = sim.rng.child("theory", t, "noise", i).numpy()
    for _ in range(BATCHES):
        labelled = torch.from_numpy(draw.permutation(samples.labelled)[: sim.rule.batch])
        others = torch.from_numpy(draw.permutation(len(nu))[: samples.objective.unlabelled_batch])
        x = torch.cat([samples.x[labelled], samples.unlabelled[others]])
        yield Samples(samples.objective, x, samples.y[labelled]), nu[others]


def _client(
    sim: Simulation,
    again: RoundAgain,
    samples: Samples,
    before_and_fresh: tuple[Tensor, Tensor],
    i: int,
) -> _Client:
    """One client's gradients at both ends of the round, their noise, and smoothness along the round's moves."""
    nu, fresh = before_and_fresh
    loss, full = samples.shared(sim, again.w, nu)
    _, here = samples.shared(sim, again.w, fresh)
    _, there = samples.shared(sim, again.after, fresh)
    size = sim.rule.batch + samples.objective.unlabelled_batch
    noise = list(mini_batches(sim, again.t, samples, fresh, i))
    variance = _variance([batch.shared(sim, again.w, labels)[1] for batch, labels in noise], here)
    own_sq = own_smooth = own_variance = 0.0
    if OWN in again.client:
        own, end, b = again.client[OWN][i], again.state.memory.client[OWN][i], again.client[MIXED][i]
        own_sq = float(estimate.squared_norm(samples.own(sim, own, again.w, b, nu)))
        slope = samples.own(sim, own, again.w, b, fresh)
        slopes = torch.stack([slope, samples.own(sim, end, again.w, b, fresh)])
        own_smooth = estimate.smoothness(torch.stack([own, end]), slopes)
        drawn = [batch.own(sim, own, again.w, b, labels) for batch, labels in noise]
        own_variance = _variance(drawn, slope)
    return _Client(
        loss=loss,
        full=full,
        bend=there - here,
        variate_sq=float(estimate.squared_norm(full - again.client[VARIATE][i])),
        own_sq=own_sq,
        smoothness=estimate.smoothness(torch.stack([again.w, again.after]), torch.stack([here, there])),
        variance=size * max(variance, own_variance),
        smoothness_own=own_smooth,
        **_output_constants(sim, again, samples, fresh),
    )


def _variance(drawn: list[Tensor], full: Tensor) -> float:
    """Mean squared distance of mini-batch gradients from the full one."""
    return sum(estimate.gradient_variance(gradient[None], full) for gradient in drawn) / max(len(drawn), 1)


def _output_constants(sim: Simulation, again: RoundAgain, samples: Samples, nu: Tensor) -> dict[str, float]:
    """Smoothness of the cost in the outputs, of the sample where it is largest, and of the outputs in the model."""
    start, end = again.w.double(), again.after.double()
    first, middle, last = (
        estimate.log_outputs(sim.model, at, samples.x).exp() for at in (start, (start + end) / 2, end)
    )
    moved = float(estimate.squared_norm(end - start).sqrt())
    return {
        "smoothness_cost": cost_smoothness(samples, first, last, nu),
        "smoothness_output": estimate.output_smoothness(first, middle, last, moved),
    }


def cost_smoothness(samples: Samples, first: Tensor, last: Tensor, nu: Tensor) -> float:
    """Largest quotient ``|grad l(h') - grad l(h)| / |h' - h|`` over samples, ``l`` a sample's own cost in its output.

    ``-log h_y`` of labelled samples, ``-alpha_p <nu, log h> + alpha_r <h, log h>`` of the others.
    """
    label, labelled = samples.targets(nu).label.double(), torch.arange(len(first)) < samples.labelled
    pull = torch.where(labelled, 1.0, samples.objective.alpha_p).double()[:, None]
    flat = torch.where(labelled, 0.0, samples.objective.alpha_r).double()[:, None]

    def slope(h: Tensor) -> Tensor:
        return flat * (h.log() + 1) - pull * torch.where(label > 0, label / h, 0.0)

    distance = estimate.squared_norm(last - first)
    bend = estimate.squared_norm(slope(last) - slope(first))
    quotient = torch.where(distance > 0, bend / distance.clamp(min=1e-300), 0.0)
    return float(quotient.max().sqrt()) if len(quotient) else 0.0

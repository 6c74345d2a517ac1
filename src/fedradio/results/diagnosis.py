"""Diagnosis of a run by round: drop of the loss, smoothness, gradient noise and client divergence.

In round t, client i has the loss ``f_i``, the mean cross entropy of its labelled samples at the start of the round. It
has the weight ``a_i``, with which the algorithm averages clients; the weights of clients with samples sum to 1. With
the global model ``w`` before the round, ``w'`` after it, and ``f = sum_i a_i f_i``::

    loss                 f(w)                                                            nat
    drop                 f(w) - f(w')                                                    nat
    gradient_sq          |grad f(w)|^2                                                   nat^2
    smoothness           |grad f(w') - grad f(w)| / |w' - w|                             nat
    client_smoothness    largest |grad f_i(w') - grad f_i(w)| / |w' - w|                 nat
    noise                sum_i a_i mean_b |g_ib - grad f_i(w)|^2                         nat^2
    divergence           sum_i a_i |grad f_i(w) - grad f(w)|^2                           nat^2
    edge_divergence      sum_e a_e |grad f_e(w) - grad f(w)|^2                           nat^2

``g_ib`` is the gradient of mini-batch b, of the size that the client trains with, drawn as for training: up to
:data:`BATCHES`, at most an epoch. ``f_e`` is the weighted mean loss of the clients of edge e and ``a_e`` the sum of
their weights. Parameters have no unit.

By hand: ``f_1 = (w-1)^2 / 2`` and ``f_2 = 3 (w+1)^2 / 2`` with weights 1/2 from w = 0 to w' = -1/4: the gradients are
-1 and 3, their mean 1, the loss 1, the drop 1 - .8125 = .1875; smoothness 2, largest 3; divergence (4 + 4)/2 = 4. Where
client 1 has the samples 0 and 2 and mini-batches of one sample, ``g = w - x`` is 0 or -2 and its noise is 1.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from fedradio.core.contracts import MODEL, Batches, ExchangeRecord, Model, SimState, Slots
from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.core.progress import Progress, silent
from fedradio.data.streams import arrivals_rng
from fedradio.engine.gradients import gradient, squared_norm
from fedradio.engine.threads import parallel_map
from fedradio.results.run import Run, open_run
from fedradio.rounds.norm_layers import global_norms
from fedradio.rounds.parts import STREAM, recall
from fedradio.rounds.planning import data_signals
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.composed import same_composition
from fedradio.runs.own_parts import other_part_file
from fedradio.runs.resume import refuse_other_files
from fedradio.spec.build import build
from fedradio.spec.spec import COMPOSED, check_spec

BATCHES = 8
"""Mini-batches of a client from which the gradient noise of a round is estimated, at most an epoch."""

FEW = 8
"""Clients that are measured at a time."""

UNITS = {
    "loss": "nat",
    "drop": "nat",
    "gradient_sq": "nat^2",
    "smoothness": "nat",
    "client_smoothness": "nat",
    "noise": "nat^2",
    "divergence": "nat^2",
    "edge_divergence": "nat^2",
}
"""Units of the quantities of a round."""

Loss = Callable[[Tensor], tuple[float, Tensor]]
"""A loss as a function of the model ``[d]``: its value, and its gradient ``[d]``."""


@dataclass(frozen=True)
class RoundDiagnosis:
    """Quantities of round ``t``, see :mod:`fedradio.results.diagnosis`, over ``clients`` with labelled samples.

    ``smoothness`` and ``client_smoothness`` are None if the model did not move, ``edge_divergence`` without edges.
    """

    t: int
    clients: int
    loss: float
    drop: float
    gradient_sq: float
    smoothness: float | None
    client_smoothness: float | None
    noise: float
    divergence: float
    edge_divergence: float | None


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosed rounds of a run.

    ``unlike``: the first round whose training loss is not the recorded one, bit for bit, as on another machine.
    """

    name: str
    algorithm: str
    seed: int
    rounds: list[RoundDiagnosis]
    unlike: int | None = None


class ClientLosses(Protocol):
    """Losses of A clients."""

    def __len__(self) -> int: ...

    def whole(self, i: int) -> Loss:
        """Mean loss of all samples of client ``i``."""
        ...

    def batches(self, i: int) -> Iterator[Loss]:
        """Mean losses of mini-batches of client ``i``."""
        ...

    def end(self, i: int) -> Loss | None:
        """Mean loss of all samples of client ``i`` with the norm layers after the round; None without norm layers."""
        ...


def measure(
    t: int,
    losses: ClientLosses,
    weight: Tensor,
    edge: Tensor | None,
    first: Tensor,
    last: Tensor,
    workers: int = 1,
    progress: Progress = silent,
) -> RoundDiagnosis:
    """Measure round ``t`` from ``first [d]`` to ``last [d]``; ``weight [A]`` sums to 1, ``edge [A]`` numbers the edges.

    Sums of gradients are added up in float64, so that no matrix of all clients is needed.
    """
    edges = 1 if edge is None else int(edge.max()) + 1
    sums, bend = torch.zeros(edges, len(first), dtype=torch.float64), torch.zeros(len(first), dtype=torch.float64)
    numbers: list[tuple[float, ...]] = []

    def client(i: int) -> tuple[Tensor, Tensor, tuple[float, ...]]:
        (loss, before), (end, after), last_loss = losses.whole(i)(first), losses.whole(i)(last), losses.end(i)
        end = end if last_loss is None else last_loss(last)[0]
        noise = [float(squared_norm(batch(first)[1] - before)) for batch in losses.batches(i)]
        change = after.double() - before.double()
        size, bent = float(squared_norm(before)), float(squared_norm(change))
        return before, change, (loss, end, size, bent, sum(noise) / max(len(noise), 1))

    for start in range(0, len(losses), FEW):
        ids = range(start, min(start + FEW, len(losses)))
        for i, (before, change, row) in zip(ids, parallel_map(client, ids, workers), strict=True):
            sums[0 if edge is None else int(edge[i])] += weight[i] * before.cpu().double()
            bend += weight[i] * change.cpu()
            numbers.append(row)
        progress(f"measuring round {t + 1}", len(numbers) / len(losses))
    loss, end, size, bent, noise = torch.tensor(numbers, dtype=torch.float64).T
    share = torch.bincount(torch.zeros(len(weight)).long() if edge is None else edge, weight, edges)
    gradient_sq, moved = float(squared_norm(sums.sum(dim=0))), float(squared_norm(last.double() - first.double()))
    of_edges = float((squared_norm(sums) / share.clamp(min=1e-300)).sum())
    return RoundDiagnosis(
        t=t,
        clients=len(losses),
        loss=float(weight @ loss),
        drop=float(weight @ (loss - end)),
        gradient_sq=gradient_sq,
        smoothness=float(squared_norm(bend) / moved) ** 0.5 if moved > 0 else None,
        client_smoothness=float(bent.max() / moved) ** 0.5 if moved > 0 else None,
        noise=float(weight @ noise),
        divergence=max(float(weight @ size) - gradient_sq, 0.0),
        edge_divergence=None if edge is None else max(of_edges - gradient_sq, 0.0),
    )


def diagnose(
    folder: Path | str,
    rounds: int = 10,
    every: int = 1,
    *,
    simulation: Simulation | None = None,
    progress: Progress = silent,
) -> Diagnosis:
    """Run the first ``rounds`` rounds of a run again and measure one in ``every``, from the first one on.

    Nothing is written, and no checkpoint is needed: the rounds start from the seed. Rounds at whose start no client has
    labelled samples are left out. A run that was composed in Python needs the same ``simulation``, composed once more.
    A run that cannot be run again, or does not come out as recorded, raises :class:`StoreError`.
    """
    for name, number in (("rounds", rounds), ("every", every)):
        if number < 1:
            raise SpecError(Problem(name, "must be 1 or more", value=number))
    progress("reading the run", 0.0)
    run, sim = _stored_run(Path(folder), simulation)
    recorded = [list(of_round) for _, of_round in groupby(run.records(ExchangeRecord), key=lambda record: record.t)]
    if not recorded:
        raise StoreError(f"{folder}: the run ended before its first round; continue it: {_command('resume', folder)}")
    state, found, unlike = begin(sim), [], None
    count = min(rounds, len(recorded))
    for t in range(count):

        def advance(what: str, share: float | None, t: int = t) -> None:
            progress(f"{what} of {count}", (t + (share or 0.0)) / count)

        progress(f"running round {t + 1} of {count}", t / count)
        w, norms, signals = state.memory.shared[MODEL].clone(), _norms(state).clone(), state.signals
        stream = _arrived(sim, recall(state.parts, STREAM), t)
        state, record, exchanges = run_round(sim, state, evaluate=False)
        _refuse_mismatch(run, t, recorded[t], exchanges)
        if unlike is None and t < len(run.rounds) and run.rounds[t].train_loss != record.train_loss:
            unlike = t
        weight = _weights(sim, signals | data_signals(sim, stream))
        ids = weight.nonzero().flatten()
        if t % every == 0 and len(ids):
            losses = _losses(sim, stream, ids, t, (norms, _norms(state)))
            edge = sim.topology.parents[0][ids] if sim.topology.hops > 1 else None
            found.append(measure(t, losses, weight[ids], edge, w, state.memory.shared[MODEL], sim.workers, advance))
    return Diagnosis(run.name, run.algorithm, run.seed, found, unlike)


def _stored_run(folder: Path, simulation: Simulation | None) -> tuple[Run, Simulation]:
    """A run folder and its simulation, built again; a folder that cannot be run again is refused."""
    run = open_run(folder)
    if run.damage:
        raise StoreError(f"{folder} is {run.trouble}; run its spec again")
    other = other_part_file(folder)
    if other is not None and other.instead is None:
        load = _command("diagnose", folder, "--parts", other.option)
        raise StoreError(f"parts of this run came from {other.name}; load it: {load}")
    if other is not None:
        raise StoreError(f"{other.instead} is not the file that this run was made with; restore it")
    if simulation is not None or COMPOSED in run.spec.plain:
        sim = same_composition(run.spec, simulation, folder, "diagnose")
    else:
        sim = build(check_spec(run.spec.plain), str(run.environment.get("device", "cpu")))
    refuse_other_files(run.environment.get("files", {}), sim.files)
    return run, sim


def _command(*words: object) -> str:
    return shlex.join(["fedradio", *map(str, words)])


def _norms(state: SimState) -> Tensor:
    """Norm layers of the global model ``[n]``; empty without any."""
    norms = global_norms(state.memory)
    return state.memory.shared[MODEL][:0] if norms is None else norms


def _arrived(sim: Simulation, stream: Slots, t: int) -> Slots:
    """The clients' data in the first edge round of round ``t``."""
    clock = sim.clock(0, t)
    return sim.stream.arrive(stream, clock, arrivals_rng(sim.rng, clock))


def _weights(sim: Simulation, signals: Slots) -> Tensor:
    """Weights ``a [C]`` of the clients, which sum to 1; 0 without labelled samples."""
    known = {name: rows for name, rows in signals.items() if name in sim.algorithm.reveals}
    mass = sim.algorithm.importance(known, sim.topology.clients).double().cpu() * (signals["labelled"] > 0)
    return mass / mass.sum().clamp(min=1e-300)


@dataclass(frozen=True)
class _CrossEntropy:
    """Cross entropy of clients on ``full`` data and ``drawn`` mini-batches, with the norm layers of both ends."""

    model: Model
    full: Batches
    drawn: Batches
    norms: tuple[Tensor, Tensor]

    def __len__(self) -> int:
        return len(self.full.labelled.count)

    def whole(self, i: int) -> Loss:
        return self._mean(self.full, i, 0, self.norms[0])

    def batches(self, i: int) -> Iterator[Loss]:
        count = self.drawn.labelled.count[i]
        yield from (self._mean(self.drawn, i, n, self.norms[0]) for n in range(len(count)) if count[n] > 0)

    def end(self, i: int) -> Loss | None:
        return self._mean(self.full, i, 0, self.norms[1]) if len(self.norms[1]) else None

    def _mean(self, batches: Batches, i: int, n: int, norms: Tensor) -> Loss:
        picks = batches.labelled
        x, y = batches.fetch(picks.index[i, n, : int(picks.count[i, n])])
        return lambda w: gradient(self.model, torch.cat([w, norms]), x, y)


def _losses(sim: Simulation, stream: Slots, ids: Tensor, t: int, norms: tuple[Tensor, Tensor]) -> _CrossEntropy:
    """The losses of clients ``ids [A]`` on the data at the start of round ``t``."""
    rng = sim.rng.child("diagnosis", t)
    most = int(sim.stream.stats(stream)["labelled"][ids].max())
    full = sim.stream.draw(stream, ids, torch.ones_like(ids), most, rng.child("all"))
    of_epoch = (full.labelled.count[:, 0].cpu() + sim.rule.batch - 1) // sim.rule.batch
    drawn = sim.stream.draw(stream, ids, of_epoch.clamp(1, BATCHES), sim.rule.batch, rng.child("noise"))
    return _CrossEntropy(sim.model, full, drawn, norms)


def _refuse_mismatch(run: Run, t: int, recorded: list[ExchangeRecord], again: list[ExchangeRecord]) -> None:
    """Refuse a round that comes out with other clients or local steps than its records say."""
    if [_choice(record) for record in recorded] != [_choice(record) for record in again]:
        reason = "run again, it has other clients or local steps than its records: another version, or real devices"
        raise StoreError(f"{run.folder}, round {t}: {reason}; run its spec here, and diagnose that run")


def _choice(record: ExchangeRecord) -> tuple[int, int, list[int], list[bool], list[int]]:
    """Who took part in an exchange, with how many local steps, and who arrived."""
    return record.hop, record.e, record.ids, record.arrived, record.steps

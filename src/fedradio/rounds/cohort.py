"""Client side of an exchange: local training of the active clients, their uploads, and the state they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedradio.core.contracts import (
    Batches,
    Clock,
    Cohort,
    Exchange,
    Picks,
    PseudoLabels,
    SimState,
    Slots,
    Trained,
    TrainJob,
    Work,
)
from fedradio.core.errors import DivergenceError
from fedradio.core.mapped import write_rows
from fedradio.engine.groups import cut
from fedradio.rounds.norm_layers import LOCAL, sends_norms
from fedradio.rounds.parts import STREAM, recall
from fedradio.rounds.pseudo_labels import draw, kept, label_slots, recalled
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers
from fedradio.transforms.chain import damping, lossy

RULE = "rule/"
"""Prefix of the client slots with the optimiser's kept memory."""


@dataclass(frozen=True)
class Training:
    """Local training of a cohort: the clients, the result, the work done, and the pseudo-labels before it where they
    are kept."""

    cohort: Cohort
    trained: Trained
    work: Work
    labels: PseudoLabels | None = None


def client_slots(sim: Simulation, row: Tensor) -> Slots:
    """Client slots of pseudo-labels, norm layers and optimiser memory, beside the algorithm's, as one row for all
    clients each; ``row [D]`` is the initial model."""
    clients, shared = sim.topology.clients, sim.model.shared.size
    slots: Slots = label_slots(sim, row)
    if len(row) > shared and not sends_norms(sim):
        slots[LOCAL] = row[shared:].clone().expand(clients, -1)
    if sim.rule.keep_state:
        width = shared + sim.model.local.size
        for name in sim.rule.state_names:
            start = row.new_zeros(() if name == "adam_n" else width)
            slots[RULE + name] = start.expand(clients, *start.shape)
    return slots


def train(sim: Simulation, state: SimState, tiers: Tiers, x: Exchange) -> Training:
    """Local training of the active clients of hop 0, from the vectors that their receivers have, and from these
    receivers' norm layers where norm layers are sent too."""
    clock, ids = x.clock, x.alloc.active.nonzero().squeeze(1)
    row, norms = x.parent[ids].to(sim.device), tiers.norms[0]
    client_ids = ids.to(sim.device)
    slots = {name: rows[client_ids] for name, rows in state.memory.client.items()}
    mine = {name: rows for name, rows in slots.items() if "/" not in name}
    rng = sim.rng.child("client", clock.t, clock.e)
    transforms = sim.hops[0].transforms
    factor = damping(transforms, sim.message(0))
    cohort = Cohort(ids, row, tiers.shared[0], mine, clock, rng, factor, lossy(transforms))
    start = replace(
        sim.algorithm.start(cohort),
        local=slots.get(LOCAL) if norms is None else norms[row],
        ids=ids,
        slots={name.removeprefix(RULE): rows for name, rows in slots.items() if name.startswith(RULE)},
    )
    steps = x.alloc.steps[ids]
    updates = steps * sim.rule.updates_per_step
    rng = sim.rng.child("train", clock.t, clock.e)
    stream = recall(state.parts, STREAM)
    batches = draw(sim, stream, ids, updates, rng.child("batches"))
    start = replace(start, labels=recalled(sim, stream, ids, slots, rng.child("labels")))
    job = TrainJob(sim.model, sim.rule, clock.t, start, batches, updates, rng)
    trained = train_by_steps(sim, job, steps) if sim.rule.lr_per_step else _train(sim, job)
    _refuse_divergence(trained, clock, ids)
    rates = torch.tensor([0.0, *sim.rule.rates(clock.t, int(updates.max()))], dtype=torch.float64).cumsum(0)
    rate = rates[updates] / steps.clamp(min=1) if sim.rule.lr_per_step else rates[updates]
    work = Work(steps, updates, sim.rule.effective_steps(updates), rate)
    return Training(cohort, trained, work, start.labels)


def _train(sim: Simulation, job: TrainJob) -> Trained:
    return sim.backend.train(job, cut(job, sim.grouping))


def train_by_steps(sim: Simulation, job: TrainJob, steps: Tensor) -> Trained:
    """Training in which a client divides the rate by its own ``steps [A]``: one job for every number of steps."""
    rows = [(steps == number).nonzero().flatten() for number in sorted(set(steps.tolist()))]
    done = [_train(sim, _part(job, chosen.to(sim.device), int(steps[chosen[0]]))) for chosen in rows]
    back = torch.cat(rows).argsort().to(sim.device)

    def joined(pieces: Sequence[Tensor | None]) -> Tensor | None:
        present = [piece for piece in pieces if piece is not None]
        return torch.cat(present)[back] if present else None

    delta, loss = joined([one.delta for one in done]), joined([one.loss for one in done])
    assert delta is not None
    assert loss is not None
    slots = {name: torch.cat([one.slots[name] for one in done])[back] for name in done[0].slots}
    names = ("local", "own", "pseudo", "nu")
    local, own, pseudo, nu = (joined([getattr(one, name) for one in done]) for name in names)
    return Trained(delta, local, loss, slots, own, pseudo, nu)


def _part(job: TrainJob, rows: Tensor, steps: int) -> TrainJob:
    """The job of some rows of a cohort, at the rate over ``steps``."""
    start, labels, batches, here = job.start, job.start.labels, job.batches, rows.cpu()

    def of(values: Tensor | None) -> Tensor | None:
        return None if values is None else values[rows.to(values.device)]

    chosen = replace(
        start,
        group=start.group[rows.to(start.group.device)],
        shift=of(start.shift),
        local=of(start.local),
        ids=of(start.ids),
        own=of(start.own),
        mixture=of(start.mixture),
        labels=None if labels is None else PseudoLabels(labels.number[rows], labels.nu[rows]),
        slots={name: values[rows] for name, values in start.slots.items()},
    )
    picks = [
        None if each is None else Picks(each.index[rows], each.count[rows])
        for each in (batches.labelled, batches.unlabelled)
    ]
    assert picks[0] is not None
    return replace(
        job,
        rule=replace(job.rule, lr=job.rule.lr / max(steps, 1)),
        start=chosen,
        batches=Batches(picks[0], picks[1], batches.fetch),
        updates=job.updates[here],
    )


def upload(sim: Simulation, training: Training) -> Tensor:
    """The cohort's payload ``[A, k, d]``."""
    return sim.algorithm.upload(training.cohort, training.trained, training.work)


def keep(sim: Simulation, client: Slots, training: Training, heard: Tensor, acked: Tensor) -> None:
    """Write the active clients' new state into the client slots, in place; ``heard [A, k, d]`` is what receivers decode
    of their payloads, ``acked [A]`` marks those that arrived."""
    cohort, trained = training.cohort, training.trained
    new_slots = dict(sim.algorithm.keep(cohort, trained, training.work, heard, acked))
    new_slots |= {RULE + name: rows for name, rows in trained.slots.items()}
    if LOCAL in client and trained.local is not None:
        new_slots[LOCAL] = trained.local
    if training.labels is not None and trained.nu is not None:
        new_slots |= kept(training.labels, trained.nu)
    for name, rows in new_slots.items():
        write_rows(client[name], cohort.ids.to(sim.device), rows)


def _refuse_divergence(trained: Trained, clock: Clock, ids: Tensor) -> None:
    """Refuse NaN and infinities: the sum of a row is finite only if the row is; needs no mask of the cohort's size."""
    healthy = torch.isfinite(trained.loss) & torch.isfinite(trained.delta.sum(dim=1))
    for rows in (trained.own, trained.local):  # own models; params and statistics of norm layers
        if rows is not None:
            healthy &= torch.isfinite(rows.sum(dim=1))
    if not bool(healthy.all()):
        clients: Sequence[int] = ids[~healthy.cpu()].tolist()
        raise DivergenceError(clock.t, clients, "local training")

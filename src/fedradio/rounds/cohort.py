"""Client side of an exchange: local training of the active clients, their uploads, and the state they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedradio.core.contracts import Clock, Cohort, Exchange, PseudoLabels, SimState, Slots, Trained, TrainJob, Work
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
    trained = sim.backend.train(job, cut(job, sim.grouping))
    _refuse_divergence(trained, clock, ids)
    rates = torch.tensor([0.0, *sim.rule.rates(clock.t, int(updates.max()))], dtype=torch.float64).cumsum(0)
    work = Work(steps, updates, sim.rule.effective_steps(updates), rates[updates])
    return Training(cohort, trained, work, start.labels)


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

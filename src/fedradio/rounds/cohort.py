"""The device side of an exchange: start rows, local training, upload, what each client keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedradio.core.contracts import Allocation, Clock, Slots, Trained, Work
from fedradio.core.errors import DivergenceError
from fedradio.rounds.norm_layers import travels
from fedradio.rounds.simulation import Simulation

LOCAL = "model/local"
"""Client slot of norm layers' parameters and buffers, ``[C, d_local + d_buffers]``."""

RULE = "rule/"
"""Prefix of the client slots of a kept optimiser state."""


@dataclass(frozen=True)
class Cohort:
    """The active clients of an exchange after training: ``ids [A]``, receivers ``group [A]``, their slots and work."""

    ids: Tensor
    group: Tensor
    mine: Slots
    trained: Trained
    work: Work


def client_slots(sim: Simulation, row: Tensor) -> Slots:
    """The slots that model and rule want of every client, beside the algorithm's own."""
    clients, shared = sim.topology.clients, sim.model.shared.size
    slots: Slots = {}
    if len(row) > shared and not travels(sim):
        slots[LOCAL] = row[shared:].repeat(clients, 1)
    if sim.rule.keep_state:
        width = shared + sim.model.local.size
        for name in sim.rule.state_names:
            size = (clients,) if name == "adam_n" else (clients, width)
            slots[RULE + name] = torch.zeros(size, dtype=row.dtype, device=row.device)
    return slots


def train(
    sim: Simulation,
    got: Slots,
    norms: Tensor | None,
    client: Slots,
    stream: Slots,
    alloc: Allocation,
    clock: Clock,
) -> Cohort:
    """Local training of the active clients from the vectors ``got [R, d]``, and ``norms [R, n]`` of norm layers where
    these travel, that they received."""
    ids = alloc.active.nonzero().squeeze(1)
    group = sim.topology.parents[0][ids]
    steps = alloc.steps[ids]
    updates = steps * sim.rule.updates_per_step
    there = ids.to(sim.device)
    mine = {name: rows[there] for name, rows in client.items()}
    own = {name: rows for name, rows in mine.items() if "/" not in name}
    start = replace(
        sim.algorithm.start(got, group.to(sim.device), own),
        local=mine.get(LOCAL) if norms is None else norms[group.to(sim.device)],
        ids=ids,
        slots={name.removeprefix(RULE): rows for name, rows in mine.items() if name.startswith(RULE)},
    )
    rng = sim.rng.child("train", clock.t, clock.e)
    unlabelled = 0 if sim.rule.objective is None else sim.rule.objective.unlabelled_batch
    batches = sim.stream.draw(stream, ids, updates, sim.rule.batch, rng.child("batches"), unlabelled)
    trained = sim.backend.run(sim.model, sim.rule, clock.t, start, batches, updates, rng)
    _refuse_divergence(trained, clock, ids)
    rates = torch.tensor([0.0, *sim.rule.rates(clock.t, int(updates.max()))], dtype=torch.float64).cumsum(0)
    work = Work(steps, updates, sim.rule.effective_steps(updates), rates[updates])
    return Cohort(ids, group, own, trained, work)


def upload(sim: Simulation, got: Slots, cohort: Cohort) -> Tensor:
    """The payload ``[A, k, d]``."""
    return sim.algorithm.upload(got, cohort.group.to(sim.device), cohort.mine, cohort.trained, cohort.work)


def keep(sim: Simulation, got: Slots, client: Slots, cohort: Cohort, acked: Tensor) -> None:
    """Write what the active clients keep into the client slots, in place."""
    group = cohort.group.to(sim.device)
    kept = dict(sim.algorithm.keep(got, group, cohort.mine, cohort.trained, cohort.work, acked))
    kept |= {RULE + name: rows for name, rows in cohort.trained.slots.items()}
    if LOCAL in client and cohort.trained.local is not None:
        kept[LOCAL] = cohort.trained.local
    for name, rows in kept.items():
        client[name].index_copy_(0, cohort.ids.to(sim.device), rows)


def _refuse_divergence(trained: Trained, clock: Clock, ids: Tensor) -> None:
    """A sum over a row is finite iff nothing in it overflowed; one pass, no mask of the size of the cohort."""
    healthy = torch.isfinite(trained.loss) & torch.isfinite(trained.delta.sum(dim=1))
    if trained.own is not None:
        healthy &= torch.isfinite(trained.own.sum(dim=1))
    if not bool(healthy.all()):
        clients: Sequence[int] = ids[~healthy.cpu()].tolist()
        raise DivergenceError(clock.t, clients, "local training")

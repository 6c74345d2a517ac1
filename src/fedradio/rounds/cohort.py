"""Client side of an exchange: local training of the active clients, their uploads, and the state they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedradio.core.contracts import Allocation, Clock, Slots, Trained, Work
from fedradio.core.errors import DivergenceError
from fedradio.rounds.norm_layers import sends_norms
from fedradio.rounds.simulation import Simulation

LOCAL = "model/local"
"""Client slot of norm layers' parameters and buffers, ``[C, d_local + d_buffers]``."""

RULE = "rule/"
"""Prefix of the client slots with the optimiser's kept memory."""


@dataclass(frozen=True)
class Cohort:
    """The active clients after training: ``ids [A]``, receivers ``group [A]``, slots ``mine``, result and work."""

    ids: Tensor
    group: Tensor
    mine: Slots
    trained: Trained
    work: Work


def client_slots(sim: Simulation, row: Tensor) -> Slots:
    """Client slots of norm layers and optimiser memory, beside the algorithm's; ``row [D]`` is the initial model."""
    clients, shared = sim.topology.clients, sim.model.shared.size
    slots: Slots = {}
    if len(row) > shared and not sends_norms(sim):
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
    """Local training of the active clients, from the vectors ``got [R, d]`` that they received, and from ``norms
    [R, n]`` where norm layers are sent too."""
    ids = alloc.active.nonzero().squeeze(1)
    group = sim.topology.parents[0][ids]
    steps = alloc.steps[ids]
    updates = steps * sim.rule.updates_per_step
    client_ids = ids.to(sim.device)
    slots = {name: rows[client_ids] for name, rows in client.items()}
    mine = {name: rows for name, rows in slots.items() if "/" not in name}
    start = replace(
        sim.algorithm.start(got, group.to(sim.device), mine),
        local=slots.get(LOCAL) if norms is None else norms[group.to(sim.device)],
        ids=ids,
        slots={name.removeprefix(RULE): rows for name, rows in slots.items() if name.startswith(RULE)},
    )
    rng = sim.rng.child("train", clock.t, clock.e)
    unlabelled = 0 if sim.rule.objective is None else sim.rule.objective.unlabelled_batch
    batches = sim.stream.draw(stream, ids, updates, sim.rule.batch, rng.child("batches"), unlabelled)
    trained = sim.backend.run(sim.model, sim.rule, clock.t, start, batches, updates, rng)
    _refuse_divergence(trained, clock, ids)
    rates = torch.tensor([0.0, *sim.rule.rates(clock.t, int(updates.max()))], dtype=torch.float64).cumsum(0)
    work = Work(steps, updates, sim.rule.effective_steps(updates), rates[updates])
    return Cohort(ids, group, mine, trained, work)


def upload(sim: Simulation, got: Slots, cohort: Cohort) -> Tensor:
    """The cohort's payload ``[A, k, d]``."""
    return sim.algorithm.upload(got, cohort.group.to(sim.device), cohort.mine, cohort.trained, cohort.work)


def keep(sim: Simulation, got: Slots, client: Slots, cohort: Cohort, acked: Tensor) -> None:
    """Write the active clients' new state into the client slots, in place; ``acked [A]`` marks arrived uploads."""
    group = cohort.group.to(sim.device)
    new_slots = dict(sim.algorithm.keep(got, group, cohort.mine, cohort.trained, cohort.work, acked))
    new_slots |= {RULE + name: rows for name, rows in cohort.trained.slots.items()}
    if LOCAL in client and cohort.trained.local is not None:
        new_slots[LOCAL] = cohort.trained.local
    for name, rows in new_slots.items():
        client[name].index_copy_(0, cohort.ids.to(sim.device), rows)


def _refuse_divergence(trained: Trained, clock: Clock, ids: Tensor) -> None:
    """Refuse NaN and infinities: the sum of a row is finite only if the row is; needs no mask of the cohort's size."""
    healthy = torch.isfinite(trained.loss) & torch.isfinite(trained.delta.sum(dim=1))
    for rows in (trained.own, trained.local):  # own models; params and statistics of norm layers
        if rows is not None:
            healthy &= torch.isfinite(rows.sum(dim=1))
    if not bool(healthy.all()):
        clients: Sequence[int] = ids[~healthy.cpu()].tolist()
        raise DivergenceError(clock.t, clients, "local training")

"""Client side of an exchange: local training of the active clients, their uploads, and the state they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedradio.core.contracts import (
    PREVIOUS,
    Clock,
    Cohort,
    Exchange,
    KeptTargets,
    LocalRule,
    SimState,
    Slots,
    Trained,
    TrainJob,
    Work,
)
from fedradio.core.errors import DivergenceError
from fedradio.engine.groups import cut, job_of_rows, put_together
from fedradio.losses.kept_targets import draw, kept, recalled, target_slots
from fedradio.rounds.norm_layers import LOCAL, sends_norms
from fedradio.rounds.parts import STREAM, recall
from fedradio.rounds.simulation import Learner, Simulation
from fedradio.rounds.tiers import Tier
from fedradio.transforms.chain import damping, lossy

KEPT_PREVIOUS = "loss/previous"
"""Client slot of the client's model after its last training, ``[C, d]``, where the loss compares with it."""

RULE = "rule/"
"""Prefix of the client slots with the optimiser's kept memory."""


@dataclass(frozen=True)
class Assignment:
    """What clients ``ids [A]`` train from in an exchange, and how much.

    ``got [G, d]`` are the received vectors, of which client ``i`` has row ``row[i]``; ``norms [A, n]`` the received
    norm layers where these are sent; ``slots [A, ...]`` their own; ``stream`` the state of the data.
    """

    ids: Tensor
    row: Tensor
    got: Slots
    norms: Tensor | None
    slots: Slots
    stream: Slots
    steps: Tensor
    clock: Clock


@dataclass(frozen=True)
class Training:
    """Local training of a cohort: the clients, the result, the work done; and where the loss needs them in the next
    round, its targets before it, and the trained models ``previous [A, d]``."""

    cohort: Cohort
    trained: Trained
    work: Work
    targets: KeptTargets | None = None
    previous: Tensor | None = None


def client_slots(learner: Learner, row: Tensor, clients: int) -> Slots:
    """Client slots of kept targets, norm layers and optimiser memory, beside the algorithm's, as one row for all
    ``clients`` each; ``row [D]`` is the initial model."""
    shared = learner.model.shared.size
    slots: Slots = target_slots(learner.rule, learner.stream, row, clients)
    if len(row) > shared and not sends_norms(learner):
        slots[LOCAL] = row[shared:].clone().expand(clients, -1)
    if _keeps_previous(learner.rule):
        slots[KEPT_PREVIOUS] = row[:shared].clone().expand(clients, -1)
    if learner.rule.keep_state:
        width = shared + learner.model.local.size
        for name in learner.rule.state_names:
            start = row.new_zeros(() if name == "adam_n" else width)
            slots[RULE + name] = start.expand(clients, *start.shape)
    return slots


def train(sim: Simulation, state: SimState, tier: Tier, x: Exchange) -> Training:
    """Local training of the active clients of hop 0, from the vectors that their receivers have, and from these
    receivers' norm layers where norm layers are sent too."""
    ids, norms = x.alloc.active.nonzero().squeeze(1), tier.norms
    row, client_ids = x.parent[ids].to(sim.device), ids.to(sim.device)
    assignment = Assignment(
        ids=ids,
        row=row,
        got=tier.shared,
        norms=None if norms is None else norms[row],
        slots={name: rows[client_ids] for name, rows in state.memory.client.items()},
        stream=recall(state.parts, STREAM),
        steps=x.alloc.steps[ids],
        clock=x.clock,
    )
    return train_assigned(sim, assignment)


def train_assigned(learner: Learner, given: Assignment) -> Training:
    """Local training of clients as they were told; the same for one client alone and in a cohort, but for the groups
    that they are trained in."""
    clock, ids, slots, steps, rule = given.clock, given.ids, given.slots, given.steps, learner.rule
    mine = {name: rows for name, rows in slots.items() if "/" not in name}
    rng, transforms = learner.rng.child("client", clock.t, clock.e), learner.transforms
    factor = damping(transforms, learner.message(0))
    cohort = Cohort(ids, given.row, given.got, mine, clock, rng, factor, lossy(transforms))
    start = replace(
        learner.algorithm.start(cohort),
        local=slots.get(LOCAL) if given.norms is None else given.norms,
        ids=ids,
        slots={name.removeprefix(RULE): rows for name, rows in slots.items() if name.startswith(RULE)},
    )
    if _keeps_previous(rule):
        start = replace(start, rows=start.rows | {PREVIOUS: slots[KEPT_PREVIOUS]})
    updates = steps * rule.updates_per_step
    rng = learner.rng.child("train", clock.t, clock.e)
    batches = draw(rule, learner.stream, given.stream, ids, updates, rng.child("batches"))
    start = replace(start, targets=recalled(rule, learner.stream, given.stream, ids, slots, rng.child("labels")))
    job = TrainJob(learner.model, rule, clock.t, start, batches, updates, rng, learner.precision)
    trained = train_by_steps(learner, job, steps) if rule.lr_per_step else _train(learner, job)
    _refuse_divergence(trained, clock, ids)
    previous = start.w[start.group] + trained.delta if _keeps_previous(rule) else None
    return Training(cohort, trained, work_of(rule, steps, clock.t), start.targets, previous)


def _keeps_previous(rule: LocalRule) -> bool:
    """Whether clients keep the model after their last training."""
    return rule.loss is not None and PREVIOUS in rule.loss.anchors


def work_of(rule: LocalRule, steps: Tensor, t: int) -> Work:
    """The local work of ``steps [A]`` in round ``t``."""
    updates = steps * rule.updates_per_step
    rates = torch.tensor([0.0, *rule.rates(t, int(updates.max()))], dtype=torch.float64).cumsum(0)
    rate = rates[updates] / steps.clamp(min=1) if rule.lr_per_step else rates[updates]
    return Work(steps, updates, rule.effective_steps(updates), rate)


def _train(learner: Learner, job: TrainJob) -> Trained:
    return learner.backend.train(job, cut(job, learner.grouping))


def train_by_steps(learner: Learner, job: TrainJob, steps: Tensor) -> Trained:
    """Training in which a client divides the rate by its own ``steps [A]``: one job for every number of steps."""
    done = []
    for number in sorted(set(steps.tolist())):
        rows: list[int] = (steps == number).nonzero().flatten().tolist()
        slower = replace(job.rule, lr=job.rule.lr / max(number, 1))
        done.append((rows, _train(learner, replace(job_of_rows(job, rows), rule=slower))))
    return put_together(done)


def upload(learner: Learner, training: Training) -> Tensor:
    """The cohort's payload ``[A, k, d]``."""
    return learner.algorithm.upload(training.cohort, training.trained, training.work)


def kept_slots(learner: Learner, training: Training, heard: Tensor, acked: Tensor) -> Slots:
    """The active clients' new slots ``[A, ...]``; ``heard [A, k, d]`` is what receivers decode of their payloads,
    ``acked [A]`` marks those that arrived."""
    cohort, trained = training.cohort, training.trained
    slots = dict(learner.algorithm.keep(cohort, trained, training.work, heard, acked))
    slots |= {RULE + name: rows for name, rows in trained.slots.items()}
    if trained.local is not None and not sends_norms(learner):
        slots[LOCAL] = trained.local
    if training.previous is not None:
        slots[KEPT_PREVIOUS] = training.previous
    if training.targets is not None and trained.targets is not None:
        slots |= kept(training.targets, trained.targets)
    return slots


def _refuse_divergence(trained: Trained, clock: Clock, ids: Tensor) -> None:
    """Refuse NaN and infinities: the sum of a row is finite only if the row is; needs no mask of the cohort's size."""
    healthy = torch.isfinite(trained.loss) & torch.isfinite(trained.delta.sum(dim=1))
    for rows in (*trained.rows.values(), trained.local):  # further rows; params and statistics of norm layers
        if rows is not None:
            healthy &= torch.isfinite(rows.sum(dim=1))
    if not bool(healthy.all()):
        clients: Sequence[int] = ids[~healthy.cpu()].tolist()
        raise DivergenceError(clock.t, clients, "local training")

"""Merge of an exchange: what arrived is weighed, summed by the link, decoded, and moves the receivers.

On hop 0 the algorithm weighs and merges. On outer hops the senders' changes are averaged by mass and added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor

from fedradio.algorithms.ledger import merge_ledger
from fedradio.core.contracts import (
    MODEL,
    SUPERPOSITION,
    Clock,
    Delivery,
    Held,
    Info,
    Merged,
    Noted,
    ReceiverRule,
    Sent,
    SimState,
    Slots,
    Work,
    noted,
)
from fedradio.core.params import group_share, group_sum
from fedradio.rounds.cohort import work_of
from fedradio.rounds.norm_layers import averaged_norms
from fedradio.rounds.notes import refuse_undeclared
from fedradio.rounds.parts import of_hop, recall, remember
from fedradio.rounds.payload import decode
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tier, Tiers
from fedradio.rounds.work import Updates
from fedradio.transforms.chain import damping, lossy


@dataclass(frozen=True)
class MergeResult:
    """The receivers' ``tier`` after a merge; what the link delivered (None: nobody sent), the number of ``effective
    [R]`` senders and ``notes`` for the records."""

    tier: Tier
    delivery: Delivery | None
    effective: list[float]
    notes: dict[str, Noted] = field(default_factory=dict)


@dataclass(frozen=True)
class Relay:
    """Receiver side of an outer hop: the mean change of every shared vector, weighed by the senders' ``mass [S]``, is
    added."""

    mass: Tensor

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        return known["mass"]

    def weights(self, held: Held, info: Info) -> Tensor:
        return group_share(self.mass, info.parent, info.receivers)[info.ids]

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return Merged(Held({name: v + delivery.total[:, b] for b, (name, v) in enumerate(held.shared.items())}))


def merge(
    sim: Simulation, state: SimState, tiers: Tiers, planned: Planned, updates: Updates
) -> tuple[MergeResult, SimState]:
    """The receivers after an exchange, and the state."""
    x, ids, tier = planned.x, updates.ids, tiers[planned.x.hop]
    ledger = sim.algorithm.ledger if x.hop == 0 else None
    nobody = len(ids) == 0
    if nobody and ledger is None:
        return MergeResult(tier, None, [0.0] * x.receivers), state
    held, info = _held(state, tier, x.hop), _info(sim, state, tiers, planned, updates)
    side = sim.algorithm if x.hop == 0 else Relay(_mass(sim, state, tiers, planned))
    norms, heard, delivery, result = tier.norms, torch.zeros(0), _silence(tier, x.message.blocks), None
    if not nobody:
        sent = Sent(ids, updates.group, updates.payload, side.weights(held, info) * info.arrived)
        heard = sent.weight * info.expect if SUPERPOSITION in x.link.offers else sent.weight
        if norms is not None and updates.local is not None:
            norms = averaged_norms(norms, updates.local, heard, info.group)
        result, state = _combine(sim, state, planned, sent)
        delivery = result
    merged = side.merge(held, delivery, info) if ledger is None else merge_ledger(sim.algorithm, held, delivery, info)
    merged, state = _stepped(sim, state, planned, held, merged, ledger is not None)
    after = Tier(
        shared=merged.held.shared,
        norms=norms,
        elapsed_s=tier.elapsed_s,
        mass=tier.mass + group_sum(side.importance(info.known, len(ids)) * info.arrived, info.group, x.receivers),
        payloads=tier.payloads + group_sum(_payloads(tiers, x.hop, ids) * info.arrived, info.group, x.receivers),
    )
    refuse_undeclared("algorithm", sim.algorithm, sim.algorithm.publishes, merged.published, "publishes")
    counted, group = (heard, info.group) if merged.counted is None else (merged.counted, x.parent)
    notes = updates.notes | noted("sender", merged.published)
    state = _learned(state, updates, merged) if x.hop == 0 else state
    return MergeResult(after, result, effective_clients(counted, group, x.receivers), notes), state


def effective_clients(weight: Tensor, group: Tensor, receivers: int) -> list[float]:
    """Effective number of senders of each receiver, ``(sum w)^2 / sum w^2``; 0 without any."""
    total = group_sum(weight.double(), group, receivers) ** 2
    squares = group_sum(weight.double() ** 2, group, receivers)
    return torch.where(squares > 0, total / squares.clamp(min=1e-300), 0.0).tolist()


def _held(state: SimState, tier: Tier, h: int) -> Held:
    return Held(tier.shared, state.memory.ledger, state.memory.receiver) if h == 0 else Held(tier.shared)


def _silence(tier: Tier, blocks: int) -> Delivery:
    """What receivers get that nobody has sent anything to."""
    w = tier.shared[MODEL]
    return Delivery(w.new_zeros(len(w), blocks, w.shape[1]), w.new_zeros(0, blocks, w.shape[1]), None)


def _combine(sim: Simulation, state: SimState, planned: Planned, sent: Sent) -> tuple[Delivery, SimState]:
    """Weighted sums at the receivers by the hop's link, decoded."""
    x, clock, path = planned.x, planned.x.clock, of_hop(planned.x.hop, "link")
    rng = sim.rng.child("air", x.hop, clock.t, clock.e)
    delivery, after = x.link.combine(x, planned.airtime, sent, recall(state.parts, path), rng)
    refuse_undeclared(path, x.link, x.link.notes, delivery.notes, "notes")
    delivery = decode(sim.hops[x.hop].transforms, sim.message(x.hop), x, sent, delivery, sim.rng)
    return delivery, remember(state, path, after)


def _stepped(
    sim: Simulation, state: SimState, planned: Planned, before: Held, merged: Merged, remembered: bool
) -> tuple[Merged, SimState]:
    """The merge with the step of the hop's optimiser, where there is one, in place of the model's change. Receivers
    that heard nobody rest, unless they move on what they remember."""
    x, rule, path = planned.x, sim.hops[planned.x.hop].receiver, of_hop(planned.x.hop, "receiver")
    if rule is None:
        return merged, state
    heard = (torch.bincount(x.parent[planned.airtime.arrived], minlength=x.receivers) > 0) | remembered
    shared, slots = optimised(rule, before.shared, merged.held.shared, heard, recall(state.parts, path), x.clock)
    return replace(merged, held=replace(merged.held, shared=shared)), remember(state, path, slots)


def optimised(
    rule: ReceiverRule, before: Slots, merged: Slots, heard: Tensor, slots: Slots, clock: Clock
) -> tuple[Slots, Slots]:
    """The shared vectors ``[R, d]`` of a tier after its optimiser, ``w = before + step(merged - before)``, and the
    optimiser's memory; other vectors move as merged.

    ``heard [R]`` marks the receivers that heard somebody. If the step is the change itself, the vectors stay as merged,
    bit for bit.
    """
    change = merged[MODEL] - before[MODEL]
    step, after = rule.step(change, heard, slots, clock)
    return (merged if step is change else merged | {MODEL: before[MODEL] + step}), after


def _learned(state: SimState, updates: Updates, merged: Merged) -> SimState:
    """The state with what receivers remember and publish, and the losses of the clients that trained."""
    signals = state.signals | merged.published
    if updates.loss is not None:
        known = updates.loss.isfinite()
        signals |= {"loss": signals["loss"].index_copy(0, updates.ids[known], updates.loss[known])}
    memory = replace(state.memory, ledger=merged.held.ledger, receiver=merged.held.receiver)
    return replace(state, memory=memory, signals=signals)


def _info(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned, updates: Updates) -> Info:
    """The receivers' knowledge of their senders: of clients what the algorithm reveals, of edges their mass."""
    x, airtime, clock, ids, transforms = planned.x, planned.airtime, planned.x.clock, updates.ids, sim.transforms
    if x.hop == 0:
        announced = _revealed(sim, state)
        known = {name: rows[ids] for name, rows in announced.items()} | _revealed_work(sim, planned, ids)
    else:
        announced, known = {}, {"mass": tiers[x.hop - 1].mass[ids]}
    return Info(
        ids=ids,
        group=x.parent[ids],
        receivers=x.receivers,
        parent=x.parent,
        arrived=airtime.arrived[ids],
        expect=airtime.expect[ids],
        staleness=torch.zeros_like(ids) if updates.staleness is None else updates.staleness,
        known=known,
        clock=clock,
        rng=sim.rng.child("merge", clock.t, clock.e),
        announced=announced,
        damping=damping(transforms, sim.message(0)),
        lossy=lossy(transforms),
    )


def _revealed(sim: Simulation, state: SimState) -> Slots:
    """Signals of all clients that the algorithm reveals to the receivers."""
    return {name: rows for name, rows in state.signals.items() if name in sim.algorithm.reveals}


def _revealed_work(sim: Simulation, planned: Planned, ids: Tensor) -> Slots:
    """Quantities of the active clients' work that the algorithm reveals to the receivers."""
    names = [entry.name for entry in fields(Work) if entry.name in sim.algorithm.reveals]
    if len(ids) == 0:
        return dict.fromkeys(names, ids)
    done = work_of(sim.rule, planned.x.alloc.steps[ids], planned.x.clock.t)
    return {name: getattr(done, name) for name in names}


def _mass(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> Tensor:
    """Mass ``[S]`` of every sender of an outer hop: what arrived there, if it arrives here; or, fixed, that of all
    clients below, active or not."""
    h, topology = planned.x.hop, sim.topology
    if sim.algorithm.relay == "arrived":
        return tiers[h - 1].mass * planned.airtime.arrived
    mass = sim.algorithm.importance(_revealed(sim, state), topology.clients)
    for i in range(h):
        mass = group_sum(mass, topology.parents[i], topology.receivers(i))
    return mass


def _payloads(tiers: Tiers, h: int, ids: Tensor) -> Tensor:
    """Client payloads ``[A]`` that each sender stands for."""
    return torch.ones_like(ids) if h == 0 else tiers[h - 1].payloads[ids]

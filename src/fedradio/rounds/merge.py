"""Merge of an exchange: what arrived is weighed, summed by the link, decoded, and moves the receivers.

On hop 0 the algorithm weighs and merges. On outer hops the senders' changes are averaged by mass and added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from fedradio.algorithms.ledger import filings, merge_ledger, published_names
from fedradio.core.contracts import (
    LOSS,
    MODEL,
    PAYLOADS,
    SUPERPOSITION,
    Clock,
    Delivery,
    Held,
    Info,
    Merged,
    Noted,
    ReceiverRule,
    ReceiverSide,
    Sent,
    SimState,
    Slots,
    Updates,
    noted,
)
from fedradio.core.contracts.algorithm import SENT
from fedradio.core.params import group_share, group_sum
from fedradio.rounds.commit import LEDGER, Writes, commit
from fedradio.rounds.norm_layers import averaged_norms
from fedradio.rounds.notes import refuse_undeclared
from fedradio.rounds.parts import of_hop, recall, remember
from fedradio.rounds.payload import decode
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tier
from fedradio.rounds.work import MASS, revealed
from fedradio.transforms.chain import damping, lossy


@dataclass(frozen=True)
class MergeResult:
    """The receivers' ``tier`` after a merge; what the link delivered (None: nobody sent), the number of ``effective
    [R]`` senders, and ``notes`` on what was published."""

    tier: Tier
    delivery: Delivery | None
    effective: list[float]
    notes: dict[str, Noted] = field(default_factory=dict)


@dataclass(frozen=True)
class Relay(ReceiverSide):
    """Receiver side of an outer hop: the mean change of every shared vector is added. Weights are shares of the mass
    that arrived; or, ``fixed``, of the mass of all senders, active or not."""

    fixed: bool

    def importance(self, known: Mapping[str, Tensor], clients: int) -> Tensor:
        return known[MASS]

    def weights(self, held: Held, info: Info) -> Tensor:
        if self.fixed:
            return group_share(info.announced[MASS], info.parent, info.receivers)[info.ids]
        return group_share(info.known[MASS] * info.arrived, info.group, info.receivers)

    def merge(self, held: Held, delivery: Delivery, info: Info) -> Merged:
        return Merged(Held({name: v + delivery.total[:, b] for b, (name, v) in enumerate(held.shared.items())}))


def merge(
    sim: Simulation, state: SimState, tier: Tier, planned: Planned, updates: Updates
) -> tuple[MergeResult, SimState]:
    """The receivers ``tier`` after the ``updates`` of a planned exchange, and the state.

    All that is said of a sender comes with its update; the plan is there for the link, whose symbols may interfere.
    """
    x, ledger = planned.x, sim.algorithm.ledger if planned.x.hop == 0 else None
    if len(updates.ids) == 0 and ledger is None:
        delivery, state = _deliver(sim, state, planned, updates, updates.expect)
        return MergeResult(tier, delivery, [0.0] * x.receivers), state
    held, info = _held(state, tier, x.hop), _info(sim, state, planned, updates)
    side: ReceiverSide = sim.algorithm if x.hop == 0 else Relay(sim.algorithm.relay == "fixed")
    weight = side.weights(held, info) * info.arrived if len(info.ids) else info.expect
    if sim.hops[x.hop].gather.carries:
        weight = weight * sim.hops[x.hop].gather.weight(updates.staleness)
    counted, group = weight * info.expect if SUPERPOSITION in x.link.offers else weight, info.group
    norms = tier.norms
    if norms is not None and updates.local is not None:
        norms = averaged_norms(norms, updates.local, counted, group)
    delivery, state = _deliver(sim, state, planned, updates, weight)
    if ledger is None:
        assert delivery is not None
        merged = side.merge(held, delivery, info)
    else:
        merged, counted = _merge_remembered(sim, state, held, delivery or _silence(tier, x.message.blocks), info)
        group = x.parent
    refuse_undeclared("algorithm", sim.algorithm, published_names(sim.algorithm), merged.published, "publishes")
    shared, state = _optimise(sim, state, planned, held.shared, merged.held.shared, info)
    mass = side.importance(info.known, len(info.ids)) * info.arrived
    after = Tier(
        shared=shared,
        norms=norms,
        elapsed_s=tier.elapsed_s,
        mass=tier.mass + group_sum(mass, info.group, x.receivers),
        payloads=tier.payloads + group_sum(updates.columns[PAYLOADS] * info.arrived, info.group, x.receivers),
    )
    notes = noted("sender", merged.published)
    state = _learned(state, updates, merged) if x.hop == 0 else state
    return MergeResult(after, delivery, effective_senders(counted, group, x.receivers), notes), state


def effective_senders(weight: Tensor, group: Tensor, receivers: int) -> list[float]:
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


def _deliver(
    sim: Simulation, state: SimState, planned: Planned, updates: Updates, weight: Tensor
) -> tuple[Delivery | None, SimState]:
    """Weighted sums at the receivers by the hop's link, decoded; None if nobody sent, now or earlier."""
    if len(updates.ids) == 0 and not bool(planned.x.alloc.active.any()):
        return None, state
    x, clock, path = planned.x, planned.x.clock, of_hop(planned.x.hop, "link")
    sent = Sent(updates.ids, updates.group, updates.payload, weight)
    arrived = planned.airtime.arrived.index_copy(0, updates.ids, updates.arrived)
    rng = sim.rng.child("air", x.hop, clock.t, clock.e)
    airtime = replace(planned.airtime, arrived=arrived)
    delivery, after = x.link.combine(x, airtime, sent, recall(state.parts, path), rng)
    refuse_undeclared(path, x.link, x.link.notes, delivery.notes, "notes")
    delivery = decode(sim.hops[x.hop].transforms, sim.message(x.hop), x, sent, delivery, sim.rng)
    return delivery, remember(state, path, after)


def _merge_remembered(
    sim: Simulation, state: SimState, held: Held, delivery: Delivery, info: Info
) -> tuple[Merged, Tensor]:
    """The merge of an algorithm with a ledger, in which the arrivals are written down first; and the weight ``[C]`` of
    every client."""
    ledger = sim.algorithm.ledger
    assert ledger is not None
    for ids, rows in filings(ledger, held.ledger, delivery, info, held.shared[MODEL]):
        commit(state, Writes(ids, {LEDGER: {SENT: rows}}))
    return merge_ledger(sim.algorithm, held, delivery, info)


def _optimise(
    sim: Simulation, state: SimState, planned: Planned, before: Slots, merged: Slots, info: Info
) -> tuple[Slots, SimState]:
    """The receivers' vectors with the step of the hop's optimiser, where there is one, in place of the model's change;
    receivers that heard nobody rest, unless they move on what they remember."""
    x, rule, path = planned.x, sim.hops[planned.x.hop].receiver, of_hop(planned.x.hop, "receiver")
    if rule is None:
        return merged, state
    heard = group_sum(info.arrived.long(), info.group, x.receivers) > 0
    if x.hop == 0 and sim.algorithm.ledger is not None:
        heard = torch.ones_like(heard)
    shared, slots = optimised(rule, before, merged, heard, recall(state.parts, path), x.clock)
    return shared, remember(state, path, slots)


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
    """The state with what receivers remember and publish, and the losses of the clients that trained; receivers keep
    what a merge does not give back."""
    signals = state.signals | merged.published
    if LOSS in updates.columns:
        known = updates.columns[LOSS].isfinite()
        losses = signals["loss"].index_copy(0, updates.ids[known], updates.columns[LOSS][known])
        signals |= {"loss": losses}
    before, after = state.memory, merged.held
    memory = replace(before, ledger=before.ledger | after.ledger, receiver=before.receiver | after.receiver)
    return replace(state, memory=memory, signals=signals)


def _info(sim: Simulation, state: SimState, planned: Planned, updates: Updates) -> Info:
    """What the receivers know of their senders: what came with the updates, and what all have announced before."""
    x, clock, transforms = planned.x, planned.x.clock, sim.transforms
    if x.hop == 0:
        announced = revealed(sim, state)
    else:
        announced = {MASS: _mass_below(sim, state, x.hop)} if sim.algorithm.relay == "fixed" else {}
    return Info(
        ids=updates.ids,
        group=updates.group,
        receivers=x.receivers,
        parent=x.parent,
        arrived=updates.arrived,
        expect=updates.expect,
        known=updates.known,
        clock=clock,
        rng=sim.rng.child("merge", clock.t, clock.e),
        announced=announced,
        damping=damping(transforms, sim.message(0)),
        lossy=lossy(transforms),
    )


def _mass_below(sim: Simulation, state: SimState, h: int) -> Tensor:
    """Mass ``[S]`` of all clients below each sender of an outer hop, active or not."""
    topology = sim.topology
    mass = sim.algorithm.importance(revealed(sim, state), topology.clients)
    for i in range(h):
        mass = group_sum(mass, topology.parents[i], topology.receivers(i))
    return mass

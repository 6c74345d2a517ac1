"""What an exchange does: payloads of a hop's senders, their weights, sums, and the merge at the receivers."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor

from fedradio.core.contracts import (
    MODEL,
    SUPERPOSITION,
    Delivery,
    Held,
    Info,
    Merged,
    Noted,
    Sent,
    SimState,
    Slots,
    Work,
    noted,
)
from fedradio.core.params import group_share, group_sum
from fedradio.rounds.clients import SIMULATED, Measured
from fedradio.rounds.cohort import work_of
from fedradio.rounds.norm_layers import averaged_norms
from fedradio.rounds.notes import refuse_undeclared
from fedradio.rounds.parts import of_hop, recall, remember
from fedradio.rounds.payload import Encoded, decode, encode, memories_of, write_memories
from fedradio.rounds.planning import Planned
from fedradio.rounds.receiving import stepped
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers
from fedradio.transforms.chain import damping, lossy


@dataclass(frozen=True)
class Outcome:
    """Result of an exchange at its receivers: their vectors ``shared [R, d]`` and norm layers ``norms [R, n]``, the
    ``mass [R]`` that arrived, the number of ``effective [R]`` senders, ``notes`` for the records.

    ``delivery`` is None if nobody sent, ``bits [A]`` are those really sent where they are fewer than foreseen, ``loss``
    the mean training loss of the clients that trained. ``planned`` is the plan with who arrived in the end, where
    clients are real; then they are ``measured``, too.
    """

    shared: Slots
    norms: Tensor | None
    mass: Tensor
    effective: list[float]
    notes: dict[str, Noted] = field(default_factory=dict)
    delivery: Delivery | None = None
    bits: Tensor | None = None
    loss: float | None = None
    planned: Planned | None = None
    measured: Measured | None = None


def run_exchange(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Outcome, SimState]:
    """Carry out a planned exchange: payloads, weighted sums, merge or relay."""
    hop, nobody = planned.x.hop, not bool(planned.x.alloc.active.any())
    if nobody and hop == 0 and sim.algorithm.remembers:
        return _merge_remembered(sim, state, tiers, planned)
    if nobody:
        receivers = planned.x.receivers
        silence = torch.zeros(receivers, dtype=torch.float64)
        return Outcome(tiers.shared[hop], tiers.norms[hop], silence, [0.0] * receivers), state
    return (_gather_clients if hop == 0 else _relay)(sim, state, tiers, planned)


def _gather_clients(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Outcome, SimState]:
    """An exchange of hop 0: the active clients train and send, the algorithm weighs and merges what arrives."""
    returned = (sim.clients or SIMULATED).work(sim, state, tiers, planned)
    planned, norms, loss = returned.planned, tiers.norms[0], returned.loss
    x = planned.x
    ids = x.alloc.active.nonzero().squeeze(1)
    held, work = _held(state, tiers), work_of(sim.rule, x.alloc.steps[ids], x.clock.t)
    info = _info(sim, state, planned, ids, {name: getattr(work, name) for name in _revealed_work(sim)})
    encoded = returned.send(sim.algorithm.weights(held, info) * info.arrived)
    sent = encoded.sent
    heard = _heard_weight(planned, sent)
    if norms is not None and returned.local is not None:
        norms = averaged_norms(norms, returned.local, heard, info.group)
    delivery, state = _combine(sim, state, planned, sent)
    merged, state = _stepped(sim, state, planned, held, sim.algorithm.merge(held, delivery, info))
    known = loss.isfinite()
    losses = state.signals["loss"].index_copy(0, ids[known], loss[known])
    outcome = Outcome(
        shared=merged.held.shared,
        norms=norms,
        mass=_arrived_mass(sim, info),
        effective=effective_clients(heard, sent.group, x.receivers),
        notes=_training_notes(returned.pseudo) | encoded.notes | returned.notes,
        delivery=delivery,
        bits=encoded.bits,
        loss=float(loss[known].mean()) if bool(known.any()) else None,
        planned=planned,
        measured=returned.measured,
    )
    return _after_merge(sim, outcome, replace(state, signals=state.signals | {"loss": losses}), planned, merged)


def _merge_remembered(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Outcome, SimState]:
    """An exchange of hop 0 without senders: the receivers move on remembered contributions."""
    no_ids = torch.zeros(0, dtype=torch.long)
    held, w = _held(state, tiers), tiers.shared[0][MODEL]
    rows = w.new_zeros(0, sim.algorithm.blocks, w.shape[1])
    info = _info(sim, state, planned, no_ids, dict.fromkeys(_revealed_work(sim), no_ids))
    merged = sim.algorithm.merge(held, Delivery(w.new_zeros(len(w), *rows.shape[1:]), rows, None), info)
    merged, state = _stepped(sim, state, planned, held, merged)
    outcome = Outcome(merged.held.shared, tiers.norms[0], _arrived_mass(sim, info), [0.0] * planned.x.receivers)
    return _after_merge(sim, outcome, state, planned, merged)


def _relay(sim: Simulation, state: SimState, tiers: Tiers, planned: Planned) -> tuple[Outcome, SimState]:
    """An exchange of an outer hop: each sender relays the change of every shared vector since the last broadcast, and
    the receivers add the weighted mean of the changes."""
    x, h, arrives = planned.x, planned.x.hop, planned.airtime.arrived
    below, own, norms = tiers.norms[h - 1], tiers.shared[h], tiers.norms[h]
    ids = x.alloc.active.nonzero().squeeze(1)
    group = x.parent[ids]
    sender_ids, parent_ids = ids.to(sim.device), group.to(sim.device)
    changes = [rows[sender_ids] - own[name][parent_ids] for name, rows in tiers.shared[h - 1].items()]
    mass = _fixed_mass(sim, state, tiers, h) if sim.algorithm.relay == "fixed" else tiers.mass[h - 1] * arrives
    share = group_share(mass, x.parent, x.receivers)
    encoded = _encode(sim, state, planned, Sent(ids, group, torch.stack(changes, 1), (share * arrives)[ids]))
    sent = encoded.sent
    heard = _heard_weight(planned, sent)
    if below is not None and norms is not None:
        norms = averaged_norms(norms, below[sender_ids], heard, group)
    delivery, state = _combine(sim, state, planned, sent)
    moved = {name: rows + delivery.total[:, block] for block, (name, rows) in enumerate(own.items())}
    merged, state = _stepped(sim, state, planned, Held(own), Merged(Held(moved)))
    outcome = Outcome(
        shared=merged.held.shared,
        norms=norms,
        mass=group_sum(tiers.mass[h - 1] * arrives, x.parent, x.receivers),
        effective=effective_clients(heard, group, x.receivers),
        notes=encoded.notes,
        delivery=delivery,
        bits=encoded.bits,
    )
    return outcome, state


def effective_clients(weight: Tensor, group: Tensor, receivers: int) -> list[float]:
    """Effective number of senders of each receiver, ``(sum w)^2 / sum w^2``; 0 without any."""
    total = group_sum(weight.double(), group, receivers) ** 2
    squares = group_sum(weight.double() ** 2, group, receivers)
    return torch.where(squares > 0, total / squares.clamp(min=1e-300), 0.0).tolist()


def _combine(sim: Simulation, state: SimState, planned: Planned, sent: Sent) -> tuple[Delivery, SimState]:
    """Weighted sums at the receivers, by the hop's link."""
    x, clock = planned.x, planned.x.clock
    path, rng = of_hop(x.hop, "link"), sim.rng.child("air", x.hop, clock.t, clock.e)
    delivery, after = x.link.combine(x, planned.airtime, sent, recall(state.parts, path), rng)
    refuse_undeclared(path, x.link, x.link.notes, delivery.notes, "notes")
    delivery = decode(sim.hops[x.hop].transforms, sim.message(x.hop), x, sent, delivery, sim.rng)
    return delivery, remember(state, path, after)


def _encode(sim: Simulation, state: SimState, planned: Planned, sent: Sent) -> Encoded:
    """The payloads of an outer hop through its transforms, whose memories are updated in place."""
    x, arrived, transforms = planned.x, planned.airtime.arrived[sent.ids], sim.hops[planned.x.hop].transforms
    memories = memories_of(state.parts, x.hop, transforms, sent.ids)
    encoded = encode(transforms, sim.message(x.hop), x, sent, memories, sim.rng)
    write_memories(state.parts, x.hop, sent.ids, encoded.kept(arrived))
    return encoded


def _stepped(
    sim: Simulation, state: SimState, planned: Planned, before: Held, merged: Merged
) -> tuple[Merged, SimState]:
    """The merge with the step of the hop's receiver rule, where there is one, in place of the model's change."""
    x = planned.x
    rule, path = sim.hops[x.hop].receiver, of_hop(x.hop, "receiver")
    if rule is None:
        return merged, state
    heard = torch.bincount(x.parent[planned.airtime.arrived], minlength=x.receivers) > 0
    if x.hop == 0 and sim.algorithm.remembers:
        heard = torch.ones_like(heard)
    shared, slots = stepped(rule, before.shared, merged.held.shared, heard, recall(state.parts, path), x.clock)
    return replace(merged, held=replace(merged.held, shared=shared)), remember(state, path, slots)


def _held(state: SimState, tiers: Tiers) -> Held:
    return Held(tiers.shared[0], state.memory.ledger, state.memory.receiver)


def _after_merge(
    sim: Simulation, outcome: Outcome, state: SimState, planned: Planned, merged: Merged
) -> tuple[Outcome, SimState]:
    """Outcome and state with what the algorithm has published and filed; where all whom receivers remember count, they
    are the effective clients."""
    x, held = planned.x, merged.held
    if merged.published:
        refuse_undeclared("algorithm", sim.algorithm, sim.algorithm.publishes, merged.published, "publishes")
        outcome = replace(outcome, notes=outcome.notes | noted("sender", merged.published))
    if merged.counted is not None:
        outcome = replace(outcome, effective=effective_clients(merged.counted, x.parent, x.receivers))
    memory = replace(state.memory, ledger=held.ledger, receiver=held.receiver)
    return outcome, replace(state, memory=memory, signals=state.signals | merged.published)


def _info(sim: Simulation, state: SimState, planned: Planned, ids: Tensor, done: Slots) -> Info:
    """The receivers' knowledge of all clients, and of the work ``done`` by the active ones."""
    x, airtime, clock = planned.x, planned.airtime, planned.x.clock
    announced, transforms = _revealed(sim, state), sim.hops[0].transforms
    return Info(
        ids=ids,
        group=x.parent[ids],
        receivers=x.receivers,
        parent=x.parent,
        arrived=airtime.arrived[ids],
        expect=airtime.expect[ids],
        known={name: rows[ids] for name, rows in announced.items()} | done,
        clock=clock,
        rng=sim.rng.child("merge", clock.t, clock.e),
        announced=announced,
        damping=damping(transforms, sim.message(0)),
        lossy=lossy(transforms),
    )


def _revealed(sim: Simulation, state: SimState) -> Slots:
    """Signals of all clients that the algorithm reveals to the receivers."""
    reveals = sim.algorithm.reveals
    return {name: rows for name, rows in state.signals.items() if name in reveals}


def _revealed_work(sim: Simulation) -> list[str]:
    """Quantities of a client's work that the algorithm reveals to the receivers."""
    reveals = sim.algorithm.reveals
    return [entry.name for entry in fields(Work) if entry.name in reveals]


def _arrived_mass(sim: Simulation, info: Info) -> Tensor:
    """Mass ``[R]`` of the clients whose payloads arrived."""
    mass = sim.algorithm.importance(info.known, len(info.ids)) * info.arrived
    return group_sum(mass, info.group, info.receivers)


def _fixed_mass(sim: Simulation, state: SimState, tiers: Tiers, h: int) -> Tensor:
    """Mass ``[S_h]`` of all clients below each sender of an outer hop, active or not."""
    topology = tiers.topology
    mass = sim.algorithm.importance(_revealed(sim, state), topology.clients)
    for i in range(h):
        mass = group_sum(mass, topology.parents[i], topology.receivers(i))
    return mass


def _heard_weight(planned: Planned, sent: Sent) -> Tensor:
    """Expected coefficient of each sender ``[A]``: its weight, over the air times its share of the air."""
    return sent.weight * planned.airtime.expect[sent.ids] if SUPERPOSITION in planned.x.link.offers else sent.weight


def _training_notes(pseudo: Tensor | None) -> dict[str, Noted]:
    """Accuracy ``pseudo [A]`` of pseudo-labels, where there were any; -1 for a client without."""
    if pseudo is None:
        return {}
    accuracy = pseudo.double().cpu().nan_to_num(nan=-1.0)
    return {"pseudo_accuracy": Noted("active", accuracy, rest=-1.0)}

"""One exchange of a hop: planning, payloads and their weights, merging or relaying."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor

from fedradio.core.contracts import (
    Airtime,
    Allocation,
    ChannelState,
    Clock,
    Delivery,
    Info,
    Reason,
    SimState,
    Slots,
    View,
)
from fedradio.core.params import group_share, group_sum
from fedradio.engine.threads import one_torch_thread
from fedradio.fleet.costs import compute_s, cycles_per_step
from fedradio.rounds.cohort import keep, train, upload
from fedradio.rounds.label_drift import data_notes
from fedradio.rounds.norm_layers import merge_norms
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers, open_round


@dataclass(frozen=True)
class Planned:
    """Plan of one exchange, before anything is sent: ``values`` numbers a payload, ``cycles [S]`` of a local step,
    seconds ``ready_s [S]`` until a payload is ready; ``notes`` on the data, per client, for the records."""

    clock: Clock
    channel: ChannelState | None
    values: int
    cycles: Tensor | None
    alloc: Allocation
    ready_s: Tensor | None
    airtime: Airtime
    notes: Slots


def plan_slots(sim: Simulation, state: SimState, rounds: int) -> Iterator[Planned]:
    """Plans of all edge rounds of ``rounds`` rounds by the policy of hop 0; nothing is trained or sent."""
    edge_rounds = prod(hop.period for hop in sim.hops)
    for t in range(state.t, state.t + rounds):
        tiers = open_round(sim, replace(state, t=t))
        for e in range(edge_rounds):
            with one_torch_thread():
                planned = plan_exchange(sim, tiers, 0, Clock(t, e))
            yield planned
        state = replace(state, stream=tiers.stream, policy=tuple(tiers.policy), signals=tiers.signals)


def plan_exchange(sim: Simulation, tiers: Tiers, h: int, clock: Clock) -> Planned:
    """Plan an exchange: samples arrive, the channel is realised, the policy decides, the link forecasts arrivals."""
    hop, parent = sim.hops[h], sim.topology.parents[h]
    rng = sim.rng.child("hop", h, clock.t, clock.e)
    notes: Slots = {}
    if h == 0:
        tiers.stream = sim.stream.arrive(tiers.stream, clock, sim.rng.child("arrive", clock.t, clock.e))
        signals = data_signals(sim, tiers.stream)
        notes = data_notes(tiers.signals, signals)
        tiers.signals = tiers.signals | signals
    channel = _realise(sim, h, clock)
    blocks = sim.algorithm.blocks if h == 0 else len(tiers.shared[h])
    values = sim.model.shared.size * blocks
    view = _view(sim, tiers, h, clock, channel, values)
    alloc, tiers.policy[h] = hop.policy.decide(view, tiers.policy[h], rng.child("policy"))
    alloc = _drop_unable(sim, tiers, h, alloc)
    if "superposition" in hop.link.offers:  # the power of analogue symbols is that of the payload
        alloc = replace(alloc, power_w=None)
    ready = _ready(tiers, h, alloc, parent, view.cycles_per_step)
    airtime = hop.link.plan(channel, alloc, parent, values, ready, hop.deadline_s, rng.child("plan"), blocks)
    return Planned(clock, channel, values, view.cycles_per_step, alloc, ready, airtime, notes)


def data_signals(sim: Simulation, stream: Slots) -> Slots:
    """Signals of the clients' data: statistics, and the local steps of an epoch over labelled (else all) samples."""
    stats = sim.stream.stats(stream)
    seen = torch.where(stats["labelled"] > 0, stats["labelled"], stats["samples"])
    per_step = sim.rule.batch * sim.rule.updates_per_step
    epoch_steps = torch.div(seen + per_step - 1, per_step, rounding_mode="floor")
    return {name: rows.cpu() for name, rows in (stats | {"epoch_steps": epoch_steps}).items()}


def _realise(sim: Simulation, h: int, clock: Clock) -> ChannelState | None:
    channel, positions = sim.hops[h].channel, sim.topology.positions
    if channel is None:
        return None
    rng = sim.rng.child("channel", h, clock.t, clock.e)
    return channel.realise(positions[h + 1], positions[h], sim.topology.parents[h], rng)


def _view(sim: Simulation, tiers: Tiers, h: int, clock: Clock, channel: ChannelState | None, values: int) -> View:
    """Input of the hop's policy; outer hops have no local steps."""
    hop, rule = sim.hops[h], sim.rule
    senders = sim.topology.senders(h)
    cycles = None
    if h == 0 and hop.fleet is not None:
        cycles = cycles_per_step(hop.fleet, sim.stream.sample_bits, rule.batch * rule.updates_per_step, rule.passes)
    signals = tiers.signals if h == 0 else {"epoch_steps": torch.zeros(senders, dtype=torch.long)}
    return View(
        clock=clock,
        parent=sim.topology.parents[h],
        receivers=sim.topology.receivers(h),
        channel=channel,
        link=hop.link,
        fleet=hop.fleet,
        cycles_per_step=cycles,
        payload_bits=hop.link.bits(values),
        deadline_s=hop.deadline_s,
        signals=signals,
        able=_able(sim, tiers, h),
    )


def _able(sim: Simulation, tiers: Tiers, h: int) -> Tensor:
    """Senders ``[S]`` that can contribute: clients with samples that the cost can use, edges with a change to relay."""
    if h == 0:
        unlabelled = sim.rule.objective is not None and sim.rule.objective.unlabelled_batch > 0
        return tiers.signals["samples" if unlabelled else "labelled"] > 0
    return torch.ones_like(tiers.mass[h - 1], dtype=torch.bool) if sim.algorithm.remembers else tiers.mass[h - 1] > 0


def _drop_unable(sim: Simulation, tiers: Tiers, h: int, alloc: Allocation) -> Allocation:
    """The allocation without senders that have nothing to contribute, whatever the policy decided."""
    able = _able(sim, tiers, h)
    reason = Reason.NO_DATA if h == 0 else Reason.NO_NEWS
    active = alloc.active & able
    return replace(
        alloc,
        active=active,
        steps=torch.where(active, alloc.steps, 0) if h == 0 else torch.zeros_like(alloc.steps),
        reason=torch.where(alloc.active & ~able, int(reason), alloc.reason),
    )


def _ready(tiers: Tiers, h: int, alloc: Allocation, parent: Tensor, cycles: Tensor | None) -> Tensor | None:
    """Seconds ``[S]`` from the receiver's last broadcast until each sender's payload is ready."""
    if h == 0:
        if cycles is None or alloc.cpu_hz is None:
            return None
        return compute_s(cycles * alloc.steps, alloc.cpu_hz)
    own, above = tiers.elapsed[h - 1], tiers.elapsed[h]
    return None if own is None or above is None else own - above[parent]


def send_clients(sim: Simulation, tiers: Tiers, h: int, planned: Planned) -> tuple[Tensor, Tensor, Tensor, Info]:
    """Payloads of hop 0: the active clients train and send; their weights depend on which payloads arrive."""
    got = tiers.shared[0]
    cohort = train(sim, got, tiers.norms[0], tiers.client, tiers.stream, planned.alloc, planned.clock)
    ids = cohort.ids
    arrived = planned.airtime.arrived[ids]
    keep(sim, got, tiers.client, cohort, arrived)
    payload = upload(sim, got, cohort)
    done = {"steps": cohort.work.steps, "updates": cohort.work.updates}
    done |= {"effective": cohort.work.effective, "rate": cohort.work.rate}
    done = {name: rows for name, rows in done.items() if name in sim.algorithm.reveals}
    info = _info(sim, tiers, planned, ids, done)
    weight = sim.algorithm.weights(tiers.ledger, info) * arrived
    if tiers.norms[0] is not None and cohort.trained.local is not None:
        merge_norms(tiers, 0, cohort.trained.local, heard_weight(sim, 0, planned, weight, ids), info.group)
    loss = cohort.trained.loss.double().cpu()
    tiers.losses.append(float(loss.mean()))
    tiers.signals = tiers.signals | {"loss": tiers.signals["loss"].index_copy(0, ids, loss)}
    if cohort.trained.pseudo is not None:
        accuracy = torch.full_like(tiers.signals["loss"], -1.0)
        accuracy.index_copy_(0, ids, cohort.trained.pseudo.double().cpu().nan_to_num(nan=-1.0))
        tiers.notes = {"pseudo_accuracy": accuracy}
    return payload, weight, ids, info


def _info(sim: Simulation, tiers: Tiers, planned: Planned, ids: Tensor, done: Slots) -> Info:
    """The receivers' knowledge of all clients, and of the work ``done`` by the active ones."""
    parent, airtime = sim.topology.parents[0], planned.airtime
    announced = {name: rows for name, rows in tiers.signals.items() if name in sim.algorithm.reveals}
    return Info(
        ids=ids,
        group=parent[ids],
        receivers=sim.topology.receivers(0),
        parent=parent,
        arrived=airtime.arrived[ids],
        expect=airtime.expect[ids],
        known={name: rows[ids] for name, rows in announced.items()} | done,
        announced=announced,
    )


def merge_remembered(sim: Simulation, tiers: Tiers, planned: Planned) -> None:
    """An exchange without senders: the receivers move on remembered contributions."""
    no_ids = torch.zeros(0, dtype=torch.long)
    done: Slots = {name: no_ids for name in ("steps", "updates", "effective", "rate") if name in sim.algorithm.reveals}
    w = next(iter(tiers.shared[0].values()))
    rows = w.new_zeros(0, sim.algorithm.blocks, w.shape[1])
    total = w.new_zeros(len(w), *rows.shape[1:])
    merge(sim, tiers, 0, planned, Delivery(total, rows, None), _info(sim, tiers, planned, no_ids, done))


def heard_weight(sim: Simulation, h: int, planned: Planned, weight: Tensor, ids: Tensor) -> Tensor:
    """Expected coefficient of each sender ``[A]``: its weight, over the air times its share of the air."""
    return weight * planned.airtime.expect[ids] if "superposition" in sim.hops[h].link.offers else weight


def send_changes(sim: Simulation, tiers: Tiers, h: int, planned: Planned) -> tuple[Tensor, Tensor, Tensor, None]:
    """Payloads of outer hops: each sender relays the change of every shared vector since the last broadcast."""
    ids = planned.alloc.active.nonzero().squeeze(1)
    parent = sim.topology.parents[h][ids]
    sender_ids, parent_ids = ids.to(sim.device), parent.to(sim.device)
    payload = torch.stack(
        [rows[sender_ids] - tiers.shared[h][name][parent_ids] for name, rows in tiers.shared[h - 1].items()], 1
    )
    mass = _fixed_mass(sim, tiers, h) if sim.algorithm.relay == "fixed" else tiers.mass[h - 1] * planned.airtime.arrived
    share = group_share(mass, sim.topology.parents[h], sim.topology.receivers(h))
    weight = (share * planned.airtime.arrived)[ids]
    norms = tiers.norms[h - 1]
    if norms is not None:
        merge_norms(tiers, h, norms[sender_ids], heard_weight(sim, h, planned, weight, ids), parent)
    return payload, weight, ids, None


def _fixed_mass(sim: Simulation, tiers: Tiers, h: int) -> Tensor:
    """Mass ``[S_h]`` of all clients below each sender of an outer hop, active or not."""
    known = {name: rows for name, rows in tiers.signals.items() if name in sim.algorithm.reveals}
    mass = sim.algorithm.importance(known, sim.topology.clients)
    for i in range(h):
        mass = group_sum(mass, sim.topology.parents[i], sim.topology.receivers(i))
    return mass


def merge(sim: Simulation, tiers: Tiers, h: int, planned: Planned, delivery: Delivery, info: Info | None) -> None:
    """Merge the delivery: by the algorithm on hop 0, adding the relayed changes on outer hops; masses are added too."""
    if info is not None:
        tiers.shared[0], tiers.ledger, published = sim.algorithm.merge(tiers.shared[0], tiers.ledger, delivery, info)
        tiers.signals, tiers.published = tiers.signals | published, published
        mass = sim.algorithm.importance(info.known, len(info.ids)) * info.arrived
        tiers.mass[0] = tiers.mass[0] + group_sum(mass, info.group, info.receivers)
        return
    tiers.shared[h] = {
        name: rows + delivery.total[:, block] for block, (name, rows) in enumerate(tiers.shared[h].items())
    }
    below = group_sum(tiers.mass[h - 1] * planned.airtime.arrived, sim.topology.parents[h], sim.topology.receivers(h))
    tiers.mass[h] = tiers.mass[h] + below

"""The payloads of an exchange and what becomes of them: hop 0 merges, outer hops relay changes."""

from __future__ import annotations

import torch
from torch import Tensor

from fedradio.core.contracts import Delivery, Info, Slots
from fedradio.core.params import group_share, group_sum
from fedradio.rounds import clients
from fedradio.rounds.planning import Plan
from fedradio.rounds.side import merge_side
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.working import Working


def send_clients(sim: Simulation, work: Working, h: int, plan: Plan) -> tuple[Tensor, Tensor, Tensor, Info]:
    """Hop 0: the active clients train and send; the algorithm weighs them knowing who arrived."""
    got = work.shared[0]
    cohort = clients.train(sim, got, work.side[0], work.client, work.stream, plan.alloc, plan.clock)
    ids = cohort.ids
    arrived = plan.airtime.arrived[ids]
    clients.keep(sim, got, work.client, cohort, arrived)
    payload = clients.upload(sim, got, cohort)
    done = {"steps": cohort.work.steps, "updates": cohort.work.updates}
    done |= {"effective": cohort.work.effective, "rate": cohort.work.rate}
    done = {name: rows for name, rows in done.items() if name in sim.algorithm.reveals}
    info = _info(sim, work, plan, ids, done)
    weight = sim.algorithm.weights(work.ledger, info) * arrived
    if work.side[0] is not None and cohort.trained.local is not None:
        merge_side(work, 0, cohort.trained.local, heard_weight(sim, 0, plan, weight, ids), info.group)
    loss = cohort.trained.loss.double().cpu()
    work.losses.append(float(loss.mean()))
    work.signals = work.signals | {"loss": work.signals["loss"].index_copy(0, ids, loss)}
    if cohort.trained.pseudo is not None:
        right = torch.full_like(work.signals["loss"], -1.0)
        right.index_copy_(0, ids, cohort.trained.pseudo.double().cpu().nan_to_num(nan=-1.0))
        work.noted = {"pseudo_accuracy": right}
    return payload, weight, ids, info


def _info(sim: Simulation, work: Working, plan: Plan, ids: Tensor, done: Slots) -> Info:
    """What the receivers know of all clients, and of the active ones that have ``done`` something."""
    parent, airtime = sim.topology.parents[0], plan.airtime
    announced = {name: rows for name, rows in work.signals.items() if name in sim.algorithm.reveals}
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


def repeat(sim: Simulation, work: Working, plan: Plan) -> None:
    """Nobody sends, but the receivers remember: they step on the contributions that they have."""
    nobody = torch.zeros(0, dtype=torch.long)
    done: Slots = {name: nobody for name in ("steps", "updates", "effective", "rate") if name in sim.algorithm.reveals}
    w = next(iter(work.shared[0].values()))
    rows = w.new_zeros(0, sim.algorithm.blocks, w.shape[1])
    total = w.new_zeros(len(w), *rows.shape[1:])
    merge(sim, work, 0, plan, Delivery(total, rows, None), _info(sim, work, plan, nobody, done))


def heard_weight(sim: Simulation, h: int, plan: Plan, weight: Tensor, ids: Tensor) -> Tensor:
    """What each sender counts ``[A]``: its weight, on the air times its share of the air."""
    return weight * plan.airtime.expect[ids] if "superposition" in sim.hops[h].link.offers else weight


def send_changes(sim: Simulation, work: Working, h: int, plan: Plan) -> tuple[Tensor, Tensor, Tensor, None]:
    """Outer hops: each node with news sends the change of every shared vector since it was handed down."""
    ids = plan.alloc.active.nonzero().squeeze(1)
    parent = sim.topology.parents[h][ids]
    there, above = ids.to(sim.device), parent.to(sim.device)
    payload = torch.stack([rows[there] - work.shared[h][name][above] for name, rows in work.shared[h - 1].items()], 1)
    mass = _standing(sim, work, h) if sim.algorithm.relay == "standing" else work.mass[h - 1] * plan.airtime.arrived
    share = group_share(mass, sim.topology.parents[h], sim.topology.receivers(h))
    weight = (share * plan.airtime.arrived)[ids]
    side = work.side[h - 1]
    if side is not None:
        merge_side(work, h, side[there], heard_weight(sim, h, plan, weight, ids), parent)
    return payload, weight, ids, None


def _standing(sim: Simulation, work: Working, h: int) -> Tensor:
    """Mass ``[S_h]`` of all clients below each sender of an outer hop, whether they took part or not."""
    known = {name: rows for name, rows in work.signals.items() if name in sim.algorithm.reveals}
    mass = sim.algorithm.importance(known, sim.topology.clients)
    for i in range(h):
        mass = group_sum(mass, sim.topology.parents[i], sim.topology.receivers(i))
    return mass


def merge(sim: Simulation, work: Working, h: int, plan: Plan, delivery: Delivery, info: Info | None) -> None:
    """Hop 0 merges as the algorithm says; outer hops add the relayed changes. Masses move up."""
    if info is not None:
        work.shared[0], work.ledger, published = sim.algorithm.merge(work.shared[0], work.ledger, delivery, info)
        work.signals, work.published = work.signals | published, published
        mass = sim.algorithm.importance(info.known, len(info.ids)) * info.arrived
        work.mass[0] = work.mass[0] + group_sum(mass, info.group, info.receivers)
        return
    work.shared[h] = {
        name: rows + delivery.total[:, block] for block, (name, rows) in enumerate(work.shared[h].items())
    }
    below = group_sum(work.mass[h - 1] * plan.airtime.arrived, sim.topology.parents[h], sim.topology.receivers(h))
    work.mass[h] = work.mass[h] + below

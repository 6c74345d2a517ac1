"""One round of federated learning as a function of parts and state, without I/O.

``climb(h)`` runs the hop below ``period`` times, then one exchange of hop ``h``, then broadcasts the result. Merging
happens on hop 0; outer hops relay the change of every shared vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from fedradio.core.contracts import Clock, ExchangeRecord, Memory, RoundRecord, SimState, Slots
from fedradio.core.errors import DivergenceError
from fedradio.core.mapped import make_room, release_memory
from fedradio.core.units import add
from fedradio.engine.threads import one_torch_thread
from fedradio.rounds import accounts
from fedradio.rounds.cohort import client_slots
from fedradio.rounds.evaluation import evaluation
from fedradio.rounds.exchange import (
    data_signals,
    heard_weight,
    merge,
    merge_remembered,
    plan_exchange,
    send_changes,
    send_clients,
)
from fedradio.rounds.label_drift import start_signals
from fedradio.rounds.norm_layers import norm_bits, sends_norms
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import NORMS, Tiers, hand_down, open_round


def begin(sim: Simulation) -> SimState:
    """Initial state, before the first round."""
    row = sim.model.init(sim.rng.child("model")).to(sim.device)
    memory = sim.algorithm.init(row[: sim.model.shared.size].clone(), sim.topology.clients)
    norms = {NORMS: row[sim.model.shared.size :].clone()} if sends_norms(sim) else {}
    client = make_room(memory.client | client_slots(sim, row))
    memory = replace(memory, shared=memory.shared | norms, client=client)
    policy = tuple(hop.policy.start(sim.topology.senders(h)) for h, hop in enumerate(sim.hops))
    stream = sim.stream.start()
    observed = data_signals(sim, stream)
    unknown = torch.full((sim.topology.clients,), torch.nan, dtype=torch.float64)
    signals = dict.fromkeys(("loss", *sorted(sim.algorithm.publishes)), unknown) | observed
    return SimState(0, 0.0, 0.0, 0.0, memory, stream, policy, signals | start_signals(observed))


def run_round(
    sim: Simulation, state: SimState, evaluate: bool = True
) -> tuple[SimState, RoundRecord, list[ExchangeRecord]]:
    """Run one round. ``state`` must not be used again: its client and ledger tensors are updated in place."""
    last = len(sim.hops) - 1
    tiers = open_round(sim, state)
    with one_torch_thread():
        climb(sim, tiers, last)
    shared = {name: rows[0] for name, rows in tiers.shared[last].items()}
    norms = tiers.norms[last]
    shared |= {} if norms is None else {NORMS: norms[0]}
    _refuse_divergence(shared, state.t)
    record = _round_record(sim, tiers)
    memory = Memory(shared, tiers.client, tiers.ledger)
    after = SimState(
        t=state.t + 1,
        time_s=add(state.time_s, record.time_s),
        energy_j=add(state.energy_j, record.energy_j),
        bits=add(state.bits, _sum(record.bits)),
        memory=memory,
        stream=tiers.stream,
        policy=tuple(tiers.policy),
        signals=tiers.signals,
    )
    if evaluate:
        result = evaluation(sim, after)
        record = replace(record, metrics=result.metrics, groups=result.groups)
        if not all(map(math.isfinite, record.metrics.values())):
            raise DivergenceError(state.t, [], "the test loss")
    release_memory(memory.client)
    return after, record, tiers.exchanges


def iterate(sim: Simulation, rounds: int, eval_every: int = 1) -> Iterator[RoundRecord]:
    """Run from the initial state; yields one record a round."""
    state = begin(sim)
    for t in range(rounds):
        state, record, _ = run_round(sim, state, evaluate=(t + 1) % eval_every == 0 or t + 1 == rounds)
        yield record


def climb(sim: Simulation, tiers: Tiers, h: int) -> None:
    """All exchanges below hop ``h``, one exchange of hop ``h``, and the broadcast of its result."""
    if h > 0:
        for _ in range(sim.hops[h - 1].period):
            climb(sim, tiers, h - 1)
    exchange(sim, tiers, h)
    for i in range(h, 0, -1):
        hand_down(sim, tiers, i)


def exchange(sim: Simulation, tiers: Tiers, h: int) -> None:
    """One exchange of hop ``h``: plan, payloads, sums, merge or relay, accounts."""
    hop, parent, receivers = sim.hops[h], sim.topology.parents[h], sim.topology.receivers(h)
    clock = Clock(tiers.t, tiers.done[h])
    tiers.done[h] += 1
    planned = plan_exchange(sim, tiers, h, clock)
    alloc, airtime = planned.alloc, planned.airtime
    delivery, effective, tiers.published = None, [0.0] * receivers, {}
    tiers.notes = {}
    if bool(alloc.active.any()):
        send = send_clients if h == 0 else send_changes
        payload, weight, ids, info = send(sim, tiers, h, planned)
        group, air = parent[ids], sim.rng.child("air", h, clock.t, clock.e)
        delivery = hop.link.combine(payload, weight, ids, group, receivers, planned.channel, alloc, airtime, air)
        effective = accounts.effective_clients(heard_weight(sim, h, planned, weight, ids), group, receivers)
        merge(sim, tiers, h, planned, delivery, info)
    elif h == 0 and sim.algorithm.remembers:
        merge_remembered(sim, tiers, planned)
    if "weight" in tiers.published:  # of all whom the receivers remember
        effective = accounts.effective_clients(tiers.published["weight"], parent, receivers)
    times = accounts.receiver_times(hop, sim.waits, planned, parent, receivers)
    tiers.elapsed[h] = _later(tiers.elapsed[h], times)
    record = accounts.exchange_record(h, hop, planned, delivery, times, effective, tiers.notes | tiers.published)
    side_bits = norm_bits(sim, int(alloc.active.sum()))
    tiers.exchanges.append(record if side_bits is None else replace(record, bits=(record.bits or 0.0) + side_bits))


def _later(elapsed: Tensor | None, times: Tensor | None) -> Tensor | None:
    return None if elapsed is None or times is None else elapsed + times


def _round_record(sim: Simulation, tiers: Tiers) -> RoundRecord:
    hops = range(len(sim.hops))
    by_hop = [[record for record in tiers.exchanges if record.hop == h] for h in hops]
    compute = _sum([accounts.total_of(record.compute_j) for record in by_hop[0]])
    tx = [_sum([accounts.total_of(record.tx_j) for record in records]) for records in by_hop]
    elapsed = tiers.elapsed[-1]
    return RoundRecord(
        t=tiers.t,
        time_s=None if elapsed is None else float(elapsed[0]),
        energy_j=add(compute, _sum(tx)),
        compute_j=compute,
        tx_j=tx,
        bits=[_sum([record.bits for record in records]) for records in by_hop],
        train_loss=sum(tiers.losses) / len(tiers.losses) if tiers.losses else None,
        metrics={},
        groups={},
    )


def _sum(values: list[float | None]) -> float | None:
    total: float | None = 0.0
    for value in values:
        total = add(total, value)
    return total


def _refuse_divergence(shared: Slots, t: int) -> None:
    if not all(bool(torch.isfinite(vector.sum())) for vector in shared.values()):
        raise DivergenceError(t, [], "the model after merging")

"""One round, as a function of the parts and the state. No I/O, no printing.

``climb(h)`` runs the hop below ``period`` times, then one exchange of hop ``h``, then hands the result down. Merging
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
from fedradio.engine.threads import one_torch_thread
from fedradio.rounds import account, clients
from fedradio.rounds.drift import start_signals
from fedradio.rounds.metrics import evaluation
from fedradio.rounds.planning import data_signals, plan_exchange
from fedradio.rounds.senders import heard_weight, merge, repeat, send_changes, send_clients
from fedradio.rounds.side import side_bits, travels
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.slots import make_room, spare
from fedradio.rounds.working import SIDE, Working, hand_down, open_round


def begin(sim: Simulation) -> SimState:
    """The state before the first round."""
    row = sim.model.init(sim.rng.child("model")).to(sim.device)
    memory = sim.algorithm.init(row[: sim.model.shared.size].clone(), sim.topology.clients)
    norms = {SIDE: row[sim.model.shared.size :].clone()} if travels(sim) else {}
    client = make_room(memory.client | clients.client_slots(sim, row))
    memory = replace(memory, shared=memory.shared | norms, client=client)
    policy = tuple(hop.policy.start(sim.topology.senders(h)) for h, hop in enumerate(sim.hops))
    stream = sim.stream.start()
    known = data_signals(sim, stream)
    unknown = torch.full((sim.topology.clients,), torch.nan, dtype=torch.float64)
    signals = dict.fromkeys(("loss", *sorted(sim.algorithm.publishes)), unknown) | known
    return SimState(0, 0.0, 0.0, 0.0, memory, stream, policy, signals | start_signals(known))


def run_round(
    sim: Simulation, state: SimState, evaluate: bool = True
) -> tuple[SimState, RoundRecord, list[ExchangeRecord]]:
    """One round. ``state`` is spent: its client and ledger tensors are updated in place, not copied."""
    last = len(sim.hops) - 1
    work = open_round(sim, state)
    with one_torch_thread():
        climb(sim, work, last)
    shared = {name: rows[0] for name, rows in work.shared[last].items()}
    side = work.side[last]
    shared |= {} if side is None else {SIDE: side[0]}
    _refuse_divergence(shared, state.t)
    record = _round_record(sim, work)
    memory = Memory(shared, work.client, work.ledger)
    after = SimState(
        t=state.t + 1,
        time_s=account.add(state.time_s, record.time_s),
        energy_j=account.add(state.energy_j, record.energy_j),
        bits=account.add(state.bits, _sum(record.bits)),
        memory=memory,
        stream=work.stream,
        policy=tuple(work.policy),
        signals=work.signals,
    )
    if evaluate:
        found = evaluation(sim, after)
        record = replace(record, metrics=found.metrics, groups=found.groups)
        if not all(map(math.isfinite, record.metrics.values())):
            raise DivergenceError(state.t, [], "the test loss")
    spare(memory.client)
    return after, record, work.exchanges


def iterate(sim: Simulation, rounds: int, eval_every: int = 1) -> Iterator[RoundRecord]:
    """Run from the start, one record a round."""
    state = begin(sim)
    for t in range(rounds):
        state, record, _ = run_round(sim, state, evaluate=(t + 1) % eval_every == 0 or t + 1 == rounds)
        yield record


def climb(sim: Simulation, work: Working, h: int) -> None:
    """Everything that leads to one exchange of hop ``h``, the exchange, and the way back down."""
    if h > 0:
        for _ in range(sim.hops[h - 1].period):
            climb(sim, work, h - 1)
    exchange(sim, work, h)
    for i in range(h, 0, -1):
        hand_down(sim, work, i)


def exchange(sim: Simulation, work: Working, h: int) -> None:
    """One run of a hop: plan, payloads, sums, merge or relay, accounts."""
    hop, parent, receivers = sim.hops[h], sim.topology.parents[h], sim.topology.receivers(h)
    clock = Clock(work.t, work.done[h])
    work.done[h] += 1
    plan = plan_exchange(sim, work, h, clock)
    alloc, airtime = plan.alloc, plan.airtime
    delivery, effective, work.published = None, [0.0] * receivers, {}
    work.noted = {}
    if bool(alloc.active.any()):
        send = send_clients if h == 0 else send_changes
        payload, weight, ids, info = send(sim, work, h, plan)
        group, air = parent[ids], sim.rng.child("air", h, clock.t, clock.e)
        delivery = hop.link.combine(payload, weight, ids, group, receivers, plan.channel, alloc, airtime, air)
        effective = account.effective_clients(heard_weight(sim, h, plan, weight, ids), group, receivers)
        merge(sim, work, h, plan, delivery, info)
    elif h == 0 and sim.algorithm.remembers:
        repeat(sim, work, plan)
    if "weight" in work.published:  # of all whom the receivers remember
        effective = account.effective_clients(work.published["weight"], parent, receivers)
    times = account.receiver_times(hop, sim.clock, plan, parent, receivers)
    work.elapsed[h] = _later(work.elapsed[h], times)
    record = account.exchange_record(h, hop, plan, delivery, times, effective, work.noted | work.published)
    beside = side_bits(sim, int(alloc.active.sum()))
    work.exchanges.append(record if beside is None else replace(record, bits=(record.bits or 0.0) + beside))


def _later(elapsed: Tensor | None, times: Tensor | None) -> Tensor | None:
    return None if elapsed is None or times is None else elapsed + times


def _round_record(sim: Simulation, work: Working) -> RoundRecord:
    hops = range(len(sim.hops))
    mine = [[record for record in work.exchanges if record.hop == h] for h in hops]
    compute = _sum([account.total_of(record.compute_j) for record in mine[0]])
    tx = [_sum([account.total_of(record.tx_j) for record in records]) for records in mine]
    elapsed = work.elapsed[-1]
    return RoundRecord(
        t=work.t,
        time_s=None if elapsed is None else float(elapsed[0]),
        energy_j=account.add(compute, _sum(tx)),
        compute_j=compute,
        tx_j=tx,
        bits=[_sum([record.bits for record in records]) for records in mine],
        train_loss=sum(work.losses) / len(work.losses) if work.losses else None,
        metrics={},
        groups={},
    )


def _sum(values: list[float | None]) -> float | None:
    total: float | None = 0.0
    for value in values:
        total = account.add(total, value)
    return total


def _refuse_divergence(shared: Slots, t: int) -> None:
    if not all(bool(torch.isfinite(vector.sum())) for vector in shared.values()):
        raise DivergenceError(t, [], "the model after merging")

"""One round of federated learning as a function of parts and state, without I/O.

A hop is run ``period`` times for one exchange of the hop above, whose result is handed down. Every exchange is made of
eight verbs on plain values; each returns a value, and only ``commit`` writes rows in place.

========== ============================================== =============================== =================
verb       takes                                          gives                           file
========== ============================================== =============================== =================
observe    state, tiers, clock                            what can be known before        rounds/planning
broadcast  the observation                                who has the model, and when     rounds/planning
decide     the observation                                an allocation                   rounds/planning
finalise   observation and allocation                     a plan: who will arrive, when   rounds/planning
work       the plan                                       updates, and rows to be written rounds/work
gather     the updates, and those in flight               the updates to be merged now    rounds/gather
merge      these updates                                  the receivers' tier after it    rounds/merge
record     plan, updates and merge                        seconds, joules, bits, reasons  rounds/accounts
========== ============================================== =============================== =================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedradio.algorithms.ledger import published_names, start_memory
from fedradio.core.contracts import (
    Allocation,
    CacheRecord,
    Clock,
    EvaluationRecord,
    ExchangeRecord,
    RoundRecord,
    SimState,
    Slots,
)
from fedradio.core.errors import DivergenceError, FedradioError, OwnCodeError
from fedradio.core.mapped import make_room, release_memory
from fedradio.core.part_files import failure_in_parts
from fedradio.core.units import add
from fedradio.engine.threads import one_torch_thread
from fedradio.rounds import accounts
from fedradio.rounds.caching import cache_metrics, count_learning, forget_since, serve_edge_round, start_cache
from fedradio.rounds.cohort import client_slots
from fedradio.rounds.commit import commit
from fedradio.rounds.evaluation import evaluation
from fedradio.rounds.gather import gather, start_tasks
from fedradio.rounds.label_drift import start_signals
from fedradio.rounds.merge import merge
from fedradio.rounds.norm_layers import NORMS, sends_norms
from fedradio.rounds.parts import CACHE, CLIENTS, STREAM, TASKS, recall, start_parts
from fedradio.rounds.planning import Observation, broadcast, data_signals, decide, finalise, observe
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers, hand_down, put, start_tiers, top_vectors
from fedradio.rounds.work import work


@dataclass(frozen=True)
class Round:
    """A round under way: the state so far, the tiers, how many exchanges of every hop are ``done``, and what was
    recorded: exchanges, the mean training loss of each of hop 0, and what caches did."""

    state: SimState
    tiers: Tiers
    done: tuple[int, ...]
    records: tuple[ExchangeRecord, ...] = ()
    losses: tuple[float, ...] = ()
    caches: tuple[CacheRecord, ...] = ()


def begin(sim: Simulation) -> SimState:
    """Initial state, before the first round."""
    row = sim.model.init(sim.rng.child("model")).to(sim.device)
    w = row[: sim.model.shared.size].clone()
    memory = start_memory(sim.algorithm, w, sim.topology.clients, sim.topology.receivers(0))
    norms = {NORMS: row[sim.model.shared.size :].clone()} if sends_norms(sim) else {}
    here = {} if sim.clients is not None else memory.client | client_slots(sim, row, sim.topology.clients)
    client = make_room(here)
    memory = replace(memory, shared=memory.shared | norms, client=client, receiver=make_room(memory.receiver))
    parts = start_parts(sim, w)
    if sim.clients is not None and (kept := sim.clients.start(sim.topology.clients)):
        parts[CLIENTS] = make_room(kept)
    if sim.cache is not None:
        parts[CACHE] = make_room(start_cache(sim, sim.cache))
    observed = data_signals(sim, recall(parts, STREAM))
    unknown = torch.full((sim.topology.clients,), torch.nan, dtype=torch.float64)
    signals = dict.fromkeys(("loss", *sorted(published_names(sim.algorithm))), unknown) | observed
    signals |= start_signals(observed)
    if sim.hops[0].gather.carries:
        parts[TASKS] = make_room(start_tasks(sim, signals, row))
    return SimState(0, 0.0, 0.0, 0.0, memory, signals, parts)


def run_round(
    sim: Simulation, state: SimState, evaluate: bool = True
) -> tuple[SimState, RoundRecord, list[ExchangeRecord]]:
    """Run one round. ``state`` must not be used again: rows of clients and parts are updated in place.

    Where code of the user's own fails, :class:`OwnCodeError` says in which round.
    """
    with _own_failures(state.t + 1):
        now = open_round(sim, state)
        with one_torch_thread():
            for h in order(sim):
                now = exchange(sim, now, h)
        return close_round(sim, now, evaluate)


@contextmanager
def _own_failures(number: int) -> Iterator[None]:
    """Name the round in which code of the user's own fails: a module, or a part from a file."""
    try:
        yield
    except OwnCodeError as error:
        raise OwnCodeError(f"round {number}: {error}") from error
    except FedradioError:
        raise
    except Exception as error:
        if (place := failure_in_parts(error)) is None:
            raise
        raise OwnCodeError(f"round {number}: {place}") from error


def open_round(sim: Simulation, state: SimState) -> Round:
    """A round of which no exchange has been made. ``state`` must not be used again."""
    return Round(state, start_tiers(sim.topology, state.memory), (0,) * len(sim.hops))


def close_round(
    sim: Simulation, now: Round, evaluate: bool = True
) -> tuple[SimState, RoundRecord, list[ExchangeRecord]]:
    """The state and the records after a round of which all exchanges have been made."""
    state, shared, spent = now.state, top_vectors(now.tiers), _spent(sim, now)
    _refuse_divergence(shared, state.t)
    after = replace(
        state,
        t=state.t + 1,
        time_s=add(state.time_s, spent.time_s),
        energy_j=add(state.energy_j, spent.energy_j),
        bits=add(state.bits, _sum(spent.bits)),
        memory=replace(state.memory, shared=shared),
    )
    after = count_learning(sim, after, spent.bits)
    evaluated = _evaluation_record(sim, after) if evaluate else None
    after = forget_since(after) if evaluate else after
    for slots in (after.memory.client, *after.parts.values()):
        release_memory(slots)
    losses = now.losses
    record = RoundRecord(
        t=state.t,
        **vars(spent),
        train_loss=sum(losses) / len(losses) if losses else None,
        evaluation=evaluated,
        caches=now.caches,
    )
    return after, record, list(now.records)


def _evaluation_record(sim: Simulation, after: SimState) -> EvaluationRecord:
    """Scores of the state after a round, with the metrics of the caches; diverged ones are refused."""
    result = (None if sim.clients is None else sim.clients.evaluate(sim, after)) or evaluation(sim, after)
    metrics = result.metrics | cache_metrics(after)
    if not all(map(math.isfinite, metrics.values())):
        raise DivergenceError(after.t - 1, [], "the test loss")
    return EvaluationRecord(
        after.t, metrics, result.groups, time_s=after.time_s, energy_j=after.energy_j, bits=after.bits
    )


def iterate(sim: Simulation, rounds: int, eval_every: int = 1) -> Iterator[RoundRecord]:
    """Run from the initial state; yields one record a round."""
    state = begin(sim)
    for t in range(rounds):
        state, record, _ = run_round(sim, state, evaluate=(t + 1) % eval_every == 0 or t + 1 == rounds)
        yield record


def order(sim: Simulation, top: int | None = None) -> Iterator[int]:
    """The hops of a round's exchanges, one after the other: ``period`` of the hop below, then one of the hop itself.

    By hand: two hops, of which hop 0 has period 2, give 0, 0, 1.
    """
    h = len(sim.hops) - 1 if top is None else top
    for _ in range(sim.hops[h - 1].period if h > 0 else 0):
        yield from order(sim, h - 1)
    yield h


def exchange(sim: Simulation, now: Round, h: int) -> Round:
    """One exchange of hop ``h``, decided by the hop's policy."""
    seen, state = observe(sim, now.state, now.tiers, h, next_clock(sim, now, h))
    seen = broadcast(seen)
    alloc, memory = decide(sim, state, seen)
    return carry_out(sim, replace(now, state=state), seen, alloc, memory)


def next_clock(sim: Simulation, now: Round, h: int) -> Clock:
    """The clock of the next exchange of hop ``h``."""
    return sim.clock(h, now.state.t, now.done[h], add(now.state.time_s, now.tiers[h].latest_s))


def carry_out(sim: Simulation, now: Round, seen: Observation, alloc: Allocation, memory: Slots) -> Round:
    """The exchange that was ``seen`` and in which ``alloc`` was decided; ``memory`` is that of the policy after it."""
    tiers, h, caches = now.tiers, seen.view.hop, now.caches
    planned, state = finalise(sim, now.state, seen, alloc, memory)
    if h == 0 and sim.cache is not None:
        cached, state = serve_edge_round(sim, state, tiers, planned.stream_before, planned.x.clock)
        caches = (*caches, cached)
    updates, writes = work(sim, state, tiers, planned)
    commit(state, writes)
    gathering, writes = gather(sim, state, planned, updates, accounts.receiver_times(planned, sim.waits))
    commit(state, writes)
    merged, state = merge(sim, state, tiers[h], planned, gathering.updates)
    record = accounts.exchange_record(sim, planned, updates, merged, gathering.times_s)
    tier = replace(merged.tier, elapsed_s=_later(merged.tier.elapsed_s, gathering.times_s))
    tiers = hand_down(sim.topology, put(tiers, h, tier), h)
    done = tuple(n + (i == h) for i, n in enumerate(now.done))
    losses = now.losses if updates.mean_loss is None else (*now.losses, updates.mean_loss)
    return Round(state, tiers, done, (*now.records, record), losses, caches)


def _later(elapsed: Tensor | None, times: Tensor | None) -> Tensor | None:
    return None if elapsed is None or times is None else elapsed + times


@dataclass(frozen=True)
class Spent:
    """Seconds, joules and bits of a round, as in its record."""

    time_s: float | None
    energy_j: float | None
    compute_j: float | None
    tx_j: list[float | None]
    wait_j: list[float] | None
    bits: list[float | None]


def _spent(sim: Simulation, now: Round) -> Spent:
    """What the exchanges of a round took in all."""
    hops = range(len(sim.hops))
    by_hop = [[record for record in now.records if record.hop == h] for h in hops]
    compute = _sum([accounts.total_of(record.compute_j) for record in by_hop[0]])
    tx = [_sum([accounts.total_of(record.tx_j) for record in records]) for records in by_hop]
    wait = [sum((accounts.total_of(record.wait_j) or 0.0 for record in records), 0.0) for records in by_hop]
    waits = any(record.wait_j is not None for record in now.records)
    elapsed = now.tiers[-1].elapsed_s
    return Spent(
        time_s=None if elapsed is None else float(elapsed[0]),
        energy_j=add(add(compute, _sum(tx)), sum(wait)),
        compute_j=compute,
        tx_j=tx,
        wait_j=wait if waits else None,
        bits=[_sum([record.bits for record in records]) for records in by_hop],
    )


def _sum(values: list[float | None]) -> float | None:
    total: float | None = 0.0
    for value in values:
        total = add(total, value)
    return total


def _refuse_divergence(shared: Slots, t: int) -> None:
    if not all(bool(torch.isfinite(vector.sum())) for vector in shared.values()):
        raise DivergenceError(t, [], "the model after merging")

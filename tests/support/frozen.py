"""Caches with a model that no longer learns: slots are served one after the other, nothing is trained."""

from __future__ import annotations

from dataclasses import replace

from fedradio.core.contracts import Cache, CacheRecord, SimState
from fedradio.data.growing import Growing
from fedradio.data.streams import arrivals_rng
from fedradio.rounds.caching import serve_edge_round, start_cache
from fedradio.rounds.parts import CACHE, STREAM, recall, remember
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import start_tiers


def with_cache(sim: Simulation, cache: Cache, slots: int = 1) -> Simulation:
    """The simulation with these caches, and so many slots an edge round."""
    stream = sim.stream
    assert isinstance(stream, Growing)
    return replace(sim, cache=cache, stream=Growing(stream.tapes, stream.history, slots, stream.activity))


def begun(sim: Simulation, state: SimState) -> SimState:
    """The state with empty caches."""
    assert sim.cache is not None
    return replace(state, parts=state.parts | {CACHE: start_cache(sim, sim.cache)})


def serve(sim: Simulation, state: SimState, edge_rounds: int, first: int) -> tuple[list[CacheRecord], SimState]:
    """So many edge rounds from round number ``first`` on, each a round of its own."""
    records, tiers = [], start_tiers(sim.topology, state.memory)
    for t in range(first, first + edge_rounds):
        clock, before = sim.clock(0, t), recall(state.parts, STREAM)
        state = remember(state, STREAM, sim.stream.arrive(before, clock, arrivals_rng(sim.rng, clock)))
        record, state = serve_edge_round(sim, state, tiers, before, clock)
        records.append(record)
    return records, state


def expected(records: list[CacheRecord]) -> dict[str, float]:
    """Hit ratio by the true law of every shelf."""
    wanted = sum(sum(record.wanted) for record in records)
    return {label: sum(sum(r.shelves[label].expected) for r in records) / wanted for label in records[0].shelves}


def hits(records: list[CacheRecord]) -> dict[str, float]:
    """Hit ratio of every shelf."""
    requests = sum(sum(record.requests) for record in records)
    return {label: sum(sum(r.shelves[label].hits) for r in records) / requests for label in records[0].shelves}

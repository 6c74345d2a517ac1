"""Caches of an edge round: slot after slot they are placed, then serve the slot's requests by rising client number.

Every placement and capacity sees the same requests; none touches learning. Counts and recency move with every request,
scores are frozen from one placement to the next. Caches begin empty.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from fedradio.core.contracts import (
    Cache,
    CacheRecord,
    CacheView,
    Clock,
    RequestStream,
    ShelfRecord,
    SimState,
    Slots,
)
from fedradio.core.contracts.placement import ACCESS_CONTROL_BITS, BACKHAUL_CONTROL_BITS, CHARGING_BITS, FETCH_BITS
from fedradio.core.units import add
from fedradio.placements.service import delivery_s, placed, scores_of, serve
from fedradio.rounds.forecasting import Foreseen, SlotForecasts, SlotRequests, slot_requests, stream_files
from fedradio.rounds.parts import CACHE, STREAM, recall, remember
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PER_EDGE = ("hits", "misses", "moved", "expected", "miss_bits", "moved_bits", "seconds")
COUNTED = ("hits", "misses", "moved")
"""What is tallied of a shelf for every edge, and which of it are whole numbers."""


def start_cache(sim: Simulation, cache: Cache) -> Slots:
    """Memory of the caches before the first round: nothing is held, nothing was asked for.

    ``held [shelves, R, N]``, ``scores [placements, R, N]`` of the last placement, ``counts`` and ``used [R, N]``,
    ``recent [R, W]`` (where a placement looks at a window), ``asked`` and ``passed [C]`` requests and chances of every
    client, ``since [3]``: requests, hits and backhaul bits of the first shelf since the last evaluation.
    """
    edges, files, clients = sim.topology.receivers(0), stream_files(sim), sim.topology.clients
    shelves, window = len(list(cache.shelves())), cache.window
    memory = {
        "held": torch.zeros(shelves, edges, files, dtype=torch.bool),
        "scores": torch.zeros(len(cache.placements), edges, files, dtype=torch.float64),
        "counts": torch.zeros(edges, files, dtype=torch.int64),
        "used": torch.full((edges, files), -1, dtype=torch.int64),
        "asked": torch.zeros(clients, dtype=torch.int64),
        "passed": torch.zeros(clients, dtype=torch.int64),
        "since": torch.zeros(3, dtype=torch.float64),
    }
    return memory | ({"recent": torch.full((edges, window), -1, dtype=torch.int64)} if window else {})


def serve_edge_round(
    sim: Simulation, state: SimState, tiers: Tiers, before: Slots, clock: Clock
) -> tuple[CacheRecord, SimState]:
    """Place caches and serve the requests that arrived since the stream was in state ``before``."""
    cache, stream = sim.cache, sim.stream
    assert cache is not None
    assert isinstance(stream, RequestStream)
    rng = sim.rng.child("cache", "slots", clock.t, clock.e)
    requests = slot_requests(stream, before, recall(state.parts, STREAM), clock, rng)
    placing = [s for s in range(requests.slots) if _places(cache, clock, s)]
    caches = _Caches(sim, cache, recall(state.parts, CACHE), requests)
    foreseen = Foreseen(sim, cache, state, tiers, requests, placing)
    tally = {name: np.zeros((len(caches.shelves), caches.edges)) for name in PER_EDGE}
    wanted = np.zeros(caches.edges)
    for slot in range(requests.slots):
        true, more = caches.slot(slot, clock, foreseen, slot in placing)
        wanted += true
        tally = {name: tally[name] + more[name] for name in PER_EDGE}
    return caches.record(clock, len(placing), wanted, tally), remember(state, CACHE, caches.memory(tally))


def _places(cache: Cache, clock: Clock, slot: int) -> bool:
    """Whether caches are placed before this slot of an edge round."""
    return cache.every == "slot" or (slot == 0 and (cache.every == "edge_round" or clock.e == 0))


class _Caches:
    """The caches of an edge round under way."""

    def __init__(self, sim: Simulation, cache: Cache, memory: Slots, requests: SlotRequests) -> None:
        self.sim, self.cache, self.requests = sim, cache, requests
        self.stream = sim.stream
        self.parent = sim.topology.parents[0]
        self.edges, self.files = sim.topology.receivers(0), stream_files(sim)
        self.sizes: Floats = cache.sizes(self.files).numpy()
        self.now = {name: tensor.clone() for name, tensor in memory.items()}
        self.held: NDArray[np.bool_] = self.now["held"].numpy()
        self.counts: Ints = self.now["counts"].numpy()
        self.used: Ints = self.now["used"].numpy()
        self.shelves = list(cache.shelves())
        self.asked = np.zeros(self.edges, np.int64)

    def slot(self, slot: int, clock: Clock, foreseen: Foreseen, placing: bool) -> tuple[Floats, dict[str, Floats]]:
        """Place, if it is time to, and serve the requests of a slot: the requests that every edge had to expect,
        ``[R]``, and the tallies of the slot, each ``[shelves, R]``."""
        view = self._view(slot, clock, foreseen)
        tally: dict[str, Floats] = {name: np.zeros((len(self.shelves), self.edges)) for name in PER_EDGE}
        true: Floats = view.demand("law", view.activity).numpy()
        if placing:
            tally |= self._place(view)
        tally["expected"] = np.where(self.held, true, 0.0).sum(axis=2)
        client, file = self.requests.of(slot)
        edge = self.parent.numpy()[client]
        stamp = self._count(edge, file)
        bits = self.sizes[file]
        for number, (_, p, capacity) in enumerate(self.shelves):
            recency = self.cache.placements[p].recency
            value = self._used_before.astype(np.float64) if recency else self.now["scores"][p].numpy()
            hit = serve(self.held[number], value, capacity, edge, file, stamp if recency else None)
            seconds = delivery_s(hit, edge, bits, self.cache.access_bps, self.cache.backhaul_bps, self.cache.core_s)
            amounts = {"hits": hit, "misses": ~hit, "miss_bits": bits * ~hit, "seconds": seconds}
            for name, amount in amounts.items():
                tally[name][number] = np.bincount(edge, amount, minlength=self.edges)
        return true.sum(axis=1), tally

    def _view(self, slot: int, clock: Clock, foreseen: Foreseen) -> CacheView:
        """What placements see before a slot."""
        assert isinstance(self.stream, RequestStream)
        requests, may = self.requests, torch.from_numpy(self.requests.open(slot))
        asked = self.now["asked"] + torch.from_numpy(requests.done(slot))
        passed = self.now["passed"] + torch.from_numpy(np.minimum(slot, requests.chances))
        rate = ((1 + asked) / (2 + passed).double()).clamp(max=1.0)
        return CacheView(
            parent=self.parent,
            receivers=self.edges,
            rate=torch.where(may, rate, 0.0),
            activity=torch.where(may, self.stream.request_rate, 0.0),
            counts=self.now["counts"],
            used=self.now["used"],
            recent=self.now.get("recent", self.now["used"].new_zeros(self.edges, 0)),
            foresee=SlotForecasts(foreseen, slot),
            rng=self.sim.rng.child("cache", "place", clock.t, clock.e, slot),
        )

    def _place(self, view: CacheView) -> dict[str, Floats]:
        """Files and bits that are prefetched by new scores of every placement, each ``[shelves, R]``."""
        moved_files, moved_bits = np.zeros((2, len(self.shelves), self.edges))
        for p, placement in enumerate(self.cache.placements):
            self.now["scores"][p] = scores_of(placement, view, self.files)
        for number, (_, p, capacity) in enumerate(self.shelves):
            price, score = self.cache.placements[p].move_cost, self.now["scores"][p].numpy()
            if price is None or self.cache.placements[p].recency:
                continue
            for b in range(self.edges):
                after = placed(score[b], self.held[number, b], capacity, price)
                moved = after & ~self.held[number, b]
                moved_files[number, b] = moved.sum()
                moved_bits[number, b] = self.sizes[moved].sum()
                self.held[number, b] = after
        return {"moved": moved_files, "moved_bits": moved_bits}

    def _count(self, edge: Ints, file: Ints) -> Ints:
        """Count the requests of a slot; their numbers ``[n]`` at their edges."""
        self._used_before = self.used.copy()
        total, stamp = self.counts.sum(axis=1), np.empty(len(edge), np.int64)
        for i, (b, n) in enumerate(zip(edge.tolist(), file.tolist(), strict=True)):
            stamp[i] = self.used[b, n] = total[b]
            total[b] += 1
            self.counts[b, n] += 1
            self.asked[b] += 1
        if "recent" in self.now:
            recent = self.now["recent"]
            for b in range(self.edges):
                longer = torch.cat([recent[b], torch.from_numpy(file[edge == b])])
                recent[b] = longer[len(longer) - recent.shape[1] :]
        return stamp

    def memory(self, tally: dict[str, Floats]) -> Slots:
        """The memory after the edge round."""
        first = [float(tally[name][0].sum()) for name in ("hits", "miss_bits", "moved_bits")]
        requests = float(self.asked.sum())
        bits = (
            first[1]
            + first[2]
            + self._control(BACKHAUL_CONTROL_BITS + CHARGING_BITS)
            + (self._fetch_bits(tally, 0) or 0.0)
        )
        made = self.requests.made.sum(axis=0)
        return self.now | {
            "asked": self.now["asked"] + torch.from_numpy(made),
            "passed": self.now["passed"] + torch.from_numpy(self.requests.chances),
            "since": self.now["since"] + torch.tensor([requests, first[0], bits], dtype=torch.float64),
        }

    def _control(self, each: int) -> float:
        """Control bits of all requests under the privacy protocol."""
        return float(each * self.asked.sum()) if self.cache.protocol else 0.0

    def _fetch_bits(self, tally: dict[str, Floats], number: int) -> float | None:
        """Control bits of all files that a shelf fetched under the privacy protocol; None without."""
        files = tally["misses"][number].sum() + tally["moved"][number].sum()
        return float(FETCH_BITS * files) if self.cache.protocol else None

    def record(self, clock: Clock, placements: int, wanted: Floats, tally: dict[str, Floats]) -> CacheRecord:
        """The record of the edge round, in which caches were placed so many times, from its tallies."""
        stored = self.held @ self.sizes  # [shelves, R]
        reports = self.cache.report_bits(self.files) * self.sim.topology.clients * placements
        shelves = {}
        for number, (label, p, _) in enumerate(self.shelves):
            told = {name: tally[name][number] for name in PER_EDGE}
            lists = {k: (v.astype(np.int64) if k in COUNTED else v).tolist() for k, v in told.items()}
            bears = "model" in self.cache.placements[p].needs
            shelves[label] = ShelfRecord(
                **lists,
                stored_bits=stored[number].tolist(),
                report_bits=float(reports) if bears else 0.0,
                fetch_bits=self._fetch_bits(tally, number),
            )
        return CacheRecord(
            t=clock.t,
            e=clock.e,
            slots=self.requests.slots,
            requests=self.asked.tolist(),
            wanted=wanted.tolist(),
            files=int((self.counts.sum(axis=0) > 0).sum()),
            down_bits=down_bits(self.sim) if clock.e == 0 else 0.0,
            access_bits=self._control(ACCESS_CONTROL_BITS),
            control_bits=self._control(BACKHAUL_CONTROL_BITS + CHARGING_BITS),
            shelves=shelves,
        )


def down_bits(sim: Simulation) -> float | None:
    """Bits of the models that come down the backhaul in a round: all shared vectors, to every sender of an outer hop,
    after every exchange of it. None where a link sends no bits.

    The papers' downlink is free; a balance of backhaul traffic must count it.
    """
    total: float | None = 0.0
    for h in range(1, len(sim.hops)):
        each = sim.hops[h].link.bits(sim.message(h))
        copies = sim.exchanges(h) * sim.topology.senders(h)
        total = add(total, None if each is None else each * copies)
    return total


def learning_bits(bits: list[float | None], down: float | None) -> float | None:
    """Bits of learning on the backhaul in a round: those of the hops above the clients', up and ``down``."""
    total = down
    for each in bits[1:]:
        total = add(total, each)
    return total


def count_learning(sim: Simulation, state: SimState, hop_bits: list[float | None]) -> SimState:
    """The state with the bits of learning added to those of the first shelf, if it bears them; ``hop_bits`` went up."""
    cache = sim.cache
    if cache is None or "model" not in cache.placements[0].needs:
        return state
    bits = learning_bits(hop_bits, down_bits(sim))
    memory = recall(state.parts, CACHE)
    more = torch.tensor([0.0, 0.0, torch.nan if bits is None else bits], dtype=torch.float64)
    return remember(state, CACHE, memory | {"since": memory["since"] + more})


def cache_metrics(state: SimState) -> dict[str, float]:
    """``hit_ratio`` and ``net_bits`` of the first shelf since the last evaluation; absent where they are undefined."""
    memory = recall(state.parts, CACHE)
    if not memory:
        return {}
    requests, hits, bits = memory["since"].tolist()
    found = {"hit_ratio": hits / requests} if requests else {}
    return found | ({"net_bits": bits} if bits == bits else {})


def forget_since(state: SimState) -> SimState:
    """The state after an evaluation: the metrics of the caches begin anew."""
    memory = recall(state.parts, CACHE)
    return remember(state, CACHE, memory | {"since": torch.zeros_like(memory["since"])}) if memory else state

"""Caches beside learning: what must hold for every placement, whatever is requested."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch
from support.worlds import requesting

from fedradio.core.contracts import Cache, CacheRecord, Hop, SimState
from fedradio.core.contracts.placement import ACCESS_CONTROL_BITS
from fedradio.data.fifo import fifo
from fedradio.links.ideal import ideal
from fedradio.placements.kinds import cell_popular, lru, oracle, popular, predicted, random
from fedradio.policies.fixed import fixed
from fedradio.rounds.caching import cache_metrics, down_bits, learning_bits
from fedradio.rounds.parts import CACHE, STREAM
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation

EVERY = (predicted(move_cost=0), cell_popular(), popular(move_cost=0.1), lru(), oracle(), random())
FILES = 12
BUSY: dict[str, Any] = {"stream": partial(fifo, capacity=(40, 40), slots=40, at_end="repeat")}
"""Bounded buffers with many slots a round, and none in the first one."""


def served(sim: Simulation, rounds: int = 3) -> tuple[list[CacheRecord], SimState]:
    state, records = begin(sim), []
    for _ in range(rounds):
        state, record, _ = run_round(sim, state, evaluate=False)
        records += record.caches
    return records, state


def shelves(records: list[CacheRecord], name: str) -> dict[str, float]:
    """A quantity of every shelf over all edges and edge rounds."""
    return {label: sum(sum(getattr(r.shelves[label], name)) for r in records) for label in records[0].shelves}


def test_every_request_is_a_hit_or_a_miss() -> None:
    sim = requesting(cache=Cache(EVERY, (2, 4)))
    records, state = served(sim)
    start = sim.stream.start()["hi"]
    assert sum(sum(r.requests) for r in records) == int((state.parts[STREAM]["hi"] - start).sum())
    for record in records:
        for shelf in record.shelves.values():
            assert [h + m for h, m in zip(shelf.hits, shelf.misses, strict=True)] == record.requests
    memory = state.parts[CACHE]
    assert memory["counts"].sum(dim=1).tolist() == [sum(r.requests[b] for r in records) for b in range(2)]
    assert memory["asked"].sum() == memory["counts"].sum()
    assert memory["passed"].tolist() == [2 * 2 * 3] * 6
    assert (memory["held"].sum(dim=2) <= torch.tensor([2, 4] * 6)[:, None]).all()
    assert records[-1].files == int((memory["counts"].sum(dim=0) > 0).sum())


@pytest.mark.parametrize("seed", [1, 2])
def test_nobody_expects_more_hits_of_a_slot_than_who_knows_the_law(seed: int) -> None:
    """One slot an edge round; with more files ``oracle`` expects more, up to all that is wanted."""
    sim = requesting(seed=seed, slots=1, period=4, cache=Cache(EVERY, (1, 3, FILES)))
    records, _ = served(sim, 5)
    for record in records:
        best = {capacity: record.shelves[f"oracle {capacity}"].expected for capacity in (1, 3, FILES)}
        for label, shelf in record.shelves.items():
            for b, own in enumerate(shelf.expected):
                assert own <= best[int(label.split()[1])][b] + 1e-12
        for b in range(2):
            assert best[1][b] <= best[3][b] <= best[FILES][b] == pytest.approx(record.wanted[b])


def test_room_for_all_files() -> None:
    sim = requesting(cache=Cache((predicted(move_cost=0), cell_popular(), popular(), lru()), (FILES,)))
    records, state = served(sim, 4)
    assert records[0].shelves["predicted"].moved == [FILES] * 2
    assert shelves(records, "moved") == {"predicted": 2 * FILES, "cell_popular": 0, "popular": 0, "lru": 0}
    assert shelves(records, "misses")["predicted"] == 0
    once = int((state.parts[CACHE]["counts"] > 0).sum())  # every edge misses every file once
    assert once > 10
    assert {shelves(records, "misses")[name] for name in ("cell_popular", "popular", "lru")} == {once}


def test_by_lot_a_share_of_the_requests_hits() -> None:
    sim = requesting(cache=Cache((random(),), (3,)), **BUSY)
    records, _ = served(sim, 8)
    requests, hits = sum(sum(r.requests) for r in records), shelves(records, "hits")["random"]
    assert requests > 500
    assert hits / requests == pytest.approx(0.25, abs=3 * math.sqrt(0.1875 / requests))


def test_nothing_is_requested_in_the_first_round_of_a_buffer() -> None:
    sim = requesting(cache=Cache((predicted(), lru())), **BUSY)
    state = begin(sim)
    state, record, _ = run_round(sim, state)
    assert [r.slots for r in record.caches] == [0, 0]
    assert "hit_ratio" not in record.metrics
    assert "net_bits" in record.metrics  # those of learning
    state, record, _ = run_round(sim, state)
    assert [r.slots for r in record.caches] == [int(sim.stream.chances.max()), 0]  # type: ignore[attr-defined]
    assert 0 < record.metrics["hit_ratio"] < 1


def test_recency_keeps_its_hits_with_more_room() -> None:
    sim = requesting(cache=Cache((lru(),), (1, 2, 4, 8)))
    records, state = served(sim, 5)
    for record in records:
        hits = [record.shelves[f"lru {capacity}"].hits for capacity in (1, 2, 4, 8)]
        assert all(few <= more for low, high in pairwise(hits) for few, more in zip(low, high, strict=True))
    held = state.parts[CACHE]["held"]
    assert not (held[:-1] & ~held[1:]).any()


def test_other_placements_change_nothing() -> None:
    alone = served(requesting(cache=Cache((predicted(blend=0.5), random()))))[0]
    beside = served(requesting(cache=Cache((oracle(), random(), lru(), predicted(blend=0.5)))))[0]
    for one, two in zip(alone, beside, strict=True):
        for label in ("predicted", "random"):
            assert one.shelves[label] == two.shelves[label]


def test_learning_is_untouched() -> None:
    plain, cached = begin(sim := requesting()), begin(with_cache := requesting(cache=Cache(EVERY)))
    for _ in range(2):
        plain, record, exchanges = run_round(sim, plain)
        cached, cached_record, cached_exchanges = run_round(with_cache, cached)
        assert exchanges == cached_exchanges
        evaluation = cached_record.evaluation
        assert evaluation is not None
        metrics = {k: v for k, v in evaluation.metrics.items() if k not in ("hit_ratio", "net_bits")}
        evaluation = replace(evaluation, metrics=metrics)
        assert replace(cached_record, caches=(), evaluation=evaluation) == record
    assert plain.memory.shared["w"].equal(cached.memory.shared["w"])
    assert set(cached.parts) - set(plain.parts) == {CACHE}


@pytest.mark.parametrize("every", ["slot", "edge_round", "round"])
def test_when_caches_are_placed(every: Any) -> None:
    """A random placement moves whenever it is placed; reports are made then."""
    sim = requesting(slots=3, cache=Cache((random(), predicted()), (6,), every=every))
    records, _ = served(sim, 2)
    times = {"slot": [3, 3, 3, 3], "edge_round": [1, 1, 1, 1], "round": [1, 0, 1, 0]}[every]
    assert [r.shelves["predicted"].report_bits for r in records] == [32.0 * FILES * 6 * n for n in times]
    assert [sum(r.shelves["random"].moved) > 0 for r in records] == [n > 0 for n in times]
    assert all(r.shelves["random"].report_bits == 0 for r in records)


def test_bits_seconds_and_control() -> None:
    sizes = torch.arange(1.0, FILES + 1) * 1e6
    cache = Cache((cell_popular(),), (2,), file_bits=sizes, access_bps=1e6, backhaul_bps=1e6, core_s=0.5, protocol=True)
    records, state = served(requesting(slots=1, cache=cache), 2)
    requests = sum(sum(r.requests) for r in records)
    assert sum(r.access_bits for r in records) == requests * ACCESS_CONTROL_BITS
    assert sum(r.control_bits for r in records) == requests * 4000  # 3808 of the request and 192 of charging
    misses = shelves(records, "misses")["cell_popular"]
    assert sum(r.shelves["cell_popular"].fetch_bits or 0 for r in records) == 1312 * misses > 0
    asked = float((state.parts[CACHE]["counts"] * sizes).sum())
    bits, seconds, misses = (shelves(records, name)["cell_popular"] for name in ("miss_bits", "seconds", "misses"))
    assert 0 < bits <= asked
    assert seconds >= asked / 1e6 + misses * 0.5 + bits / 1e6  # and the waiting
    held = state.parts[CACHE]["held"][0].double() @ sizes.double()
    assert records[-1].shelves["cell_popular"].stored_bits == held.tolist()


def test_every_miss_waits_for_the_core_network_and_every_file_takes_its_own_size() -> None:
    """With and without ``core_s`` the seconds differ by that of every miss; ``moved_bits`` are sizes, not files."""
    sizes = torch.arange(1.0, FILES + 1) * 1e6
    usual = Cache((oracle(), lru()), (3,), file_bits=sizes)
    slow, fast = (served(requesting(cache=replace(usual, core_s=s)))[0] for s in (0.5, 0.0))
    for name, misses in shelves(slow, "misses").items():
        assert shelves(slow, "seconds")[name] - shelves(fast, "seconds")[name] == pytest.approx(0.5 * misses)
    first = served(requesting(slots=1, cache=replace(usual, capacity=(FILES,), placements=(oracle(),))), 1)[0][0]
    assert first.shelves["oracle"].moved == [FILES] * 2
    assert first.shelves["oracle"].moved_bits == [float(sizes.sum())] * 2
    equal = served(requesting(cache=replace(usual, file_bits=7.0)))[0]
    assert shelves(equal, "moved_bits")["oracle"] == 7 * shelves(equal, "moved")["oracle"] > 0


def test_the_last_requests_are_those_of_the_counts() -> None:
    """A window of all requests counts as none does; the edge's last request is the newest."""
    several = (cell_popular(window=1000, name="long"), cell_popular(), cell_popular(window=1, name="short"))
    records, state = served(requesting(cache=Cache(several, (2,))), 4)
    memory = state.parts[CACHE]
    for b, recent in enumerate(memory["recent"]):
        asked = recent[recent >= 0]
        assert torch.bincount(asked, minlength=FILES).equal(memory["counts"][b])
        assert int(asked[-1]) == int(memory["used"][b].argmax())
        assert (recent[: len(recent) - len(asked)] == -1).all()
    for record in records:
        assert record.shelves["long"] == record.shelves["cell_popular"]
    assert shelves(records, "hits")["short"] != shelves(records, "hits")["long"]


def test_the_rate_is_each_clients_own_estimate() -> None:
    """(1 + asked) / (2 + chances so far), before every slot; the counts are those of the slots before."""
    seen = []

    class Spy(type(oracle())):  # type: ignore[misc]
        def scores(self, view: Any) -> torch.Tensor:
            seen.append((view.rate.clone(), view.counts.sum().item(), view.activity))
            return super().scores(view)  # type: ignore[no-any-return]

    sim = requesting(slots=2, cache=Cache((Spy(),)))
    state = begin(sim)
    seen.clear()
    state, _, _ = run_round(sim, state, evaluate=False)
    assert len(seen) == 4
    assert seen[0][0].tolist() == [0.5] * 6
    assert seen[0][1] == 0
    activity = sim.stream.activity  # type: ignore[attr-defined]
    assert seen[0][2].tolist() == activity.tolist()
    for slot, (rate, counts, _) in enumerate(seen):
        assert float((rate * (2 + slot) - 1).sum()) == pytest.approx(counts)  # all that was asked for so far


def test_bits_of_learning() -> None:
    """One model of 33 bits a number to each of two edges and back."""
    sim = requesting(cache=Cache((predicted(),)), above=Hop(ideal(bits_per_value=33), fixed()))
    d = sim.model.shared.size
    assert down_bits(sim) == 2 * 33 * d
    assert learning_bits([5.0, 66.0 * d], down_bits(sim)) == 4 * 33 * d
    state, record, _ = run_round(sim, begin(sim))
    assert record.caches[0].down_bits == 66 * d
    assert record.caches[1].down_bits == 0
    shelf = [r.shelves["predicted"] for r in record.caches]
    files = sum(sum(s.miss_bits) + sum(s.moved_bits) for s in shelf)
    assert record.metrics["net_bits"] == files + 4 * 33 * d
    assert cache_metrics(state) == {"net_bits": 0.0}  # begins anew after an evaluation
    counted = requesting(cache=Cache((lru(),), file_bits=8.0, protocol=True))
    _, record, _ = run_round(counted, begin(counted))
    requests, misses = sum(sum(r.requests) for r in record.caches), shelves(list(record.caches), "misses")["lru"]
    assert record.metrics["net_bits"] == (8 + 1312) * misses + 4000 * requests
    ahead = requesting(cache=Cache((random(),), (3,), file_bits=8.0, protocol=True))
    _, record, _ = run_round(ahead, begin(ahead))
    missed, moved = (shelves(list(record.caches), name)["random"] for name in ("misses", "moved"))
    requests = sum(sum(r.requests) for r in record.caches)
    assert moved > 0
    assert record.metrics["net_bits"] == (8 + 1312) * (missed + moved) + 4000 * requests


def test_nothing_is_told_of_the_protocol_without_it() -> None:
    records, _ = served(requesting(cache=Cache((lru(),))), 1)
    assert records[0].shelves["lru"].fetch_bits is None


def test_no_backhaul_and_no_bits() -> None:
    flat_sim = requesting(cache=Cache((predicted(),)))
    assert down_bits(replace(flat_sim, hops=flat_sim.hops[:1])) == 0
    air = requesting(cache=Cache((predicted(), lru())), above=Hop(ideal(bits_per_value=None), fixed()))
    _, record, _ = run_round(air, begin(air))
    assert "net_bits" not in record.metrics
    assert record.caches[0].down_bits is None

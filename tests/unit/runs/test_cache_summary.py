"""The balance of caches, by hand."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import torch

from fedradio.core.contracts import Cache, CacheRecord, RoundRecord, ShelfRecord
from fedradio.placements.kinds import cell_popular, lru, oracle, predicted
from fedradio.runs.cache_summary import CacheSummary, RunningCache, stored_cache, summarised
from fedradio.runs.records import cache_row

SIZE = 10.0


def shelf(misses: int, moved: int = 0) -> ShelfRecord:
    """Four requests of two edges, of which so many are missed at the first."""
    return ShelfRecord(
        hits=[4 - misses, 0],
        misses=[misses, 0],
        moved=[moved, 0],
        expected=[1.0, 0.5],
        miss_bits=[SIZE * misses, 0.0],
        moved_bits=[SIZE * moved, 0.0],
        seconds=[2.0, 0.0],
        stored_bits=[0.0, 0.0],
        report_bits=7.0,
    )


def run(
    cache: Cache,
    rounds: list[dict[str, ShelfRecord]],
    up: float | None = 20.0,
    deadline: Any = None,
    down: float = 10.0,
) -> CacheSummary:
    """The summary of rounds of one edge round: learning takes so many bits ``up`` and ``down``."""
    running = RunningCache()
    for t, shelves in enumerate(rounds):
        each = CacheRecord(t, 0, 1, [4, 0], [2.0, 1.0], 3, down, 5.0, 2.0, shelves)
        record = RoundRecord(t, None, None, None, [], [100.0, up], None, caches=(each,))
        running.count(cache, record, deadline)
    return summarised(cache, running, len(rounds), 12)


TWO = Cache((predicted(), cell_popular()), file_bits=SIZE)


def test_totals_and_means() -> None:
    found = run(TWO, [{"predicted": shelf(1, 2), "cell_popular": shelf(3)}] * 2)
    assert (found.requests, found.files, found.catalogue) == (8, 3, 12)
    own, other = found.shelves["predicted"], found.shelves["cell_popular"]
    assert (own.hit_ratio, own.expected, own.seconds, own.files) == (0.75, 0.5, 0.5, 0.75)
    assert (own.miss_bits, own.moved_bits, own.learning_bits, own.control_bits) == (20, 40, 60, 4)
    assert own.net_bits == 124
    assert (other.net_bits, other.learning_bits, other.rival) == (64, 0, None)
    assert (own.knows, other.knows, own.report_bits) == ("model", "counts", 14)


def test_control_of_requests_and_of_fetched_files_by_hand() -> None:
    """Ten requests, 4 missed and 1 moved: 10 (3808 + 192) + 5 1312 bits; the rival missed 6 and pays 6 1312.

    Learning of 30 bits saves one file: files of 30 - 1312 bits would even out, so none does; 3000 bits do at 1688.
    """
    cache = Cache((predicted(), cell_popular()), file_bits=SIZE, protocol=True)

    def balance(learning: float) -> CacheSummary:
        own, other = (replace(shelf(m, n), fetch_bits=1312.0 * (m + n)) for m, n in ((4, 1), (6, 0)))
        each = CacheRecord(
            0, 0, 1, [10, 0], [2.0, 1.0], 3, learning, 5.0, 40_000.0, {"predicted": own, "cell_popular": other}
        )
        running = RunningCache()
        running.count(cache, RoundRecord(0, None, None, None, [], [100.0, 0.0], None, caches=(each,)), None)
        return summarised(cache, running, 1, 12)

    own, other = balance(30.0).shelves["predicted"], balance(30.0).shelves["cell_popular"]
    assert (own.control_bits, other.control_bits) == (46_560, 47_872)
    assert own.net_bits == 5 * SIZE + 46_560 + 30
    assert own.break_even_bits is None
    assert balance(3000.0).shelves["predicted"].break_even_bits == 1688


def test_what_is_not_counted_is_not_in_the_records() -> None:
    plain, counted = shelf(1), replace(shelf(1), fetch_bits=1312.0)
    row = cache_row(CacheRecord(0, 0, 1, [4, 0], [2.0, 1.0], 3, 0.0, 0.0, 0.0, {"lru": plain, "other": counted}))
    assert "fetch_bits" not in row["shelves"]["lru"]
    assert row["shelves"]["other"]["fetch_bits"] == 1312.0


def test_payback_and_break_even() -> None:
    """Learning takes 30 bits a round; two rounds save nothing, then four files of 10 bits are saved a round."""
    behind = {"predicted": shelf(2), "cell_popular": shelf(2)}
    saved = {"predicted": shelf(0), "cell_popular": shelf(4)}
    never = run(TWO, [behind] * 3).shelves["predicted"]
    assert (never.rival, never.payback, never.break_even_bits) == ("cell_popular", None, None)
    found = run(TWO, [behind, behind, *[saved] * 6]).shelves["predicted"]  # 60 behind, 10 less a round
    assert found.payback == 8
    assert found.break_even_bits == 240 / 24  # all learning over all files saved
    assert run(TWO, [saved]).shelves["predicted"].payback == 1
    back = run(TWO, [saved, behind, *[saved] * 2]).shelves["predicted"]  # it must stay so
    assert back.payback == 4
    sizes = Cache(TWO.placements, file_bits=torch.arange(1.0, 13.0))
    assert run(sizes, [saved]).shelves["predicted"].break_even_bits is None


def test_no_size_breaks_even_where_learning_takes_no_backhaul() -> None:
    found = run(TWO, [{"predicted": shelf(1), "cell_popular": shelf(3)}], up=0.0, down=0.0).shelves["predicted"]
    assert (found.learning_bits, found.payback, found.break_even_bits) == (0, 1, None)


def test_the_rival_is_the_best_that_needs_neither_model_nor_law() -> None:
    cache = Cache((predicted(), oracle(), lru(), cell_popular()), file_bits=SIZE)
    misses = {"predicted": 1, "oracle": 0, "lru": 2, "cell_popular": 3}
    found = run(cache, [{label: shelf(n) for label, n in misses.items()}])
    assert found.shelves["predicted"].rival == "lru"
    assert found.shelves["oracle"].knows == "law"
    assert found.shelves["oracle"].learning_bits == 0
    alone = run(Cache((predicted(), oracle())), [{"predicted": shelf(1), "oracle": shelf(0)}])
    assert alone.shelves["predicted"].rival is None
    assert alone.shelves["predicted"].payback is None


def test_rivals_have_the_same_capacity() -> None:
    cache = Cache((predicted(), lru()), (2, 4), file_bits=SIZE)
    shelves = {"predicted 2": shelf(3), "predicted 4": shelf(2), "lru 2": shelf(4), "lru 4": shelf(1)}
    found = run(cache, [shelves]).shelves
    assert (found["predicted 2"].rival, found["predicted 4"].rival) == ("lru 2", "lru 4")


def test_without_bits_or_requests_there_is_no_balance() -> None:
    found = run(TWO, [{"predicted": shelf(1), "cell_popular": shelf(3)}], up=None).shelves["predicted"]
    assert (found.net_bits, found.learning_bits, found.payback, found.break_even_bits) == (None, None, None, None)
    assert summarised(TWO, RunningCache(), 0, 12).shelves == {}


def test_moves_that_take_longer_than_the_edge_round() -> None:
    cache = Cache((predicted(),), file_bits=SIZE, backhaul_bps=1.0)
    rounds = [{"predicted": shelf(0, moved)} for moved in (1, 2, 3)]
    assert run(cache, rounds, deadline=20.0).shelves["predicted"].late == 1
    assert run(cache, rounds).shelves["predicted"].late == 0
    both = replace(shelf(0, 1), moved_bits=[15.0, 15.0])  # every edge has a backhaul of its own
    assert run(cache, [{"predicted": both}], deadline=20.0).shelves["predicted"].late == 0


def test_stored_and_read_again() -> None:
    found = run(TWO, [{"predicted": shelf(1, 2), "cell_popular": shelf(3)}])
    assert stored_cache(asdict(found)) == found
    assert stored_cache(None) is None

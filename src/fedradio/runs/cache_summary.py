"""The balance of caches: hits, seconds and all backhaul traffic of every placement, and whether learning has paid.

``net(t) = sum_{s <= t} missed + moved + control + learning`` bits, where only placements that need the model bear the
bits of learning, up and down. The rival of such a placement is the one with the least net bits at the end among those
that need neither model nor law. Payback is the first round from which on its net bits stay at or below the rival's;
break-even the size of a file at which it would have spent as much as the rival, ``learning / (files of the rival -
files of this one)``; there is none where learning takes no backhaul.

By hand: learning took 60 Mbit; 10 files were missed or moved against the rival's 16: files of 10 Mbit break even.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fedradio.core.contracts.records import STRICT, CacheRecord, RoundRecord
from fedradio.core.units import add

if TYPE_CHECKING:
    from fedradio.core.contracts import Cache

FETCH = "fetch_bits"

TOTALS = ("hits", "misses", "moved", "expected", "miss_bits", "moved_bits", "seconds")
"""What is added up of every shelf, over edges and edge rounds."""


@dataclass
class RunningCache:
    """The balance of a run so far; plain numbers, for checkpoints.

    ``totals[shelf]`` as in :data:`TOTALS`, with ``report_bits``;
    ``above[shelf][other]`` is the last round after which a shelf's net bits were above another's. ``late``: edge rounds
    in which what a shelf prefetched would have taken longer than the deadline.
    """

    requests: float = 0.0
    wanted: float = 0.0
    files: int = 0
    control_bits: float = 0.0
    access_bits: float = 0.0
    learning_bits: float | None = 0.0
    totals: dict[str, dict[str, float]] = field(default_factory=dict)
    above: dict[str, dict[str, int]] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)

    __pydantic_config__ = STRICT

    def count(self, cache: Cache, record: RoundRecord, deadline_s: float | None) -> None:
        """Add a round."""
        for each in record.caches:
            self._count(cache, each, deadline_s)
            self.learning_bits = add(self.learning_bits, each.down_bits)
        for bits in record.bits[1:]:
            self.learning_bits = add(self.learning_bits, bits)
        net = {label: self.net_bits(label, bears) for label, bears in bearers(cache).items()}
        for label, own in net.items():
            for other, theirs in net.items():
                if own is not None and theirs is not None and own > theirs:
                    self.above.setdefault(label, {})[other] = record.t + 1

    def _count(self, cache: Cache, record: CacheRecord, deadline_s: float | None) -> None:
        self.requests += sum(record.requests)
        self.wanted += sum(record.wanted)
        self.files = record.files
        self.control_bits += record.control_bits
        self.access_bits += record.access_bits
        for label, shelf in record.shelves.items():
            totals = self.totals.setdefault(label, dict.fromkeys((*TOTALS, "report_bits"), 0.0))
            for name in TOTALS:
                totals[name] += sum(getattr(shelf, name))
            totals["report_bits"] += shelf.report_bits
            totals[FETCH] = totals.get(FETCH, 0.0) + (shelf.fetch_bits or 0.0)
            if deadline_s is not None and max(shelf.moved_bits, default=0.0) / cache.backhaul_bps > deadline_s:
                self.late[label] = self.late.get(label, 0) + 1

    def net_bits(self, label: str, bears: bool) -> float | None:
        """Backhaul bits of a shelf so far, with those of learning if it ``bears`` them."""
        totals = self.totals[label]
        own = totals["miss_bits"] + totals["moved_bits"] + self.shelf_control_bits(label)
        return add(own, self.learning_bits) if bears else own

    def shelf_control_bits(self, label: str) -> float:
        """Control bits of a shelf on the backhaul: those of all requests, and of the files that it fetched.

        By hand: 10 requests, 4 of them missed, and 1 file prefetched are 10 (3808 + 192) + 5 1312 = 46,560 bits.
        """
        return self.control_bits + self.totals[label].get(FETCH, 0.0)


def bearers(cache: Cache) -> dict[str, bool]:
    """Every shelf, and whether it bears the bits of learning."""
    return {label: "model" in cache.placements[p].needs for label, p, _ in cache.shelves()}


@dataclass(frozen=True)
class ShelfSummary:
    """A placement with one capacity, over a whole run; None is undefined. ``knows``: what it places by.

    ``hit_ratio`` of the requests, ``expected`` by the true law; ``net_bits`` of the backhaul are those of missed and
    moved files, ``control_bits``, ``learning_bits`` (0 for placements that need no model); ``seconds`` of a delivery
    on average; ``files`` missed or moved a request; ``payback`` and ``break_even_bits`` against the ``rival``.
    """

    placement: str
    knows: Literal["law", "model", "counts"]
    capacity: int
    hit_ratio: float | None
    expected: float | None
    net_bits: float | None
    seconds: float | None
    files: float | None
    miss_bits: float
    moved_bits: float
    learning_bits: float | None
    control_bits: float
    report_bits: float
    rival: str | None
    payback: int | None
    break_even_bits: float | None
    late: int

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class CacheSummary:
    """The balance of a run's caches: ``requests`` for so many different ``files``, and every shelf by its label."""

    requests: int
    files: int
    catalogue: int
    shelves: dict[str, ShelfSummary]

    __pydantic_config__ = STRICT


def stored_cache(plain: Mapping[str, Any] | None) -> CacheSummary | None:
    """The balance as ``summary.json`` holds it; None without caches."""
    if plain is None:
        return None
    return CacheSummary(
        **{**plain, "shelves": {label: ShelfSummary(**each) for label, each in plain["shelves"].items()}}
    )


def summarised(cache: Cache, running: RunningCache, rounds: int, catalogue: int) -> CacheSummary:
    """The summary of so many ``rounds``."""
    borne = bearers(cache)
    net = {label: running.net_bits(label, bears) for label, bears in borne.items() if label in running.totals}
    shelves = {}
    for label, p, capacity in cache.shelves():
        if label not in running.totals:
            continue
        placement, totals = cache.placements[p], running.totals[label]
        rival = _rival(cache, net, capacity) if borne[label] else None
        learning = running.learning_bits if borne[label] else 0.0
        requests = running.requests
        shelves[label] = ShelfSummary(
            placement=placement.name,
            knows="law" if "law" in placement.needs else "model" if borne[label] else "counts",
            capacity=capacity,
            hit_ratio=totals["hits"] / requests if requests else None,
            expected=totals["expected"] / running.wanted if running.wanted else None,
            net_bits=net[label],
            seconds=totals["seconds"] / requests if requests else None,
            files=(totals["misses"] + totals["moved"]) / requests if requests else None,
            miss_bits=totals["miss_bits"],
            moved_bits=totals["moved_bits"],
            learning_bits=learning,
            control_bits=running.shelf_control_bits(label),
            report_bits=totals["report_bits"],
            rival=rival,
            payback=_payback(running, label, rival, rounds),
            break_even_bits=_break_even(cache, running, label, rival),
            late=running.late.get(label, 0),
        )
    return CacheSummary(int(running.requests), running.files, catalogue, shelves)


def _rival(cache: Cache, net: Mapping[str, float | None], capacity: int) -> str | None:
    """The shelf of that capacity with the least net bits among those that need neither model nor law."""
    known = [
        (net.get(label), label)
        for label, p, own in cache.shelves()
        if own == capacity and not cache.placements[p].needs
    ]
    return min(((bits, label) for bits, label in known if bits is not None), default=(None, None))[1]


def _payback(running: RunningCache, label: str, rival: str | None, rounds: int) -> int | None:
    """The first round from which on the net bits stay at or below the rival's; None if they do not."""
    if rival is None or running.learning_bits is None:
        return None
    last = running.above.get(label, {}).get(rival, 0)
    return last + 1 if last < rounds else None


def _break_even(cache: Cache, running: RunningCache, label: str, rival: str | None) -> float | None:
    """Bits of a file at which both would have taken the same backhaul, each file with the control of its fetch; None if
    no size does, or sizes differ."""
    from fedradio.core.contracts.placement import FETCH_BITS  # here: whoever only reads a summary does not need torch

    if rival is None or not running.learning_bits or cache.one_size is None:
        return None
    fewer = sum(
        sign * running.totals[each][name] for sign, each in ((1, rival), (-1, label)) for name in ("misses", "moved")
    )
    even = running.learning_bits / fewer - (FETCH_BITS if cache.protocol else 0) if fewer > 0 else 0.0
    return even if even > 0 else None

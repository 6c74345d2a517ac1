"""Caches of stored runs: the balance of each placement, over one run and over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedradio.results.run import Floats, Run
from fedradio.results.statistics import Interval, mean_of, paired
from fedradio.results.variants import Variant
from fedradio.runs.cache_summary import CacheSummary, ShelfSummary
from fedradio.spec.spec import Spec

COMPARED = ("hit_ratio", "net_bits", "seconds")
"""Quantities of a shelf that are compared over seeds."""


@dataclass(frozen=True)
class CacheRow:
    """A placement of a variant over its complete seeds: means, and paired differences from the placement ``than``, the
    first of the same capacity that knows neither the model nor the request distribution. ``paid_back``: seeds for which
    learning paid for itself; ``stationary``: the request distribution never changed."""

    variant: str
    shelf: str
    seeds: list[int]
    means: dict[str, Interval | None]
    than: str | None
    stationary: bool
    differences: dict[str, Interval | None]
    paid_back: int | None


def stationary(spec: Spec) -> bool:
    """Whether the request distribution never changes, which favours counting."""
    return not spec.plain["data"]["source"].get("drift", 0)


@dataclass(frozen=True)
class Served:
    """What a shelf did in every round, ``[T]``: hits, files missed and prefetched, and backhaul bits by cause;
    ``edges`` are its hits at every edge over all rounds. Causes that do not apply are 0, undefined bits are NaN."""

    hits: Floats
    files: Floats
    bits: dict[str, Floats]
    edges: list[int]
    capacity: int
    oracle: bool

    @property
    def net_bits(self) -> Floats:
        """Bits of all causes so far, after every round."""
        return np.cumsum(np.sum(list(self.bits.values()), axis=0))


@dataclass(frozen=True)
class ServedRounds:
    """The caches of a run, round by round: ``requests [T]``, requests of every edge, and what every shelf did."""

    requests: Floats
    edges: list[int]
    files: int
    shelves: dict[str, Served]


CAUSES = ("misses", "prefetched", "model up", "model down", "control")
"""Causes of backhaul traffic."""


def served_rounds(run: Run) -> ServedRounds | None:
    """The caches of a run, from its records so far; None if it has none."""
    records, rounds = run.caches, len(run.rounds)
    records = [record for record in records if record.t < rounds]
    if not records:
        return None
    t = np.array([record.t for record in records])

    def by_round(values: Sequence[float | None]) -> Floats:
        known = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        return np.bincount(t, known, minlength=rounds).astype(np.float64)

    up = np.array([sum(np.nan if bits is None else bits for bits in record.bits[1:]) for record in run.rounds])
    down, control = by_round([r.down_bits for r in records]), by_round([r.control_bits for r in records])
    shelves, edges = {}, range(len(records[0].requests))
    for label, (knows_law, capacity) in _labels(run).items():
        own = [record.shelves[label] for record in records]
        bears = any(shelf.report_bits > 0 for shelf in own)  # whoever is told forecasts of the model
        causes = (
            by_round([sum(shelf.miss_bits) for shelf in own]),
            by_round([sum(shelf.moved_bits) for shelf in own]),
            up if bears else np.zeros(rounds),
            down if bears else np.zeros(rounds),
            control + by_round([shelf.fetch_bits or 0.0 for shelf in own]),
        )
        shelves[label] = Served(
            hits=by_round([sum(shelf.hits) for shelf in own]),
            files=by_round([sum(shelf.misses) + sum(shelf.moved) for shelf in own]),
            bits=dict(zip(CAUSES, causes, strict=True)),
            edges=[sum(shelf.hits[b] for shelf in own) for b in edges],
            capacity=capacity,
            oracle=knows_law,
        )
    requests = by_round([sum(record.requests) for record in records])
    asked = [sum(record.requests[b] for record in records) for b in edges]
    return ServedRounds(requests, asked, records[-1].files, shelves)


def _labels(run: Run) -> dict[str, tuple[bool, int]]:
    """Of every shelf of the records, by its label: whether it knows the law, and its capacity."""
    plain, told = run.spec.plain["cache"], run.cache
    several = plain["capacity"] if isinstance(plain["capacity"], list) else [plain["capacity"]]
    knowing = {part.get("name") or part["kind"] for part in plain["placements"] if part["kind"] == "oracle"}
    found = {}
    for label in run.caches[0].shelves:
        name, capacity = (label, several[0]) if len(several) == 1 else label.rsplit(" ", 1)
        law = name in knowing if told is None else told.shelves[label].knows == "law"
        found[label] = law, int(capacity)
    return found


def cache_rows(variants: Sequence[Variant]) -> list[CacheRow]:
    """Rows of all placements of all variants whose runs have caches."""
    rows = []
    for variant in variants:
        balances = {seed: found for seed, run in variant.runs.items() if (found := run.cache) is not None}
        labels = {label: None for found in balances.values() for label in found.shelves}
        still = all(stationary(run.spec) for run in variant.runs.values())
        rows += [_row(variant.label, label, balances, still) for label in labels]
    return rows


def _row(variant: str, label: str, balances: Mapping[int, CacheSummary], still: bool) -> CacheRow:
    own = {seed: found.shelves[label] for seed, found in balances.items() if label in found.shelves}
    any_shelf = next(iter(own.values()))
    than = _baseline(next(iter(balances.values())), any_shelf)
    others = {seed: found.shelves[than] for seed, found in balances.items() if than in found.shelves} if than else {}
    apart = than is not None and than != label
    return CacheRow(
        variant=variant,
        shelf=label,
        seeds=sorted(own),
        means={name: mean_of(getattr(each, name) for each in own.values()) for name in COMPARED},
        than=than if apart else None,
        stationary=still,
        differences={name: paired(_known(own, name), _known(others, name)) if apart else None for name in COMPARED},
        paid_back=sum(each.payback is not None for each in own.values()) if any_shelf.knows == "model" else None,
    )


def _baseline(found: CacheSummary, shelf: ShelfSummary) -> str | None:
    same = [
        label for label, each in found.shelves.items() if each.capacity == shelf.capacity and each.knows == "counts"
    ]
    return same[0] if same else None


def _known(shelves: Mapping[int, ShelfSummary], name: str) -> dict[int, float]:
    """A quantity by seed, where it is defined."""
    return {seed: value for seed, each in shelves.items() if (value := getattr(each, name)) is not None}

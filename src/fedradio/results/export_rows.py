"""Columns of the exported tables, and the rows that each record produces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedradio.core.contracts.records import (
    MAIN_SCORES,
    CacheRecord,
    EvaluationRecord,
    ExchangeRecord,
    Record,
    RoundRecord,
    is_better,
    main_score,
)
from fedradio.results.quantities import axes
from fedradio.runs.records import OF_DEVICES

Columns = dict[str, type]
"""Columns by name, units included, with their type: ``bool``, ``int``, ``float`` or ``str``; any value may be None."""

SENDER: Columns = {
    "active": bool,
    "arrived": bool,
    "reason": str,
    "steps": int,
    "cpu_hz": float,
    "power_w": float,
    "seconds": float,
    "compute_j": float,
    "tx_j": float,
    "wait_j": float,
}
"""Columns of an exchange's record, per sender."""

ROUND: Columns = {"time_s": float, "energy_j": float, "compute_j": float, "train_loss": float, "wall_s": float}
"""Columns of a round's record, beside the lists with one number per hop."""

BEST: dict[str, Columns] = {name: {f"best_{name}": float, "best_round": int} for name in MAIN_SCORES}
"""Columns of an evaluation beside its metrics: the best main score so far."""

SHELF: Columns = {
    "hits": int,
    "misses": int,
    "moved": int,
    "expected": float,
    "miss_bits": float,
    "moved_bits": float,
    "seconds": float,
    "stored_bits": float,
}
"""Columns of a cache's record, per shelf and edge."""

CACHE: Columns = {"t": int, "e": int, "shelf": str, "edge": int, "requests": int, "wanted": float, **SHELF}
"""Columns of the table of caches."""

SPENT = [each for each in axes() if each.name != "rounds"]
TOTALS: Columns = {f"total_{each.column}": float for each in SPENT}
"""Columns of an evaluation that curves are drawn against: the cumulative costs."""

PLACE: Columns = {"t": int, "hop": int, "e": int}
"""Columns that say which exchange a row belongs to."""


@dataclass
class Shape:
    """What differs between the records of runs: number of hops, metrics of evaluations and clients, notes, caches, and
    columns of real devices."""

    hops: int = 0
    metrics: Columns = field(default_factory=dict)
    groups: Columns = field(default_factory=dict)
    sender_notes: Columns = field(default_factory=dict)
    receiver_notes: Columns = field(default_factory=dict)
    devices: Columns = field(default_factory=dict)
    cached: bool = False

    def see(self, record: Record) -> None:
        """Take a record into account."""
        if isinstance(record, RoundRecord):
            self.hops = max(self.hops, len(record.bits))
        elif isinstance(record, EvaluationRecord):
            self.metrics |= dict.fromkeys(record.metrics, float)
            self.groups |= dict.fromkeys(record.groups, float)
        elif isinstance(record, CacheRecord):
            self.cached = True
        else:
            if record.measured_s is not None:
                self.devices = dict.fromkeys(OF_DEVICES, float)
            for name, note in record.notes.items():
                notes = self.receiver_notes if note.axis == "receiver" else self.sender_notes
                notes[name] = kind_of(note.values, notes.get(name))


def kind_of(values: Iterable[Any], before: type | None = None) -> type:
    """The type of a column with these values, and the type ``before``: float if all are None, str if types differ."""
    kinds = {type(value) for value in values if value is not None} | ({before} if before else set())
    if len(kinds) == 1 and kinds <= {bool, int}:
        return kinds.pop()
    return float if kinds <= {int, float} else str


def columns(shape: Shape) -> dict[str, Columns]:
    """The columns of every table, by the table's name."""
    per_hop = {f"{name}_hop_{h}": float for name in ("tx_j", "wait_j", "bits") for h in range(shape.hops)}
    return {
        "rounds": {"t": int, **ROUND, **per_hop},
        "evaluations": {"t": int, "rounds": int, **shape.metrics, **BEST[main_score(shape.metrics)], **TOTALS},
        "hops": {**PLACE, "active": int, "arrived": int, "bits": float, "uses": float},
        "exchanges": {**PLACE, "sender": int, "receiver": int, **SENDER, **shape.devices, **_notes(shape.sender_notes)},
        "receivers": {
            **PLACE,
            "receiver": int,
            "time_s": float,
            "effective": float,
            **_notes(shape.receiver_notes),
        },
        "clients": {"t": int, "rounds": int, "client": int, **shape.groups},
        **({"cache": CACHE} if shape.cached else {}),
    }


class Rows:
    """The rows that the records of one run give, in their order.

    ``parents[hop][sender]`` is a sender's receiver; ``senders[hop]`` counts the senders of a hop, active or not.
    """

    def __init__(self, shape: Shape, senders: Sequence[int], parents: Sequence[Sequence[int]]) -> None:
        self.shape, self.senders, self.parents = shape, senders, parents
        self._best: tuple[float, int] | None = None
        self._totals: dict[str, float | None] = {}

    def of(self, record: Record) -> Iterator[tuple[str, list[Any]]]:
        """The rows of a record, each with the name of its table."""
        self._count(record)
        if isinstance(record, RoundRecord):
            yield "rounds", self._round(record)
        elif isinstance(record, EvaluationRecord):
            yield from self._evaluation(record)
        elif isinstance(record, CacheRecord):
            yield from self._cache(record)
        else:
            yield from self._exchange(record)

    def _cache(self, record: CacheRecord) -> Iterator[tuple[str, list[Any]]]:
        for label, shelf in record.shelves.items():
            for edge, requests in enumerate(record.requests):
                amounts = [getattr(shelf, name)[edge] for name in SHELF]
                yield "cache", [record.t, record.e, label, edge, requests, record.wanted[edge], *amounts]

    def _count(self, record: Record) -> None:
        """Add what a record spent; a round without a defined amount makes the sum undefined."""
        kind = "round" if isinstance(record, RoundRecord) else "exchange"
        for each in SPENT if not isinstance(record, EvaluationRecord | CacheRecord) else ():
            if each.per != kind or each.amount is None:
                continue
            amount, before = each.amount(record), self._totals.get(each.name, 0.0)
            if kind == "round" or amount is not None:
                self._totals[each.name] = None if amount is None or before is None else before + amount

    def _round(self, record: RoundRecord) -> list[Any]:
        lists = (record.tx_j, record.wait_j, record.bits)
        per_hop = [_at(values, h) for values in lists for h in range(self.shape.hops)]
        return [record.t, *(getattr(record, name) for name in ROUND), *per_hop]

    def _evaluation(self, record: EvaluationRecord) -> Iterator[tuple[str, list[Any]]]:
        """The row of an evaluation with the best main score so far, and those of the clients."""
        name = main_score(record.metrics)
        score = record.metrics.get(name)
        if score is not None and (self._best is None or is_better(name, score, self._best[0])):
            self._best = score, record.round
        best = self._best or (None, None)
        place, totals = [record.round - 1, record.round], [self._totals.get(each.name) for each in SPENT]
        yield "evaluations", [*place, *(record.metrics.get(name) for name in self.shape.metrics), *best, *totals]
        for client in range(max(map(len, record.groups.values()), default=0)):
            yield "clients", [*place, client, *(_at(record.groups.get(name), client) for name in self.shape.groups)]

    def _exchange(self, record: ExchangeRecord) -> Iterator[tuple[str, list[Any]]]:
        place = [record.t, record.hop, record.e]
        yield "hops", [*place, len(record.ids), sum(record.arrived), record.bits, record.uses]
        row, parent = record.dense(self.senders[record.hop]), _at(self.parents, record.hop)
        of_senders = [getattr(row, name) for name in SENDER]
        of_senders += [_spread(getattr(record, name), record.ids, len(row.active)) for name in self.shape.devices]
        of_senders += [row.notes.get(name) for name in self.shape.sender_notes]
        for sender in range(len(row.active)):
            yield "exchanges", [*place, sender, _at(parent, sender), *(_at(values, sender) for values in of_senders)]
        of_receivers = [row.time_s, row.effective, *(row.notes.get(name) for name in self.shape.receiver_notes)]
        for receiver in range(len(row.effective)):
            yield "receivers", [*place, receiver, *(_at(values, receiver) for values in of_receivers)]


def _notes(notes: Columns) -> Columns:
    return {f"note_{name}": kind for name, kind in notes.items()}


def _spread(values: Sequence[Any] | None, ids: Sequence[int], senders: int) -> list[Any] | None:
    """Values of the active senders ``ids`` in a list of all; None for the others."""
    if values is None:
        return None
    known = dict(zip(ids, values, strict=True))
    return [known.get(sender) for sender in range(senders)]


def _at(values: Sequence[Any] | None, position: int) -> Any:
    """The value at a position; None where the list is absent or shorter."""
    return None if values is None or position >= len(values) else values[position]

"""Columns of the exported tables, and the rows that each record gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedradio.core.contracts.records import EvaluationRecord, ExchangeRecord, Record, RoundRecord

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
}
"""Columns of an exchange's record, per sender."""

ROUND: Columns = {"time_s": float, "energy_j": float, "compute_j": float, "train_loss": float, "wall_s": float}
"""Columns of a round's record, beside the lists with one number per hop."""

BEST: Columns = {"best_accuracy": float, "best_round": int}
"""Columns of an evaluation beside its metrics: the best accuracy so far."""

PLACE: Columns = {"t": int, "hop": int, "e": int}
"""Columns that say which exchange a row belongs to."""


@dataclass
class Shape:
    """What differs between the records of runs: number of hops, metrics of evaluations and of clients, notes."""

    hops: int = 0
    metrics: Columns = field(default_factory=dict)
    groups: Columns = field(default_factory=dict)
    sender_notes: Columns = field(default_factory=dict)
    receiver_notes: Columns = field(default_factory=dict)

    def see(self, record: Record) -> None:
        """Take a record into account."""
        if isinstance(record, RoundRecord):
            self.hops = max(self.hops, len(record.bits))
        elif isinstance(record, EvaluationRecord):
            self.metrics |= dict.fromkeys(record.metrics, float)
            self.groups |= dict.fromkeys(record.groups, float)
        else:
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
    per_hop = {f"{name}_hop_{h}": float for name in ("tx_j", "bits") for h in range(shape.hops)}
    return {
        "rounds": {"t": int, **ROUND, **per_hop},
        "evaluations": {"t": int, "rounds": int, **shape.metrics, **BEST},
        "hops": {**PLACE, "active": int, "arrived": int, "bits": float, "uses": float},
        "exchanges": {**PLACE, "sender": int, "receiver": int, **SENDER, **_notes(shape.sender_notes)},
        "receivers": {
            **PLACE,
            "receiver": int,
            "time_s": float,
            "effective": float,
            **_notes(shape.receiver_notes),
        },
        "clients": {"t": int, "rounds": int, "client": int, **shape.groups},
    }


class Rows:
    """The rows that the records of one run give, in their order.

    ``parents[hop][sender]`` is a sender's receiver; ``senders[hop]`` counts the senders of a hop, active or not.
    """

    def __init__(self, shape: Shape, senders: Sequence[int], parents: Sequence[Sequence[int]]) -> None:
        self.shape, self.senders, self.parents = shape, senders, parents
        self._best: tuple[float, int] | None = None

    def of(self, record: Record) -> Iterator[tuple[str, list[Any]]]:
        """The rows of a record, each with the name of its table."""
        if isinstance(record, RoundRecord):
            yield "rounds", self._round(record)
        elif isinstance(record, EvaluationRecord):
            yield from self._evaluation(record)
        else:
            yield from self._exchange(record)

    def _round(self, record: RoundRecord) -> list[Any]:
        per_hop = [_at(values, h) for values in (record.tx_j, record.bits) for h in range(self.shape.hops)]
        return [record.t, *(getattr(record, name) for name in ROUND), *per_hop]

    def _evaluation(self, record: EvaluationRecord) -> Iterator[tuple[str, list[Any]]]:
        """The row of an evaluation with the best accuracy so far, and those of the clients."""
        accuracy = record.metrics["accuracy"]
        if self._best is None or accuracy > self._best[0]:
            self._best = accuracy, record.round
        place = [record.round - 1, record.round]
        yield "evaluations", [*place, *(record.metrics.get(name) for name in self.shape.metrics), *self._best]
        for client in range(max(map(len, record.groups.values()), default=0)):
            yield "clients", [*place, client, *(_at(record.groups.get(name), client) for name in self.shape.groups)]

    def _exchange(self, record: ExchangeRecord) -> Iterator[tuple[str, list[Any]]]:
        place = [record.t, record.hop, record.e]
        yield "hops", [*place, len(record.ids), sum(record.arrived), record.bits, record.uses]
        row, parent = record.dense(self.senders[record.hop]), _at(self.parents, record.hop)
        of_senders = [getattr(row, name) for name in SENDER]
        of_senders += [row.notes.get(name) for name in self.shape.sender_notes]
        for sender in range(len(row.active)):
            yield "exchanges", [*place, sender, _at(parent, sender), *(_at(values, sender) for values in of_senders)]
        of_receivers = [row.time_s, row.effective, *(row.notes.get(name) for name in self.shape.receiver_notes)]
        for receiver in range(len(row.effective)):
            yield "receivers", [*place, receiver, *(_at(values, receiver) for values in of_receivers)]


def _notes(notes: Columns) -> Columns:
    return {f"note_{name}": kind for name, kind in notes.items()}


def _at(values: Sequence[Any] | None, position: int) -> Any:
    """The value at a position; None where the list is absent or shorter."""
    return None if values is None or position >= len(values) else values[position]

"""Columns of the exported tables, and the rows that each record gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedradio.core.contracts import Reason

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

PLACE: Columns = {"t": int, "hop": int, "e": int}
"""Columns that say which exchange a row belongs to."""


@dataclass
class Shape:
    """What differs between the records of runs: number of hops, metrics of evaluations and of clients, notes.

    A note belongs to receivers as soon as one exchange has as many values as receivers and another number of senders.
    """

    hops: int = 0
    metrics: Columns = field(default_factory=dict)
    groups: Columns = field(default_factory=dict)
    notes: Columns = field(default_factory=dict)
    of_receivers: set[str] = field(default_factory=set)

    def see(self, record: Mapping[str, Any]) -> None:
        """Take a record into account."""
        if record["type"] == "round":
            self.hops = max(self.hops, len(record["bits"]))
        elif record["type"] == "eval":
            metrics = {key: value for key, value in record.items() if key not in ("type", "t", "rounds", "groups")}
            self.metrics |= {key: int if isinstance(value, int) else float for key, value in metrics.items()}
            self.groups |= dict.fromkeys(record.get("groups", {}), float)
        else:
            for name, values in record["notes"].items():
                self.notes[name] = kind_of(values, self.notes.get(name))
                if len(values) == len(record["effective"]) != len(record["active"]):
                    self.of_receivers.add(name)

    def sender_notes(self) -> list[str]:
        """Names of the notes with one value per sender."""
        return [name for name in self.notes if name not in self.of_receivers]

    def receiver_notes(self) -> list[str]:
        """Names of the notes with one value per receiver."""
        return [name for name in self.notes if name in self.of_receivers]


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
        "evaluations": {"t": int, "rounds": int, **shape.metrics},
        "hops": {**PLACE, "active": int, "arrived": int, "bits": float, "uses": float},
        "exchanges": {**PLACE, "sender": int, "receiver": int, **SENDER, **_notes(shape, shape.sender_notes())},
        "receivers": {
            **PLACE,
            "receiver": int,
            "time_s": float,
            "effective": float,
            **_notes(shape, shape.receiver_notes()),
        },
        "clients": {"t": int, "rounds": int, "client": int, **shape.groups},
    }


def rows(record: Mapping[str, Any], shape: Shape, parents: Sequence[Sequence[int]]) -> Iterator[tuple[str, list[Any]]]:
    """The rows that a record gives, each with the name of its table; ``parents[hop][sender]`` is the receiver."""
    if record["type"] == "round":
        yield "rounds", _round_row(record, shape)
    elif record["type"] == "eval":
        start = [record["t"], record["rounds"]]
        yield "evaluations", [*start, *(record.get(name) for name in shape.metrics)]
        groups = record.get("groups", {})
        for client in range(max(map(len, groups.values()), default=0)):
            yield "clients", [*start, client, *(_at(groups.get(name), client) for name in shape.groups)]
    else:
        yield from _exchange_rows(record, shape, parents)


def _round_row(record: Mapping[str, Any], shape: Shape) -> list[Any]:
    per_hop = [_at(record[name], h) for name in ("tx_j", "bits") for h in range(shape.hops)]
    return [record["t"], *(record[name] for name in ROUND), *per_hop]


def _exchange_rows(
    record: Mapping[str, Any], shape: Shape, parents: Sequence[Sequence[int]]
) -> Iterator[tuple[str, list[Any]]]:
    place = [record[name] for name in PLACE]
    yield "hops", [*place, sum(record["active"]), sum(record["arrived"]), record["bits"], record["uses"]]
    notes, parent = record["notes"], _at(parents, record["hop"])
    spelled = {**record, "reason": [Reason(number).name.lower() for number in record["reason"]]}
    senders = [*(spelled[name] for name in SENDER), *(notes.get(name) for name in shape.sender_notes())]
    for sender in range(len(record["active"])):
        yield "exchanges", [*place, sender, _at(parent, sender), *(_at(values, sender) for values in senders)]
    receivers = [record["time_s"], record["effective"], *(notes.get(name) for name in shape.receiver_notes())]
    for receiver in range(len(record["effective"])):
        yield "receivers", [*place, receiver, *(_at(values, receiver) for values in receivers)]


def _notes(shape: Shape, names: Iterable[str]) -> Columns:
    return {f"note_{name}": shape.notes[name] for name in names}


def _at(values: Sequence[Any] | None, position: int) -> Any:
    """The value at a position; None where the list is absent or shorter."""
    return None if values is None or position >= len(values) else values[position]

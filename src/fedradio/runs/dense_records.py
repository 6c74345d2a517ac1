"""Reads the records of version 0.1: dense rows, without a header, with a value for every sender of a hop.

Reasons were numbers, and notes plain lists: with as many values as the hop has senders they belong to these, otherwise
to its receivers. Evaluations had their metrics among their other fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fedradio.core.contracts.reasons import REASON_NAMES
from fedradio.core.contracts.records import (
    NOTHING,
    EvaluationRecord,
    ExchangeRecord,
    Header,
    Note,
    Number,
    Record,
    RoundRecord,
)
from fedradio.core.errors import StoreError
from fedradio.core.units import add
from fedradio.runs.records import first_problem

REST = {"tx_power": 0.0, "pseudo_accuracy": -1.0}
"""Notes that only active senders have, and the value of all others."""


Floats = list[float] | None


class Line(BaseModel):
    """A line of version 0.1."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ExchangeLine(Line):
    """The dense row of an exchange."""

    type: Literal["exchange"]
    t: int
    hop: int
    e: int
    active: list[bool]
    arrived: list[bool]
    reason: list[int]
    steps: list[int]
    cpu_hz: Floats
    power_w: Floats
    seconds: Floats
    compute_j: Floats
    tx_j: Floats
    bits: float | None
    uses: float | None
    time_s: Floats
    effective: list[float]
    notes: dict[str, list[Number]]


class RoundLine(Line):
    """The row of a round."""

    type: Literal["round"]
    t: int
    time_s: float | None
    energy_j: float | None
    compute_j: float | None
    tx_j: list[float | None]
    bits: list[float | None]
    train_loss: float | None
    wall_s: float


class EvaluationLine(Line):
    """The row of an evaluation, its metrics beside its other fields."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float]

    type: Literal["eval"]
    t: int
    rounds: int
    best_accuracy: float
    best_round: int
    groups: dict[str, list[float | None]] = {}


LINES: TypeAdapter[ExchangeLine | RoundLine | EvaluationLine] = TypeAdapter(
    Annotated[ExchangeLine | RoundLine | EvaluationLine, Field(discriminator="type")]
)


def convert(lines: Iterable[tuple[str, bytes]], kind: type[Record] | None = None) -> Iterator[Any]:
    """The records of the lines of version 0.1, all or of one type; every line comes with its place for messages."""
    spent = Spent()
    for where, line in lines:
        record = _record(where, line)
        if isinstance(record, RoundRecord):
            spent = spent.after(record)
        elif isinstance(record, EvaluationRecord):
            record = replace(record, time_s=spent.time_s, energy_j=spent.energy_j, bits=spent.bits)
        if kind is None or isinstance(record, kind):
            yield record


def inferred_header(lines: Iterable[tuple[str, bytes]]) -> Header | None:
    """What a header would say: senders and receivers of every hop, from the exchanges of the first round."""
    sizes: dict[int, tuple[int, int]] = {}
    for where, line in lines:
        row = _row(where, line)
        if not isinstance(row, ExchangeLine):
            break
        sizes.setdefault(row.hop, (len(row.active), len(row.effective)))
    if not sizes:
        return None
    ordered = [sizes[hop] for hop in sorted(sizes)]
    return Header(1, "0.1", [senders for senders, _ in ordered], [receivers for _, receivers in ordered])


@dataclass(frozen=True)
class Spent:
    """Seconds, joules and bits of the rounds so far; None where undefined."""

    time_s: float | None = 0.0
    energy_j: float | None = 0.0
    bits: float | None = 0.0

    def after(self, record: RoundRecord) -> Spent:
        """With one more round."""
        bits = self.bits
        for of_hop in record.bits:
            bits = add(bits, of_hop)
        return Spent(add(self.time_s, record.time_s), add(self.energy_j, record.energy_j), bits)


def _row(where: str, line: bytes) -> ExchangeLine | RoundLine | EvaluationLine:
    """A line, checked; a :class:`StoreError` if it is not whole."""
    try:
        return LINES.validate_json(line)
    except ValidationError as error:
        raise StoreError(f"{where}: {first_problem(error)}") from None


def _record(where: str, line: bytes) -> Record:
    """The record of a line."""
    row = _row(where, line)
    if isinstance(row, RoundLine):
        return RoundRecord(**row.model_dump(exclude={"type"}))
    if isinstance(row, EvaluationLine):
        return EvaluationRecord(row.rounds, dict(row.model_extra or {}), row.groups)
    if wrong := _ragged(row):
        raise StoreError(f"{where}: {wrong}")
    return _sparse(row)


def _ragged(row: ExchangeLine) -> str:
    """What is wrong with the first list that has not one known value per sender; empty if all have."""
    senders = len(row.active)
    for name in ("arrived", "reason", "steps", "cpu_hz", "power_w", "seconds", "compute_j", "tx_j"):
        values = getattr(row, name)
        if values is not None and len(values) != senders:
            return f"{name}: {len(values)} values for {senders} senders"
    return "" if set(row.reason) <= REASON_NAMES.keys() else "reason: unknown number"


def _sparse(row: ExchangeLine) -> ExchangeRecord:
    """The record of an exchange from its dense row."""
    active = row.active
    reasons = [REASON_NAMES[number] for number in row.reason]
    rest, idle = _idle_reasons(reasons, active)

    def of_active(values: list[Any] | None) -> Any:
        return None if values is None else [value for value, on in zip(values, active, strict=True) if on]

    return ExchangeRecord(
        t=row.t,
        hop=row.hop,
        e=row.e,
        ids=[sender for sender, on in enumerate(active) if on],
        arrived=of_active(row.arrived),
        why=of_active(reasons),
        steps=of_active(row.steps),
        cpu_hz=of_active(row.cpu_hz),
        power_w=of_active(row.power_w),
        seconds=of_active(row.seconds),
        compute_j=of_active(row.compute_j),
        tx_j=of_active(row.tx_j),
        rest=rest,
        idle=idle,
        bits=row.bits,
        uses=row.uses,
        time_s=row.time_s,
        effective=row.effective,
        notes={name: _note(name, values, active) for name, values in row.notes.items()},
    )


def _idle_reasons(reasons: Sequence[str], active: Sequence[bool]) -> tuple[str, dict[str, list[int]]]:
    """The commonest reason of the idle, and the idle senders of every other reason."""
    idle = [(sender, name) for sender, (name, on) in enumerate(zip(reasons, active, strict=True)) if not on]
    counts = Counter(name for _, name in idle)
    rest = max(counts, key=lambda name: counts[name], default=NOTHING)
    others: dict[str, list[int]] = {}
    for sender, name in idle:
        if name != rest:
            others.setdefault(name, []).append(sender)
    return rest, others


def _note(name: str, values: list[Number], active: Sequence[bool]) -> Note:
    if len(values) != len(active):
        return Note("receiver", values)
    rest = REST.get(name)
    if rest is None or any(value != rest for value, on in zip(values, active, strict=True) if not on):
        return Note("sender", values)
    return Note("active", [value for value, on in zip(values, active, strict=True) if on], rest)

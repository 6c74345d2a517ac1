"""The records of a run as lines of JSON: a header, then one line for every exchange, round and evaluation, and for the
caches of every edge round where there are some.

A line begins with its type; the rest are the fields of the record. Optional fields that are None are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from fedradio._version import __version__
from fedradio.core.contracts.reasons import REASON_NAMES
from fedradio.core.contracts.records import (
    CacheRecord,
    EvaluationRecord,
    ExchangeRecord,
    Header,
    Note,
    Record,
    RoundRecord,
    ShelfRecord,
)
from fedradio.core.errors import FormatError, StoreError
from fedradio.core.files import opened, parse_json
from fedradio.core.format import FORMAT, check_format
from fedradio.runs.folder import RECORDS_FILE

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Row = dict[str, Any]

R = TypeVar("R", ExchangeRecord, RoundRecord, EvaluationRecord, CacheRecord)

TYPES: dict[str, type[Header] | type[Record]] = {
    "header": Header,
    "exchange": ExchangeRecord,
    "round": RoundRecord,
    "evaluation": EvaluationRecord,
    "cache": CacheRecord,
}
"""Every type of line, and the record that it holds."""

OF_DEVICES = ("planned_s", "planned_j", "measured_s", "train_s", "wire_bits")
"""Fields of an exchange with real devices."""

LATER = ("now_s", "wait_j", *OF_DEVICES)
"""Fields of an exchange that are left out where they are None."""

OF_ACTIVE = (
    "arrived",
    "why",
    "steps",
    "cpu_hz",
    "power_w",
    "seconds",
    "compute_j",
    "tx_j",
    "wait_j",
    *OF_DEVICES,
)
OF_RECEIVERS = ("time_s", "effective")
"""Fields of an exchange with one value per active sender, and per receiver."""


def header_row(senders: list[int], receivers: list[int]) -> Row:
    """The header of a run whose hops have so many senders and receivers, as plain data."""
    return {"type": "header", **vars(Header(FORMAT, __version__, senders, receivers))}


def exchange_row(record: ExchangeRecord) -> Row:
    """The record of an exchange as plain data."""
    row = {name: value for name, value in vars(record).items() if name not in LATER or value is not None}
    return {"type": "exchange", **row, "notes": {name: _note(note) for name, note in record.notes.items()}}


def round_row(record: RoundRecord) -> Row:
    """The record of a round as plain data, without its evaluation and its caches."""
    row = {name: value for name, value in vars(record).items() if name not in ("evaluation", "caches")}
    return {"type": "round", **{name: value for name, value in row.items() if name != "wait_j" or value is not None}}


def evaluation_row(record: EvaluationRecord) -> Row:
    """The record of an evaluation as plain data."""
    return {"type": "evaluation", **vars(record)}


def cache_row(record: CacheRecord) -> Row:
    """The record of the caches of an edge round as plain data."""
    shelves = {label: _shelf(shelf) for label, shelf in record.shelves.items()}
    return {"type": "cache", **vars(record), "shelves": shelves}


def _shelf(shelf: ShelfRecord) -> Row:
    """What a placement did as plain data; what is not counted is left out."""
    return {name: value for name, value in vars(shelf).items() if value is not None}


def _note(note: Note) -> Row:
    rest = {"rest": note.rest} if note.axis == "active" else {}
    return {"axis": note.axis, "values": note.values, **rest}


@overload
def read_records(folder: Path | str) -> Iterator[Record]: ...
@overload
def read_records(folder: Path | str, kind: type[R]) -> Iterator[R]: ...
def read_records(folder: Path | str, kind: type[Any] | None = None) -> Iterator[Any]:
    """The records of a run folder, all or of one type: ``ExchangeRecord``, ``RoundRecord``,
    ``EvaluationRecord`` or ``CacheRecord``.

    An incomplete last line, left by a process that was killed or is still writing, is ignored. Every other line that is
    no whole record raises a :class:`StoreError` with its number.
    """
    path = Path(folder) / RECORDS_FILE
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        return
    header = _header(path, *first)
    for where, line in lines:
        held = next((of for name, of in TYPES.items() if _begins(line, name)), None)
        if held is None or held is Header:
            raise StoreError(f"{where}: not a record")
        if kind is None or held is kind:
            record = _parsed(where, line, held)
            if isinstance(record, ExchangeRecord) and (wrong := _misfit(record, header)):
                raise StoreError(f"{where}: {wrong}")
            if isinstance(record, CacheRecord) and (wrong := _cache_misfit(record, header)):
                raise StoreError(f"{where}: {wrong}")
            yield record


def read_header(folder: Path | str) -> Header | None:
    """The header of a run's records; None for a run without records."""
    path = Path(folder) / RECORDS_FILE
    first = next(_lines(path), None)
    return None if first is None else _header(path, *first)


def check_run_format(folder: Path | str) -> None:
    """Refuse a run folder of another format with a :class:`FormatError`; damage is left to those who read it."""
    try:
        read_header(folder)
    except FormatError:
        raise
    except StoreError:
        return


def _header(path: Path, where: str, line: bytes) -> Header:
    """The header of the first line of records."""
    if not _begins(line, "header"):
        raise StoreError(f"{where}: not a header")
    check_format(parse_json(line, path), path)
    header: Header = _parsed(where, line, Header)
    if not 0 < len(header.senders) == len(header.receivers) or min(*header.senders, *header.receivers) < 1:
        raise StoreError(f"{where}: senders, receivers: every hop must have some of both")
    return header


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """The whole lines of a file, each with its place for messages."""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                yield f"{path}, line {number}", line


def _begins(line: bytes, name: str) -> bool:
    return line.startswith(_beginning(name))


def _beginning(name: str) -> bytes:
    """How a line of that type begins: records of other types need not be parsed."""
    return b'{"type": "%s", ' % name.encode()


def _parsed(where: str, line: bytes, held: type[Any]) -> Any:
    """The record of a line, checked against its fields and their types."""
    from pydantic import ValidationError

    name = next(name for name, of in TYPES.items() if of is held)
    try:
        return _adapter(name).validate_json(b"{" + line[len(_beginning(name)) :])
    except ValidationError as error:
        raise StoreError(f"{where}: {first_problem(error)}") from None


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(TYPES[name])


def first_problem(error: Any) -> str:
    """The first problem of a validation error in a few words: where it is and what is wrong."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in problem["loc"] if part != "[key]")
    return f"{place}: {problem['msg']}" if place else str(problem["msg"])


def _misfit(record: ExchangeRecord, header: Header) -> str:
    """Why an exchange cannot belong to this run: unknown hops or senders, ragged lists; empty if it can."""
    if not 0 <= record.hop < len(header.senders) == len(header.receivers):
        return f"hop: there is no hop {record.hop}"
    senders, receivers = header.senders[record.hop], header.receivers[record.hop]
    listed = [*record.ids, *chain.from_iterable(record.idle.values())]
    if len(set(listed)) < len(listed) or any(not 0 <= sender < senders for sender in listed):
        return f"ids, idle: each must name a sender from 0 to {senders - 1}, none twice"
    if any(low >= high for low, high in zip(record.ids, record.ids[1:], strict=False)):
        return "ids: not in increasing order"
    if unknown := {record.rest, *record.why, *record.idle} - set(REASON_NAMES.values()):
        return f"rest, why, idle: unknown reason {min(unknown)!r}"
    lengths = {"active": len(record.ids), "sender": senders, "receiver": receivers}
    expected = dict.fromkeys(OF_ACTIVE, "active") | dict.fromkeys(OF_RECEIVERS, "receiver")
    values = {name: (axis, getattr(record, name)) for name, axis in expected.items()}
    values |= {f"notes.{name}": (note.axis, note.values) for name, note in record.notes.items()}
    for name, (axis, given) in values.items():
        if given is not None and len(given) != lengths[axis]:
            return f"{name}: {len(given)} values for {lengths[axis]} {axis}s"
    return ""


def _cache_misfit(record: CacheRecord, header: Header) -> str:
    """Why a record of caches cannot belong to this run: lists of another length than it has edges; empty if it can."""
    edges = header.receivers[0]
    lists: dict[str, list[Any]] = {"requests": record.requests, "wanted": record.wanted}
    for label, shelf in record.shelves.items():
        lists |= {f"shelves.{label}.{name}": value for name, value in vars(shelf).items() if isinstance(value, list)}
    wrong = next((name for name, values in lists.items() if len(values) != edges), None)
    return "" if wrong is None else f"{wrong}: {len(lists[wrong])} values for {edges} receivers"

"""The data of a run's page: the run, and what a single pass over its records yields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fedradio.core.contracts.records import ExchangeRecord, Note
from fedradio.results.client_states import ClientStates, StateReader
from fedradio.results.quantities import axes
from fedradio.results.run import Floats, Run

NEGATIVE_IS_NONE = frozenset({"staleness", "pseudo_accuracy"})
"""Notes in which -1 means that the sender has no value."""


@dataclass(frozen=True)
class NoteSeries:
    """A note over a hop's exchanges: ``at`` the number of the exchange, from 1, its mean, least and most value.

    Means are over senders or receivers; ``each`` says which.
    """

    at: list[int] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    each: str = "senders"


@dataclass(frozen=True)
class Joules:
    """Joules of one kind on hop 0: of every client ``[C]``, and of every edge round ``[E]``."""

    clients: Floats
    edge_rounds: Floats


@dataclass
class DeviceTimes:
    """Planned and measured quantities of a real device, one value per upload; measured only for those that arrived."""

    planned_s: list[float] = field(default_factory=list)
    planned_j: list[float] = field(default_factory=list)
    measured_s: list[float] = field(default_factory=list)
    train_s: list[float] = field(default_factory=list)
    wire_bits: list[float] = field(default_factory=list)
    why: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Exchanges:
    """Contents of the exchange records: client states and joules, if defined; notes; times of real devices."""

    states: ClientStates
    computing: Joules | None
    sending: Joules | None
    notes: Mapping[tuple[int, str], NoteSeries]
    devices: Mapping[int, DeviceTimes] = field(default_factory=dict)


@dataclass(frozen=True)
class RunData:
    """A run with everything that its page shows, read on demand."""

    run: Run

    def read(self) -> None:
        """Read all records now, in one pass."""
        vars(self)["exchanges"] = read_exchanges(self.run)

    @cached_property
    def exchanges(self) -> Exchanges:
        return read_exchanges(self.run)

    @cached_property
    def totals(self) -> dict[str, Floats]:
        """The cumulative costs after every round, for every axis that is defined."""
        totals = {each.name: each.totals(self.run) for each in axes()}
        return {axis: values for axis, values in totals.items() if values is not None and len(values)}

    @property
    def states(self) -> ClientStates:
        return self.exchanges.states

    @property
    def edge_rounds(self) -> int:
        return self.states.edge_rounds

    @property
    def clients(self) -> int:
        return self.run.clients

    @cached_property
    def joules(self) -> dict[str, Joules]:
        """Joules of ``computing`` and ``sending`` if defined; empty if only one is, and it is always 0."""
        both = {"computing": self.exchanges.computing, "sending": self.exchanges.sending}
        known = {name: values for name, values in both.items() if values is not None}
        return known if len(known) == 2 or any(values.clients.any() for values in known.values()) else {}

    def client_joules(self) -> Floats | None:
        """The joules that each client has spent, ``[C]``; None if undefined."""
        if not self.joules:
            return None
        return np.asarray(sum(values.clients for values in self.joules.values()), dtype=np.float64)

    def client_accuracies(self) -> list[float | None] | None:
        """The accuracy of every client in the last evaluation; None if clients have no test sets of their own."""
        groups = [record.groups["accuracy"] for record in self.run.evaluations if record.groups.get("accuracy")]
        return groups[-1] if groups and len(groups[-1]) == self.clients else None


def read_exchanges(run: Run) -> Exchanges:
    """The contents of a run's exchange records; one pass reads its rounds and evaluations, too."""
    states = StateReader(run.clients)
    computing, sending = _JoulesReader(run.clients), _JoulesReader(run.clients)
    notes: dict[tuple[int, str], NoteSeries] = {}
    number: dict[int, int] = {}
    devices: dict[int, DeviceTimes] = {}
    for record in run.exchanges():
        hop = record.hop
        number[hop] = number.get(hop, 0) + 1
        if hop == 0:
            states.add(record)
            computing.add(record.ids, record.compute_j)
            sending.add(record.ids, record.tx_j)
            _add_devices(devices, record)
        for name, note in record.notes.items():
            _add_note(notes, (hop, name), number[hop], note)
    return Exchanges(states.states(), computing.joules(), sending.joules(), notes, devices)


def _add_devices(devices: dict[int, DeviceTimes], record: ExchangeRecord) -> None:
    """Add an exchange with real devices to what is known of each."""
    if record.measured_s is None:
        return
    for place, client in enumerate(record.ids):
        times = devices.setdefault(client, DeviceTimes())
        times.why.append(record.why[place])
        for name in ("planned_s", "planned_j", "measured_s", "train_s", "wire_bits"):
            values = getattr(record, name)
            if values is not None and values[place] is not None:
                getattr(times, name).append(values[place])


class _JoulesReader:
    """Adds up joules of ``clients``, one edge round after another."""

    def __init__(self, clients: int) -> None:
        self.clients = np.zeros(clients)
        self.edge_rounds: list[float] = []
        self.defined = True

    def add(self, ids: Sequence[int], values: Sequence[float] | None) -> None:
        """The next edge round: the values of the active clients ``ids``."""
        if values is None:
            self.defined = False
            return
        self.clients[np.array(ids, dtype=np.int64)] += values
        self.edge_rounds.append(sum(values))

    def joules(self) -> Joules | None:
        """The sums; None if they were undefined in any edge round, or if there was none."""
        return Joules(self.clients, np.array(self.edge_rounds)) if self.defined and self.edge_rounds else None


def _add_note(notes: dict[tuple[int, str], NoteSeries], key: tuple[int, str], at: int, note: Note) -> None:
    """Add one exchange to a note's series, unless it has no value."""
    known = np.array(note.values, dtype=np.float64)
    if key[1] in NEGATIVE_IS_NONE:
        known = known[known >= 0]
    if not len(known):
        return
    series = notes.setdefault(key, NoteSeries(each="receivers" if note.axis == "receiver" else "senders"))
    series.at.append(at)
    series.mean.append(float(known.mean()))
    series.low.append(float(known.min()))
    series.high.append(float(known.max()))

"""What a single pass over a run's exchange records yields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts.records import EvaluationRecord, ExchangeRecord, Note
from fedradio.results.client_states import ClientStates, Ints, StateReader
from fedradio.results.quantities import axes
from fedradio.runs.summary import least_used

if TYPE_CHECKING:
    from fedradio.results.run import Run

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]

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
    """Joules of one kind on hop 0: of every client ``[C]``, of every edge round ``[E]``, and of every upload."""

    clients: Floats
    edge_rounds: Floats
    uploads: Floats = field(default_factory=lambda: np.zeros(0))


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
class Digest:
    """Contents of the exchange records: client states and joules, if defined; notes; times of real devices.

    ``waiting`` is None where devices draw no power while they wait. ``least_cpu_hz`` is the lowest frequency at which a
    client trained, ``least_power_w`` the lowest power of a sender.
    ``client_metrics``: metrics of the clients with test samples, by name and by the number of rounds done. ``totals``
    are the costs so far after every round, ``series`` the rounds from 0 and the values of every metric.
    """

    states: ClientStates
    computing: Joules | None = None
    sending: Joules | None = None
    waiting: Joules | None = None
    notes: Mapping[tuple[int, str], NoteSeries] = field(default_factory=dict)
    devices: Mapping[int, DeviceTimes] = field(default_factory=dict)
    client_metrics: Mapping[str, Mapping[int, Floats]] = field(default_factory=dict)
    totals: Mapping[str, Floats] = field(default_factory=dict)
    series: Mapping[str, tuple[Ints, Floats]] = field(default_factory=dict)
    least_cpu_hz: float | None = None
    least_power_w: float | None = None

    def curve(self, metric: str, against: str = "rounds") -> Curve | None:
        """A metric against what had been spent by then; None where either is undefined."""
        if metric not in self.series or against not in self.totals:
            return None
        rounds, values = self.series[metric]
        return self.totals[against][rounds], values

    @cached_property
    def joules(self) -> dict[str, Joules]:
        """Joules of ``computing``, ``sending`` and ``waiting`` if defined; empty if only one is, and it is always 0."""
        kinds = {"computing": self.computing, "sending": self.sending, "waiting": self.waiting}
        known = {name: values for name, values in kinds.items() if values is not None}
        return known if len(known) > 1 or any(values.clients.any() for values in known.values()) else {}


def digest(run: Run) -> Digest:
    """The digest of a run's records; the same pass reads its rounds and evaluations."""
    states = StateReader(run.clients)
    computing, sending, waiting = (_JoulesReader(run.clients) for _ in range(3))
    notes: dict[tuple[int, str], NoteSeries] = {}
    number: dict[int, int] = {}
    devices: dict[int, DeviceTimes] = {}
    least: tuple[float | None, float | None] = (None, None)
    for record in run.exchanges():
        hop = record.hop
        least = least_used(record, *least)
        number[hop] = number.get(hop, 0) + 1
        if hop == 0:
            states.add(record)
            computing.add(record.ids, record.compute_j)
            sending.add(record.ids, record.tx_j)
            waiting.add(record.ids, record.wait_j)
            _add_devices(devices, record)
        for name, note in record.notes.items():
            _add_note(notes, (hop, name), number[hop], note)
    clients = client_metrics(run.evaluations)
    joules = (computing.joules(), sending.joules(), waiting.joules())
    return Digest(states.states(), *joules, notes, devices, clients, totals(run), series(run), *least)


def totals(run: Run) -> dict[str, Floats]:
    """The costs so far after every round, for every axis that is defined."""
    found = {each.name: each.totals(run) for each in axes()}
    return {name: values for name, values in found.items() if values is not None and len(values)}


def series(run: Run) -> dict[str, tuple[Ints, Floats]]:
    """Rounds, from 0, and values of every metric; of ``train_loss`` those of the rounds."""
    points: dict[str, list[tuple[int, float]]] = {}
    for record in run.evaluations:
        for name, value in record.metrics.items():
            points.setdefault(name, []).append((record.round - 1, value))
    points["train_loss"] = [(record.t, record.train_loss) for record in run.rounds if record.train_loss is not None]
    return {
        name: (np.array([t for t, _ in some]), np.array([value for _, value in some], dtype=np.float64))
        for name, some in points.items()
        if some
    }


def client_metrics(records: Sequence[EvaluationRecord]) -> dict[str, dict[int, Floats]]:
    """Metrics of the clients that have test samples, by name and by the number of rounds done."""
    found: dict[str, dict[int, Floats]] = {}
    for record in records:
        for name, values in record.groups.items():
            if known := [value for value in values if value is not None]:
                found.setdefault(name, {})[record.round] = np.array(known, dtype=np.float64)
    return found


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
        self.uploads: list[float] = []
        self.defined = True

    def add(self, ids: Sequence[int], values: Sequence[float] | None) -> None:
        """The next edge round: the values of the active clients ``ids``."""
        if values is None:
            self.defined = False
            return
        self.clients[np.array(ids, dtype=np.int64)] += values
        self.edge_rounds.append(sum(values))
        self.uploads += values

    def joules(self) -> Joules | None:
        """The sums; None if they were undefined in any edge round, or if there was none."""
        if not self.defined or not self.edge_rounds:
            return None
        return Joules(self.clients, np.array(self.edge_rounds), np.array(self.uploads))


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

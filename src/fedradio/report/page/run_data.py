"""The data of a run's page: the run, and what one pass over its exchanges gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fedradio.results.run import AXES, Floats, PastRun

NEGATIVE_IS_NONE = frozenset({"staleness", "pseudo_accuracy"})
"""Notes in which -1 means that a sender has no value."""

OF_ACTIVE = frozenset({"tx_power"})
"""Notes that have values for active senders only."""


@dataclass(frozen=True)
class Note:
    """A note of a hop's exchanges: ``at`` the number of the exchange, from 1, its mean, least and most value.

    Means are over senders or receivers; ``each`` says which.
    """

    at: list[int] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    each: str = "senders"


@dataclass(frozen=True)
class Exchanges:
    """Contents of the exchange records: joules of hop 0 ``[E, C]`` if defined, total channel uses by round, notes."""

    computing: Floats | None
    sending: Floats | None
    uses: Floats | None
    notes: Mapping[tuple[int, str], Note]


@dataclass(frozen=True)
class RunData:
    """A run with everything that its page shows, read when it is needed."""

    run: PastRun

    @cached_property
    def exchanges(self) -> Exchanges:
        return read_exchanges(self.run)

    @cached_property
    def totals(self) -> dict[str, Floats]:
        """What had been spent after every round, for every axis that is defined."""
        totals = {axis: self.run.totals(axis) for axis in AXES} | {"uses": self.exchanges.uses}
        return {axis: values for axis, values in totals.items() if values is not None and len(values)}

    @property
    def edge_rounds(self) -> int:
        return len(self.run.participation.active)

    @property
    def clients(self) -> int:
        shape = self.run.participation.active.shape
        return shape[1] if len(shape) == 2 else 0

    @cached_property
    def joules(self) -> dict[str, Floats]:
        """Joules of ``computing`` and ``sending`` ``[E, C]`` if defined; empty if only one is, and it is always 0."""
        both = {"computing": self.exchanges.computing, "sending": self.exchanges.sending}
        known = {name: values for name, values in both.items() if values is not None}
        return known if len(known) == 2 or any(values.any() for values in known.values()) else {}

    def shares(self) -> Floats:
        """The share of edge rounds in which each client's payload arrived, ``[C]``."""
        return np.asarray(self.run.participation.arrived.mean(axis=0), dtype=np.float64)

    def client_joules(self) -> Floats | None:
        """The joules that each client has spent, ``[C]``; None if undefined."""
        if not self.joules:
            return None
        return np.asarray(sum(values.sum(axis=0) for values in self.joules.values()), dtype=np.float64)

    def client_accuracies(self) -> list[float | None] | None:
        """The accuracy of every client in the last evaluation; None if clients have no test sets of their own."""
        groups = [
            row["groups"]["accuracy"] for row in self.run.evaluations if (row.get("groups") or {}).get("accuracy")
        ]
        return groups[-1] if groups and len(groups[-1]) == self.clients else None


def read_exchanges(run: PastRun) -> Exchanges:
    """The contents of a run's exchange records, in one pass."""
    computing: list[Any] = []
    sending: list[Any] = []
    uses: dict[int, float] = {}
    notes: dict[tuple[int, str], Note] = {}
    number: dict[int, int] = {}
    for row in run.records("exchange"):
        hop = row["hop"]
        number[hop] = number.get(hop, 0) + 1
        if hop == 0:
            computing.append(None if row["compute_j"] is None else np.array(row["compute_j"]))
            sending.append(None if row["tx_j"] is None else np.array(row["tx_j"]))
        if row["uses"] is not None:
            uses[row["t"]] = uses.get(row["t"], 0.0) + row["uses"]
        for name, values in row["notes"].items():
            _add_note(notes, (hop, name), number[hop], values, row["active"])
    spent = np.cumsum([uses.get(t, 0.0) for t in range(len(run.rounds))]) if uses else None
    return Exchanges(_stacked(computing), _stacked(sending), spent, notes)


def _add_note(
    notes: dict[tuple[int, str], Note], key: tuple[int, str], at: int, values: Sequence[float], active: Sequence[bool]
) -> None:
    """Add one exchange to a note, unless it has no value."""
    every = np.array(values, dtype=np.float64)
    of_senders = len(values) == len(active)
    defined = ~np.isnan(every)
    if key[1] in NEGATIVE_IS_NONE:
        defined &= every >= 0
    elif key[1] in OF_ACTIVE and of_senders:
        defined &= np.array(active, dtype=np.bool_)
    known = every[defined]
    if not len(known):
        return
    note = notes.setdefault(key, Note(each="senders" if of_senders else "receivers"))
    note.at.append(at)
    note.mean.append(float(known.mean()))
    note.low.append(float(known.min()))
    note.high.append(float(known.max()))


def _stacked(rows: list[Any]) -> Floats | None:
    return np.stack(rows) if rows and all(row is not None for row in rows) else None

"""What the page needs of a run beyond what the run itself answers: one walk over the exchanges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fedradio.results.run import AXES, Floats, PastRun

NEVER = frozenset({"staleness", "pseudo_accuracy"})
"""Notes in which -1 says that there is nothing to tell of a sender."""

OF_ACTIVE = frozenset({"tx_power"})
"""Notes that only tell of the senders which were active."""


@dataclass(frozen=True)
class Note:
    """A note of a hop's exchanges: number of the exchange, from 1, and mean, least and most over its senders or
    receivers; ``each`` says which."""

    at: list[int] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    each: str = "senders"


@dataclass(frozen=True)
class Exchanges:
    """Joules of hop 0's computing and sending ``[E, C]`` where defined, channel uses of every round, and notes."""

    computing: Floats | None
    sending: Floats | None
    uses: Floats | None
    notes: Mapping[tuple[int, str], Note]


@dataclass(frozen=True)
class Reading:
    """A run with everything that its page shows."""

    run: PastRun

    @cached_property
    def exchanges(self) -> Exchanges:
        return read_exchanges(self.run)

    @cached_property
    def totals(self) -> dict[str, Floats]:
        """What had been spent after every round, for every axis that is defined."""
        found = {axis: self.run.totals(axis) for axis in AXES} | {"uses": self.exchanges.uses}
        return {axis: values for axis, values in found.items() if values is not None and len(values)}

    @property
    def edge_rounds(self) -> int:
        return len(self.run.participation.active)

    @property
    def clients(self) -> int:
        shape = self.run.participation.active.shape
        return shape[1] if len(shape) == 2 else 0

    @cached_property
    def joules(self) -> dict[str, Floats]:
        """``computing`` and ``sending`` ``[E, C]``, as far as they are defined and anything at all."""
        both = {"computing": self.exchanges.computing, "sending": self.exchanges.sending}
        known = {name: values for name, values in both.items() if values is not None}
        return known if len(known) == 2 or any(values.any() for values in known.values()) else {}

    def shares(self) -> Floats:
        """The share of edge rounds in which each client's payload arrived, ``[C]``."""
        return np.asarray(self.run.participation.arrived.mean(axis=0), dtype=np.float64)

    def client_joules(self) -> Floats | None:
        """What each client has spent, ``[C]``."""
        if not self.joules:
            return None
        return np.asarray(sum(values.sum(axis=0) for values in self.joules.values()), dtype=np.float64)

    def client_accuracies(self) -> list[float | None] | None:
        """The accuracy of every client in the last evaluation, where each has a test set of its own."""
        groups = [
            row["groups"]["accuracy"] for row in self.run.evaluations if (row.get("groups") or {}).get("accuracy")
        ]
        return groups[-1] if groups and len(groups[-1]) == self.clients else None


def read_exchanges(run: PastRun) -> Exchanges:
    """Walk over the exchanges once."""
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
            _note(notes, (hop, name), number[hop], values, row["active"])
    spent = np.cumsum([uses.get(t, 0.0) for t in range(len(run.rounds))]) if uses else None
    return Exchanges(_stacked(computing), _stacked(sending), spent, notes)


def _note(
    notes: dict[tuple[int, str], Note], key: tuple[int, str], at: int, values: Sequence[float], active: Sequence[bool]
) -> None:
    """Add one exchange to a note; those that tell nothing are left out."""
    found = np.array(values, dtype=np.float64)
    of_senders = len(values) == len(active)
    told = ~np.isnan(found)
    if key[1] in NEVER:
        told &= found >= 0
    elif key[1] in OF_ACTIVE and of_senders:
        told &= np.array(active, dtype=np.bool_)
    found = found[told]
    if not len(found):
        return
    note = notes.setdefault(key, Note(each="senders" if of_senders else "receivers"))
    note.at.append(at)
    note.mean.append(float(found.mean()))
    note.low.append(float(found.min()))
    note.high.append(float(found.max()))


def _stacked(rows: list[Any]) -> Floats | None:
    return np.stack(rows) if rows and all(row is not None for row in rows) else None

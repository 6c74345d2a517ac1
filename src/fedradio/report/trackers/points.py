"""What a tracker stores about a run: the values of its spec, and named numbers for every round and evaluation.

The step of a number is the number of rounds made so far; its time is the clock of the machine that made them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from fedradio.core.contracts.records import EvaluationRecord, ExchangeRecord, RoundRecord
from fedradio.results.quantities import QUANTITIES, counted
from fedradio.results.run import Run
from fedradio.spec.yaml import flatten

ROUNDS = "spent/rounds"
"""The number that shows how many rounds a tracker has seen."""


@dataclass(frozen=True)
class Point:
    """Numbers by name after ``step`` rounds, ``at_s`` seconds after the beginning of 1970."""

    step: int
    at_s: float
    values: dict[str, float]


class Tracker(Protocol):
    """A store of numbers, open for one run."""

    def seen(self) -> int:
        """How many rounds of the run are already in the store."""

    def add(self, points: list[Point]) -> None:
        """Store further numbers."""

    def close(self, status: str) -> None:
        """Mark the run as fully stored, with its ``status``."""


def settings(run: Run) -> dict[str, Any]:
    """The values of a run's spec by their dotted keys."""
    return dict(flatten(run.spec.plain))


def began_s(run: Run) -> float:
    """When a run began, in seconds after the beginning of 1970; 0 if that is not on record."""
    started = run.environment.get("started")
    return 0.0 if started is None else datetime.fromisoformat(started).timestamp()


def points(run: Run, after: int = 0) -> Iterator[Point]:
    """The numbers of a run from round ``after + 1`` on: ``evaluation/...``, ``round/...`` and sums ``spent/...``.

    A sum is left out from the first round on in which its amount is undefined.
    """
    tally, at_s = _Tally(), began_s(run)
    for record in run.records():
        if isinstance(record, ExchangeRecord):
            tally.count(record)
        elif isinstance(record, RoundRecord):
            at_s += record.wall_s or 0.0
            values = tally.close(record)
            if record.t >= after:
                yield Point(record.t + 1, at_s, values)
        elif isinstance(record, EvaluationRecord) and record.round > after:
            yield Point(record.round, at_s, {f"evaluation/{name}": value for name, value in record.metrics.items()})


class _Tally:
    """Adds up what rounds have spent."""

    def __init__(self) -> None:
        axes = [each for each in QUANTITIES.values() if each.axis]
        self._of_rounds = [each for each in axes if each.per == "round"]
        self._sums: dict[str, float | None] = {each.name: 0.0 for each in axes}
        self._means = [each.name for each in QUANTITIES.values() if each.per == "exchange" and each.total == "mean"]
        self._round: dict[str, list[float]] = {}

    def count(self, record: ExchangeRecord) -> None:
        """Take an exchange of the present round into account."""
        for name, amount in counted(record):
            self._round.setdefault(name, []).append(amount)

    def close(self, record: RoundRecord) -> dict[str, float]:
        """The numbers of a round that has ended."""
        for quantity in self._of_rounds:
            assert quantity.amount is not None
            self._add(quantity.name, quantity.amount(record))
        for name, amounts in self._round.items():
            if name in self._sums:
                self._add(name, sum(amounts))
        of_round = {
            name: sum(self._round[name]) / len(self._round[name]) for name in self._means if name in self._round
        }
        known = {"train_loss": record.train_loss, "wall_s": record.wall_s, **of_round}
        counts = {name for name in self._sums if name in self._round or QUANTITIES[name].per == "round"}
        self._round = {}
        spent = {f"spent/{name}": self._sums[name] for name in self._sums if name in counts}
        every = {f"round/{name}": value for name, value in known.items()} | spent
        return {name: float(value) for name, value in every.items() if value is not None}

    def _add(self, name: str, amount: float | None) -> None:
        before = self._sums[name]
        self._sums[name] = None if amount is None or before is None else before + amount

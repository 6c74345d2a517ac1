"""The description of a quantity: how it is read from a run, summed up and shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedradio.core.units import show, show_count, show_number, show_percent, show_seconds

if TYPE_CHECKING:
    from fedradio.results.run import Run

Format = Literal["percent", "clock", "prefix", "count", "number"]
"""A share in percent, a duration, a number with an SI prefix and unit, a count or mean of counts, a plain number."""

Better = Literal["more", "less"]
"""Direction in which a quantity improves."""

Per = Literal["round", "exchange", "evaluation"]
"""Type of the records that a quantity is read from."""

Total = Literal["sum", "mean", "last", "best"]
"""How amounts of records become the number of a run."""

Shown = Literal["variants", "run", "export"]
"""Where a quantity has a column: also where variants are compared; only for a single run; only in exported tables."""


@dataclass(frozen=True)
class Quantity:
    """A quantity of runs: its name in JSON, its title and unit, and how it is read, summed up and shown.

    ``amount`` reads a record of the type ``per``; None is undefined, of an exchange: it does not count. ``total`` turns
    the amounts into the number of a run. ``field`` is that number in ``summary.json``, taken if it is there, and the
    name of the exported column. ``read`` gives the number of a run that follows from others.

    ``axis``: curves can be drawn against the running sum. ``short`` is the title of a narrow column, ``long`` that of a
    figure's axis. ``absent`` says why runs may lack it; a quantity without such a sentence is left out where no run has
    it. ``reference``: a level to compare accuracies with.
    """

    name: str
    title: str
    unit: str = ""
    format: Format = "number"
    better: Better | None = None
    per: Per | None = None
    amount: Callable[[Any], float | None] | None = None
    total: Total = "sum"
    field: str = ""
    read: Callable[[Run], float | None] | None = None
    axis: bool = False
    shown: Shown = "variants"
    short: str = ""
    long: str = ""
    absent: str = ""
    reference: bool = False

    @property
    def column(self) -> str:
        """Name of the column in exported tables."""
        return self.field or self.name

    @property
    def heading(self) -> str:
        """The title with a capital letter."""
        return self.title[0].upper() + self.title[1:]

    @property
    def scale(self) -> float:
        """Factor of values that are shown without their unit: 100 for shares."""
        return 100.0 if self.format == "percent" else 1.0

    def text(self, value: float | None) -> str:
        """A value with its unit; a dash where it is undefined."""
        if self.format == "prefix":
            return show(value, self.unit)
        formats = {"percent": show_percent, "clock": show_seconds, "count": show_count, "number": show_number}
        return formats[self.format](value)

    def listed(self, values: Iterable[object]) -> bool:
        """Whether a table of these values has a column for them."""
        return bool(self.absent) or any(value is not None for value in values)

    def of(self, run: Run) -> float | None:
        """The number of a whole run, from its summary, else from its records; None where it is undefined."""
        if self.read is not None:
            return self.read(run)
        if run.summary is not None and self.field in run.summary:
            told: float | None = run.summary[self.field]
            return told
        if self.per == "evaluation" and self.total == "last" and self.name in run.last:
            return run.last[self.name]
        return _combined(self.amounts(run), self.total, self.better)

    def amounts(self, run: Run) -> list[float | None]:
        """The amounts of all records; of the exchanges, of those that count."""
        if self.per is None or self.amount is None:
            return []
        if self.per == "exchange":
            return [amount for _, amount in run.tallies.get(self.name, ())]
        records: Sequence[Any] = run.rounds if self.per == "round" else run.evaluations
        return [self.amount(record) for record in records]

    def totals(self, run: Run) -> NDArray[np.float64] | None:
        """The running sum after each round, ``[rounds]``; None where it is undefined."""
        if run.summary is not None and run.summary.get(self.field, 0) is None:
            return None  # known without a look at the records
        amounts = self.amounts(run)
        if not amounts or None in amounts:
            return None
        of_rounds = np.array(amounts, dtype=np.float64)
        if self.per == "exchange":
            of_rounds = np.zeros(len(run.rounds))
            for t, amount in run.tallies[self.name]:
                of_rounds[t : t + 1] += amount  # nothing for a round that was not finished
        return np.cumsum(of_rounds)


def _combined(amounts: Sequence[float | None], total: Total, better: Better | None) -> float | None:
    """The number of a run from the amounts of its records; sums and means are undefined where one amount is."""
    known = [amount for amount in amounts if amount is not None]
    if total == "last":
        return amounts[-1] if amounts else None
    if total == "best":
        return min(known, default=None) if better == "less" else max(known, default=None)
    if not known or len(known) < len(amounts):
        return None
    return sum(known) / len(known) if total == "mean" else sum(known)

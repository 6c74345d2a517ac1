"""A paper's theory evaluated on a run, as plain data: bounds with their terms, constants, conditions, notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Constant:
    """A constant of a theorem, and where its value is from."""

    name: str
    symbol: str
    value: float
    source: str


@dataclass(frozen=True)
class Condition:
    """A condition of a theorem in numbers, ``value <= limit`` or another relation; ``name`` is how the paper writes it
    and where."""

    name: str
    value: float
    limit: float
    relation: Literal["<", "<=", ">", ">="] = "<="

    @property
    def holds(self) -> bool:
        below, equal = self.value < self.limit, self.value == self.limit
        return {"<": below, "<=": below or equal, ">": not (below or equal), ">=": not below}[self.relation]


@dataclass(frozen=True)
class BoundColumn:
    """A bound over some rounds by its terms, and the bounded quantity over the same rounds where it was measured."""

    title: str
    rounds: int
    terms: dict[str, float]
    measured: float | None = None

    @property
    def total(self) -> float:
        return sum(self.terms.values())

    @property
    def holds(self) -> bool | None:
        """Whether the measured quantity is within the bound; None if it was not measured."""
        return None if self.measured is None else self.measured <= self.total


@dataclass(frozen=True)
class BoundTable:
    """A bound of the paper: what it bounds, its columns, and whether its conditions hold on this run (``applies``).

    With ``exact`` the terms add up to the expected value of the measured quantity, which is then one draw of it.
    """

    title: str
    columns: list[BoundColumn]
    applies: bool
    exact: bool = False


@dataclass(frozen=True)
class Listing:
    """A further table: numbers by round or by name."""

    title: str
    header: list[str]
    rows: list[list[str | float | None]]


@dataclass(frozen=True)
class Assessment:
    """A paper's theory evaluated on a run.

    ``meaning`` says in plain words what the numbers mean; ``rates`` are learning rates by name; ``notes`` say where the
    run deviates from what the paper assumes.
    """

    paper: str
    title: str
    meaning: str
    bounds: list[BoundTable]
    constants: list[Constant]
    conditions: list[Condition]
    rates: dict[str, float] = field(default_factory=dict)
    listings: list[Listing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[Condition]:
        """The conditions that do not hold."""
        return [condition for condition in self.conditions if not condition.holds]


def exceeded(bounds: list[BoundTable]) -> list[str]:
    """Notes on bounds whose conditions hold and that are below what was measured."""
    return [
        f"measured {column.measured:.4g} exceeds the bound {column.total:.4g} ({bound.title}; {column.title})"
        for bound in bounds
        for column in bound.columns
        if column.holds is False and bound.applies and not bound.exact
    ]

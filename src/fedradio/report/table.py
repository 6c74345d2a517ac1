"""Tables as plain data: the terminal and the page render them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Cell = str | None
"""Text of a cell; None is undefined."""


class Rows(Protocol):
    """Rows of a table, by their number."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Sequence[Cell]: ...


@dataclass(frozen=True)
class LazyRows:
    """``count`` rows of a long table; ``row(number)`` formats one when it is shown."""

    count: int
    row: Callable[[int], Sequence[Cell]]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int, /) -> Sequence[Cell]:
        return self.row(number)


@dataclass(frozen=True)
class Table:
    """A table with its title; ``what`` the rows are, such as clients."""

    title: str
    head: Sequence[str]
    rows: Rows
    what: str = "rows"

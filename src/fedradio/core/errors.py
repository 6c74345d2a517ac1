"""Errors shown to users. All problems of an input are reported at once; missed deadlines and outages are data."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """One problem of an input: its path, the given value, the reason why it is refused, and a remedy."""

    path: str
    reason: str
    remedy: str = ""
    value: Any = None

    def __str__(self) -> str:
        given = "" if self.value is None else f" (given {_short(self.value)})"
        remedy = f" -> {self.remedy}" if self.remedy else ""
        return f"{self.path}: {self.reason}{given}{remedy}"


class FedradioError(Exception):
    """Base of every error that fedradio raises on purpose."""

    exit_code = 1


class SpecError(FedradioError):
    """The input cannot be run; carries all its problems."""

    exit_code = 2

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: Sequence[Problem] = [problems] if isinstance(problems, Problem) else list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class DivergenceError(FedradioError):
    """A loss or a parameter became NaN or infinite; names the round and the clients.

    ``t`` is the index of the round, from 0 as in records; ``round`` and the message count from 1 as progress does.
    """

    exit_code = 3

    def __init__(self, t: int, clients: Sequence[int], what: str) -> None:
        self.round = t + 1
        self.clients = list(clients)
        place = f" at client(s) {', '.join(map(str, self.clients[:8]))}" if self.clients else " of the merged model"
        more = f" and {len(self.clients) - 8} more" if len(self.clients) > 8 else ""
        reason = f"round {self.round}: {what} is NaN or infinite{place}{more}"
        super().__init__(f"{reason}; a smaller rule.lr or algorithm rate usually helps")


class OwnCodeError(FedradioError):
    """Code of the user's own failed in the middle of a run; names the round, the code and the reason."""

    exit_code = 2


class DataError(FedradioError):
    """A data set is absent or damaged; the message says what to do."""

    exit_code = 4


class StoreError(FedradioError):
    """A run folder cannot be written or read."""

    exit_code = 5


class InUseError(StoreError):
    """Another process is at work in a folder."""


class FormatError(StoreError):
    """A file was written in another format, by another version of fedradio."""


class NotEmptyError(StoreError):
    """A folder for something new holds something already."""


def _short(value: Any, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


SHORTEST_START = 3
"""Letters from which on a name counts as the beginning of others."""


def suggest(given: str, known: Sequence[str]) -> str:
    """``did you mean ...?`` for a name that is close to a known one; empty where none is.

    If known names begin with the given one, it is all of these: none of them is nearer than another.
    """
    longer = [name for name in dict.fromkeys(known) if name.startswith(given)] if len(given) >= SHORTEST_START else []
    near = longer or difflib.get_close_matches(given, known, n=1, cutoff=0.65)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""

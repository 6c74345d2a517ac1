"""Tasks of a pool, what is said about them while they are made, and the contract of pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

NOT_BEGUN = "not started"
"""Status of a task that was never begun, because the batch was stopped before its turn."""


@dataclass(frozen=True)
class Task:
    """A run to be made by whoever takes it: its number in the batch, and a message of JSON types alone.

    The message has the ``spec``, the ``folder`` (absolute), the ``device``, the ``workers`` (threads), the ``parts``
    (files of the user's own, each a path and its SHA-256) and ``skip_held``: whether a run that another process holds
    is left to it.
    """

    number: int
    message: Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """News of a task: ``round``, ``noted`` or, as the last, ``end``, with the message of whoever makes it."""

    number: int
    kind: Literal["round", "noted", "end"]
    message: Mapping[str, Any]


Tell = Callable[[Said], None]


class Stop(Protocol):
    """The wish to stop: with ``asked``, runs end after the round under way and no other is begun."""

    @property
    def asked(self) -> bool: ...


class Pool(Protocol):
    """Whoever makes many runs at a time: processes of this machine, or a cluster."""

    def share(self, runs: int, workers: int | None) -> tuple[int, int]:
        """Runs at a time, and threads of each, for so many runs that want so many threads (None: as suits the pool)."""
        ...

    def make(self, tasks: Iterator[Task], tell: Tell, stop: Stop) -> None:
        """Make all tasks; each is asked for when its turn has come, and gets exactly one ``end``.

        What is said is told in the calling thread. Nothing is left running when this returns. When an exception passes
        through, of ``tell`` or a second Ctrl-C, runs are ended at once.
        """
        ...


def end(status: str, error: str | None, exit_code: int) -> dict[str, Any]:
    """The last message about a task."""
    return {"event": "end", "status": status, "error": error, "exit_code": exit_code}


def not_begun() -> dict[str, Any]:
    """The last message about a task that was never begun."""
    return end(NOT_BEGUN, None, 130)

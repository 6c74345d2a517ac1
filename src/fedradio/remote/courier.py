"""Progress and notes of a run on another machine, and the wish to stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from fedradio.sweeps.tasks import end

Json = dict[str, Any]

TELL_EVERY_S = 1.0
"""Time between two reports of progress, with which the wish to stop comes back."""


class Mailbox:
    """Where tasks leave messages and the pool takes them; it also holds the wish to stop."""

    def __init__(self) -> None:
        self._news: list[tuple[int, Json]] = []
        self._stopped = False

    def tell(self, number: int, messages: list[Json]) -> bool:
        """Leave messages about a task; returns whether it is to stop."""
        self._news += [(number, message) for message in messages]
        return self._stopped

    def take(self) -> list[tuple[int, Json]]:
        """All messages that have come since the last time."""
        news, self._news = self._news, []
        return news

    def stop(self) -> None:
        """From now on every task hears that it is to stop."""
        self._stopped = True


class Courier:
    """A thread that carries the progress and the notes of one run.

    The run itself never waits for it. ``tell`` leaves messages and returns whether the run is to stop; then the next
    report of a round raises :class:`KeyboardInterrupt` in the run, as Ctrl-C would.
    """

    def __init__(self, tell: Callable[[list[Json]], bool]) -> None:
        self._tell = tell
        self._notes: list[Json] = []
        self._round: Json | None = None
        self._stopped = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self.end = end("failed", "the run ended without a result", 1)

    def __enter__(self) -> Courier:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Carry what is left; the end itself is for the caller."""
        self._over.set()
        self._thread.join()
        self._visit()

    def send(self, message: Json) -> None:
        """Take a message of the run, to be carried in time; of its rounds, the last is enough."""
        if message["event"] == "end":
            self.end = message
        elif message["event"] == "round":
            self._round = message
            if self._stopped:
                raise KeyboardInterrupt
        else:
            self._notes.append(message)

    def _carry(self) -> None:
        while not self._over.wait(TELL_EVERY_S):
            try:
                self._visit()
            except Exception:  # the pool is gone: the run ends after its round
                self._stopped = True
                return

    def _visit(self) -> None:
        """Leave everything that is new, and hear whether to stop."""
        notes, self._notes = self._notes, []
        latest, self._round = self._round, None
        stopped = self._tell([*notes, *([] if latest is None else [latest])])
        self._stopped = self._stopped or stopped

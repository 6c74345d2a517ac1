"""News of a run that is made elsewhere, between whoever makes it and the process that has asked for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from fedradio.remote.shipping import Outbox
from fedradio.sweeps.tasks import end

Json = dict[str, Any]

TELL_EVERY_S = 1.0
"""Time between two reports of progress, with which the wish to stop comes back."""

SHIP_EVERY_S = 2.0
"""Shortest time between two shipments of files."""

SHIP_SHARE = 0.05
"""Largest share of the wall time spent on shipments, but for the last."""


class Mailbox:
    """Where those who make runs leave messages, and the one who has asked for them takes them; it also holds the wish
    to stop, and answers to single tasks."""

    def __init__(self) -> None:
        self._news: list[tuple[int, Json]] = []
        self._answers: dict[int, Json] = {}
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
        """From now on everybody hears that they are to stop."""
        self._stopped = True

    def answer(self, number: int, answer: Json) -> None:
        """Leave an answer for a task."""
        self._answers[number] = answer

    def answered(self, number: int) -> Json | None:
        """The answer for a task, once; None as long as there is none."""
        return self._answers.pop(number, None)


class Courier:
    """A thread that carries the news of one run: progress, notes and, where the folder is not shared, its files.

    The run itself never waits for it. ``tell`` leaves messages and returns whether the run is to stop; then the next
    report of a round raises :class:`KeyboardInterrupt` in the run, as Ctrl-C would.
    """

    def __init__(self, tell: Callable[[list[Json]], bool], folder: Path | None = None) -> None:
        self._tell = tell
        self._outbox = None if folder is None else Outbox(folder)
        self._notes: list[Json] = []
        self._round: Json | None = None
        self._begun = self._stopped = False
        self._over = threading.Event()
        self._next_shipment = 0.0
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self.end = end("failed", "the run ended without a result", 1)

    def __enter__(self) -> Courier:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Carry what is left; the end itself is for the caller."""
        self._over.set()
        self._thread.join()
        self._begun = True
        self._next_shipment = 0.0
        self._visit()

    def send(self, message: Json) -> None:
        """Take a message of the run, to be carried in time; of its rounds, the last is enough."""
        if message["event"] == "end":
            self.end = message
        elif message["event"] == "round":
            self._round, self._begun = message, True
            if self._stopped:
                raise KeyboardInterrupt
        else:
            self._notes.append(message)

    def _carry(self) -> None:
        while not self._over.wait(TELL_EVERY_S):
            try:
                self._visit()
            except Exception:  # whoever has asked is gone, and nobody else is there to be told
                self._stopped = True
                return

    def _visit(self) -> None:
        """Leave everything that is new, and hear whether to stop."""
        notes, self._notes = self._notes, []
        latest, self._round = self._round, None
        messages = [*notes, *([] if latest is None else [latest])]
        began = time.monotonic()
        shipment = None
        if self._outbox is not None and self._begun and began >= self._next_shipment:
            shipment = self._outbox.shipment()
        stopped = self._tell([*messages, *([] if shipment is None else [shipment])])
        if shipment is not None:
            spent_s = time.monotonic() - began
            self._next_shipment = began + max(SHIP_EVERY_S, spent_s / SHIP_SHARE)
        self._stopped = self._stopped or stopped

"""The latest page of a folder: made on request if something has changed, by one thread at a time.

Making a page reads all records again. To use at most a fifth of one core while a run is in progress, the next page is
made no earlier than ``4 r`` seconds after one that took ``r`` seconds, and at least one second later.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

from fedradio.core.errors import FedradioError
from fedradio.report.live.watched import Standing, standing
from fedradio.report.page import page
from fedradio.report.page.document import document
from fedradio.report.page.html import Html, paragraph, section, tag

LEAST_PAUSE_S = 1.0
PAUSE = 4.0
"""Minimum time between two pages: in seconds, and as a multiple of the time that the last one took."""

LOOK_S = 0.25
"""Seconds between two checks of a folder's files while a page waits for updates."""


@dataclass(frozen=True)
class Snapshot:
    """A page as it was made, and the version of the files that it shows."""

    version: str
    html: str


class Latest:
    """The latest page of ``folder``, for any number of threads that ask."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.closing = False
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._next = 0.0

    def now(self) -> Snapshot:
        """The latest page, made anew if the files have changed and enough time has passed."""
        with self._lock:
            found = standing(self.folder)
            old = self._snapshot
            if old is not None and (old.version == found.version or (self._early() and found.state == "running")):
                return old
            began = time.monotonic()
            self._snapshot = made = Snapshot(found.version, _html(self.folder, found))
            now = time.monotonic()
            self._next = now + max(LEAST_PAUSE_S, PAUSE * (now - began))
            return made

    def after(self, version: str, most_s: float) -> Snapshot:
        """The latest page as soon as it differs from ``version``; the current one after ``most_s`` or on closing."""
        until = time.monotonic() + most_s
        while True:
            closing = self.closing  # before the look, so that the last page is that of the end
            found = self.now()
            if found.version != version or closing or time.monotonic() >= until:
                return found
            time.sleep(LOOK_S)

    def _early(self) -> bool:
        return not self.closing and time.monotonic() < self._next


def _html(folder: Path, found: Standing) -> str:
    """The page of a folder, or a page that explains why there is nothing to show."""
    live = tag(
        "p", found.sentence, id="live", class_="live", role="status", data_version=found.version, data_state=found.state
    )
    if found.state == "waiting":
        waiting = "Nothing has started yet. This page will show the run or sweep as soon as it does."
        return _plain_page("waiting", "Waiting", waiting, live)
    try:
        return page(folder, live=live)
    except FedradioError as error:
        return _plain_page("trouble", "Cannot be shown", str(error), live)


def _plain_page(identity: str, title: str, text: str, live: Html) -> str:
    """A page of one sentence."""
    inside = section(identity, title, paragraph(text))
    return document(f"{title} - fedradio", [tag("div", tag("h1", "fedradio"))], {identity: (title, inside)}, live=live)

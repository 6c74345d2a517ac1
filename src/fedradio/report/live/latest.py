"""The latest page of a folder: made when somebody asks and something has changed, by one thread at a time.

Making a page reads all records again. It therefore takes at most a fifth of one core's time while a run goes on: after
a page that took ``r`` seconds the next one is made ``4 r`` seconds later, and never sooner than after a second.
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
"""Seconds between two pages: at least so many, and so many times what the last one took."""

LOOK_S = 0.25
"""Seconds between two looks at the files of a folder, while somebody waits for news."""


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
        """The latest page; a new one, if the files have changed and enough time has passed."""
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
        """The latest page once it is another than ``version``; the same after ``most_s``, or when we are closing."""
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
    """The page of a folder; one that says what is wrong where there is nothing to show."""
    live = tag(
        "p", found.sentence, id="live", class_="live", role="status", data_version=found.version, data_state=found.state
    )
    if found.state == "waiting":
        return _plain_page(
            "waiting",
            "Waiting",
            "Nothing has begun yet. This page shows the run or the sweep as soon as it does.",
            live,
        )
    try:
        return page(folder, live=live)
    except FedradioError as error:
        return _plain_page("trouble", "Cannot be shown", str(error), live)


def _plain_page(identity: str, title: str, text: str, live: Html) -> str:
    """A page of one sentence."""
    inside = section(identity, title, paragraph(text))
    return document(f"{title} - fedradio", [tag("div", tag("h1", "fedradio"))], {identity: (title, inside)}, live=live)

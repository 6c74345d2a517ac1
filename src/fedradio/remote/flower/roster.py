"""Who takes part in a federation: the devices that have connected, and what they announced."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from fedradio._version import __version__
from fedradio.core.contracts import Slots
from fedradio.core.errors import DataError
from fedradio.remote.flower.letters import FORMAT, Letter, LetterError
from fedradio.remote.flower.mailbox import POLL_S, Mailbox, ask
from fedradio.spec.spec import Spec

Tell = Callable[[str], None]
Shapes = Mapping[str, tuple[int, ...]]

MOST_COUNT = 1 << 40
"""Most samples that a device can say it has: sums of them stay exact."""

GOODBYE_S = 5.0
"""Seconds for devices to hear that a federation does not come about."""


@dataclass
class Roster:
    """Devices of a federation: the ``node`` and the ``signals`` of every client that has said hello, and the kind of
    processor of each. ``owner`` is the client whose key a node has (None: keys say nothing)."""

    clients: int
    owner: Mapping[int, int] | None = None
    node: dict[int, int] = field(default_factory=dict)
    signals: dict[int, Slots] = field(default_factory=dict)
    processors: dict[int, str] = field(default_factory=dict)

    @property
    def missing(self) -> list[int]:
        return [number for number in range(self.clients) if number not in self.node]

    def admit(self, node: int, reply: Letter, asked: Shapes) -> None:
        """Enter the device of a reply; raises :class:`LetterError` if it cannot be one of the clients.

        ``asked``: names and shapes of the counts that it must announce, and no others.
        """
        if "refused" in reply.head:
            raise LetterError(reply.text("refused")[:300])
        number = reply.whole("client")
        if not 0 <= number < self.clients:
            raise LetterError(f"client {number} does not exist: clients are numbered 0 to {self.clients - 1}")
        if self.owner is not None and self.owner.get(node) != number:
            raise LetterError(f"client {number}: this device has the key of client {self.owner.get(node)}")
        if self.node.get(number, node) != node:
            raise LetterError(f"client {number} is already connected: two devices have the same number")
        if reply.text("fedradio") != __version__:
            raise LetterError(
                f"client {number} has fedradio {reply.text('fedradio')[:40]}, but the server has {__version__}"
            )
        reply.expect(asked, torch.long)
        if any(int(rows.min()) < 0 or int(rows.max()) > MOST_COUNT for rows in reply.body.values()):
            raise LetterError(f"client {number} announces an invalid number of samples")
        self.node = {other: at for other, at in self.node.items() if at != node} | {number: node}
        self.signals[number], self.processors[number] = reply.body, reply.text("cpu")[:40]


def request(ask: str, run: str, spec: Spec, head: Mapping[str, Any], body: Slots | None = None) -> bytes:
    """A letter of the server."""
    told = {"ask": ask, "format": FORMAT, "fedradio": __version__, "run": run, "spec": spec.plain}
    return Letter(told | dict(head), body or {}).pack()


def dismissal(reason: str) -> bytes:
    """The letter by which a device is sent away."""
    return Letter({"ask": "close", "format": FORMAT, "fedradio": __version__, "refused": reason}, {}).pack()


@dataclass
class Reception:
    """Greeting of devices as they connect: letters to which hello is awaited, and those that send a device away, each
    with its node."""

    mailbox: Mailbox
    roster: Roster
    hello: bytes
    asked: Shapes
    tell: Tell
    greeted: dict[int, str] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    sent_away: dict[str, int] = field(default_factory=dict)

    def greet(self) -> None:
        """Send hello to every device that has connected; forget those that have gone."""
        there = self.mailbox.online()
        self.roster.node = {number: node for number, node in self.roster.node.items() if node in there}
        for node in set(self.sent_away.values()) - there.keys():  # else it would be sent away again when it comes back
            self._withdraw(self.sent_away, node)
        for node, mark in there.items():
            if self.greeted.get(node) != mark:
                self._forget(node)  # what it did not get before it was started again
                self.greeted[node] = mark
                self.waiting[self.mailbox.push(node, self.hello)] = node

    def hear(self) -> None:
        """Enter the devices that have answered, or send them away with the reason."""
        for letter, reply in self.mailbox.pull(list(self.waiting)).items():
            node = self.waiting.pop(letter)
            try:
                if reply is None:
                    raise LetterError("it reported an error")
                self.roster.admit(node, Letter.unpack(reply), self.asked)
            except (LetterError, RuntimeError) as error:
                self.tell(f"device refused: {error}")
                self.sent_away[self.mailbox.push(node, dismissal(str(error)))] = node

    def send_home(self, reason: str, now: Callable[[], float], sleep: Callable[[float], None]) -> None:
        """Send all devices away that are there, and give them the time to hear it."""
        self.mailbox.drop(list(self.waiting))
        self.waiting.clear()
        there = self.mailbox.online().keys() - set(self.sent_away.values())
        if there:
            ask(self.mailbox, dict.fromkeys(there, dismissal(reason)), GOODBYE_S, now, sleep)

    def _forget(self, node: int) -> None:
        for letters in (self.waiting, self.sent_away):
            self._withdraw(letters, node)

    def _withdraw(self, letters: dict[str, int], node: int) -> None:
        """Take back the letters to a node that it may not have read."""
        old = [letter for letter, to in letters.items() if to == node]
        self.mailbox.drop(old)
        for letter in old:
            del letters[letter]


def assemble(
    mailbox: Mailbox,
    spec: Spec,
    run: str,
    clients: int,
    asked: Shapes,
    wait_s: float,
    tell: Tell,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    owner: Mapping[int, int] | None = None,
) -> Roster:
    """Greet every device that connects until all clients are there; :class:`DataError` with those that are missing
    after ``wait_s``. A device that cannot be one of the clients is sent away with the reason, such as one that has not
    the key of the client that it says it is (``owner``), and so are all where the federation does not come about."""
    roster, began, said = Roster(clients, owner), now(), -1
    reception = Reception(mailbox, roster, request("hello", run, spec, {"clients": clients}), asked, tell)
    try:
        while roster.missing:
            reception.greet()
            reception.hear()
            if len(roster.node) != said:
                said = len(roster.node)
                tell(f"{said} of {clients} clients are connected")
            if roster.missing and now() - began >= wait_s:
                missing = ", ".join(map(str, roster.missing[:20]))
                raise DataError(
                    f"after {wait_s:g} s these clients are still missing: {missing}; start them, or increase --wait"
                )
            if roster.missing:
                sleep(POLL_S)
    except (DataError, KeyboardInterrupt) as error:
        reception.send_home(str(error) or "the server was interrupted", now, sleep)
        raise
    return roster

"""Mail between a server and its devices: letters out, replies in by a deadline, and what became of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from fedradio.core.contracts import Reason

POLL_S = 0.1
"""Seconds between two looks at the mailbox."""


class Mailbox(Protocol):
    """A transport of letters to nodes; Flower's, or one in memory for tests."""

    def online(self) -> dict[int, str]:
        """Nodes that are connected, each with a mark of its connection: another one after it was started again."""
        ...

    def push(self, node: int, letter: bytes) -> str:
        """Send a letter; the number under which its reply is pulled."""
        ...

    def pull(self, wanted: Collection[str]) -> dict[str, bytes | None]:
        """Replies that have come, each once; None where a node reported an error instead."""
        ...

    def drop(self, wanted: Collection[str]) -> None:
        """Replies to these letters are no longer wanted, and are refused when they come."""
        ...


@dataclass(frozen=True)
class Answer:
    """What became of a letter: the reply and its ``seconds`` from the letter on, or the reason why there is none."""

    reply: bytes | None
    seconds: float
    reason: Reason = Reason.NONE


def ask(
    mailbox: Mailbox,
    letters: Mapping[int, bytes],
    deadline_s: float,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[int, Answer]:
    """Send every node its letter and wait for the replies until the deadline.

    A node that is not there, goes, or is started again in between has crashed: its letter is lost with it. Where nobody
    is there at all, somebody may come back until the deadline.
    """
    began, there = now(), mailbox.online()
    while not there.keys() & letters.keys() and now() - began < deadline_s:
        sleep(POLL_S)
        there = mailbox.online()
    answers = {node: Answer(None, 0.0, Reason.CRASHED) for node in letters if node not in there}
    pushed: dict[int, tuple[str, float]] = {}
    for node in letters.keys() & there.keys():
        pushed[node] = (mailbox.push(node, letters[node]), now())
    while pushed:
        replies = mailbox.pull([number for number, _ in pushed.values()])
        here = mailbox.online()
        for node, (number, since) in list(pushed.items()):
            waited = now() - since
            if number in replies:
                reply = replies[number]
                answers[node] = Answer(reply, waited, Reason.NONE if reply is not None else Reason.CRASHED)
            elif here.get(node) != there[node]:
                answers[node] = Answer(None, waited, Reason.CRASHED)
            elif waited >= deadline_s:
                answers[node] = Answer(None, waited, Reason.DEADLINE)
            else:
                continue
            if number not in replies:
                mailbox.drop([number])
            del pushed[node]
        if pushed:
            sleep(POLL_S)
    return answers

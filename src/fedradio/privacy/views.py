"""What a party has seen: the messages that passed it, and the facts that it opened or holds."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TypeVar

from fedradio.privacy.messages import Message
from fedradio.privacy.secret import Secret

Fact = int | bytes | Secret
M = TypeVar("M", bound=Message)

LONG = 8
"""Facts of at least as many octets are looked for in all octets: shorter ones are there by chance."""


@dataclass(repr=False)
class View:
    """The view of one party, in order. Its text counts what is in it and shows nothing."""

    party: str
    messages: list[Message] = field(default_factory=list)
    facts: list[dict[str, Fact]] = field(default_factory=list)

    def saw(self, message: M) -> M:
        """Note a message that came in or went out; returns it."""
        self.messages.append(message)
        return message

    def knows(self, **facts: Fact) -> None:
        """Note what the party has opened, or has in its own books, of one request."""
        self.facts.append(facts)

    def clear(self) -> None:
        """Forget everything, as a party without logs does."""
        self.messages.clear()
        self.facts.clear()

    def names(self) -> set[str]:
        """Names of all fields and facts."""
        seen = {each.name for message in self.messages for each in fields(message)}
        return seen.union(*self.facts)

    def octets(self) -> bytes:
        """All octets of all messages, one after another."""
        return b"".join(message.octets() for message in self.messages)

    def holds(self, name: str, value: Fact) -> bool:
        """Whether the party has seen this value: as a fact or field of that name, long ones in any octets."""
        if any(facts.get(name) == value for facts in self.facts):
            return True
        octets = value.reveal() if isinstance(value, Secret) else value
        if isinstance(octets, int):
            return any(_number(message, name) == octets for message in self.messages)
        if len(octets) >= LONG:
            return any(octets in message.octets() for message in self.messages)
        return any(getattr(message, name, None) == octets for message in self.messages)

    def last(self, name: str) -> Fact | None:
        """The newest fact of that name."""
        return next((facts[name] for facts in reversed(self.facts) if name in facts), None)

    def by_ticket(self, *names: str) -> dict[bytes, Fact]:
        """What the party can tell of each ticket: the first of these names that stands in one place with it."""
        found: dict[bytes, Fact] = {}
        fields_of = [{each.name: getattr(message, each.name) for each in fields(message)} for message in self.messages]
        for group in [*self.facts, *fields_of]:
            ticket, known = group.get("ticket"), [group[name] for name in names if name in group]
            if isinstance(ticket, bytes) and known:
                found.setdefault(ticket, known[0])
        return found

    def __repr__(self) -> str:
        return f"View({self.party}: {len(self.messages)} messages, {len(self.facts)} facts)"


def _number(message: Message, name: str) -> int | None:
    """A field as a number."""
    value = getattr(message, name, None)
    return int.from_bytes(value, "big") if isinstance(value, bytes) else None

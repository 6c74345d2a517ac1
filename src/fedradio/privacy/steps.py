"""The steps of a request as they are shown: who sends what to whom, octets and milliseconds, who has seen what."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from fedradio.privacy.messages import Message

PARTIES = ("UE", "BS", "ISP", "CSP", "ES")
"""The lifelines, in the order of Fig. 2: device, base station, the ISP's cloud, the provider's cloud, edge server."""

ACCESS, BACKHAUL = ("2",), ("3", "4", "6", "7")
"""Steps whose octets are the control traffic of a request, on the air and behind the base station."""

CHARGING, FETCHING = ("$",), ("9b", "9c")
"""Steps behind the base station by which a request is charged, and by which a file is fetched."""

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """A message (``receiver`` is a party) or a local step (None): its octets, and the milliseconds of who makes it."""

    number: str
    sender: str
    receiver: str | None
    what: str
    octets: int | None
    ms: float


@dataclass(frozen=True)
class Walk:
    """One request from the tag to the opened payload; ``octets`` of the file."""

    steps: tuple[Step, ...]
    hit: bool
    octets: int

    def ms(self, party: str) -> float:
        """Milliseconds that a party has worked."""
        return sum(step.ms for step in self.steps if step.sender == party)

    def bits(self, numbers: tuple[str, ...]) -> int:
        """Bits of the messages of these steps."""
        return 8 * sum(step.octets or 0 for step in self.steps if step.number in numbers)


@dataclass(frozen=True)
class Seen:
    """A fact about one request, and the parties that have seen it."""

    fact: str
    parties: tuple[str, ...]


@dataclass
class Walker:
    """Times the steps of a request and writes them down."""

    steps: list[Step] = field(default_factory=list)

    def local(self, number: str, party: str, what: str, do: Callable[[], T]) -> T:
        """A step of one party alone."""
        began = time.perf_counter()
        result = do()
        self.steps.append(Step(number, party, None, what, None, 1e3 * (time.perf_counter() - began)))
        return result

    def send(self, number: str, sender: str, receiver: str, what: str, do: Callable[[], T]) -> T:
        """A message on its way: what its maker returns, or the first message in it."""
        began = time.perf_counter()
        result = do()
        ms = 1e3 * (time.perf_counter() - began)
        message = next(x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, Message))
        self.steps.append(Step(number, sender, receiver, what, message.size(), ms))
        return result

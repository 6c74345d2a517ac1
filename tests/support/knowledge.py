"""Who knows what about a request."""

from __future__ import annotations

from collections.abc import Sequence

from fedradio.papers.protocol import FACTS, PARTIES, Party, Step, knowledge


def who_knows(steps: Sequence[Step]) -> dict[str, tuple[Party, ...]]:
    """The parties that can derive each of ``FACTS`` alone."""
    known = {party: knowledge(steps, party) for party in PARTIES}
    return {fact: tuple(party for party in PARTIES if fact in known[party]) for fact in FACTS}

"""Contract of simulated time: the clock of an exchange."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """Simulated time of one exchange of a hop, counted from 0: round ``t``, exchange ``e`` inside the round (hop 0: the
    edge round), exchange ``n`` of the run, which is ``t`` times the hop's exchanges a round plus ``e``.

    ``now_s`` are the seconds since the run began when the exchange opens, at the last of its receivers; None where time
    is undefined. Random draws depend on ``t`` and ``e`` alone: ``now_s`` follows from decisions, and two policies would
    see two worlds.
    """

    t: int
    e: int = 0
    n: int = 0
    now_s: float | None = None
